"""Operators on numbers, on the host, give what ONNX Runtime gives."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from graphc.runtime.host.part import HostPart

R = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype(np.float32)


def check(op_type, opset, *inputs, outputs=1, **attributes):
    """The last of `outputs` is that of ONNX Runtime."""
    names = [f"x{i}" for i in range(len(inputs))]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs, strict=True)
    ]
    results = [*["other"] * (outputs - 1), "y"]
    node = helper.make_node(op_type, names, results, name="n", **attributes)
    y = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph([node], "g", infos, [y])
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    feeds = dict(zip(names, inputs, strict=True))
    given = HostPart(model).run(feeds)["y"]
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, feeds)
    assert (given.dtype, given.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(given, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("opset", [12, 13])
def test_softmax(op_type, axis, opset):
    """Before opset 13 over all axes from one on; large numbers do not overflow."""
    check(op_type, opset, floats(2, 3, 4) * 100, axis=axis)
    check(op_type, opset, floats(2, 0, 4), axis=axis)


@pytest.mark.parametrize("shape", [(1, 2, 3, 3), (3, 7, 2, 2)])
@pytest.mark.parametrize("size", [1, 3, 5])
def test_local_response_normalization(shape, size):
    check("LRN", 13, floats(*shape), size=size, alpha=0.1, bias=2.0, beta=0.5)


@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalization(p):
    x = floats(3, 4)
    x[1] = 0
    check("LpNormalization", 13, x, p=p, axis=-1)


@pytest.mark.parametrize("opset", [12, 15])
def test_batch_normalization(opset):
    check("BatchNormalization", opset, floats(2, 3, 4), *floats(3, 3), abs(floats(3)))


def test_batch_normalization_while_training():
    x, scale, bias = floats(4, 3, 5), floats(3), floats(3)
    node = helper.make_node(
        "BatchNormalization", ["x", "s", "b", "m", "v"], ["y", "mean", "var"],
        momentum=0.75, training_mode=1,
    )  # fmt: skip
    infos = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]
        for names in (node.input, node.output)
    ]
    model = helper.make_model(
        helper.make_graph([node], "g", *infos), opset_imports=[helper.make_opsetid("", 15)]
    )
    ones = np.ones(3, np.float32)
    feeds = {"x": x, "s": scale, "b": bias, "m": ones, "v": ones}
    given = HostPart(model.SerializeToString()).run(feeds)
    mean, var = x.mean((0, 2)), x.var((0, 2))
    each = (slice(None), None)
    y = scale[each] * (x - mean[each]) / np.sqrt(var[each] + 1e-5) + bias[each]
    np.testing.assert_allclose(given["y"], y, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(given["mean"], 0.75 + 0.25 * mean, rtol=1e-5)
    np.testing.assert_allclose(given["var"], 0.75 + 0.25 * var, rtol=1e-5)


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(-9, -9, -1), (9, -9, -2), (-1, -4, -1), (1, 9, 1), (-9, 2, 1), (3, 1, 1), (0, -9, -1)],
)
def test_slices_at_and_beyond_borders(start, end, step):
    ranges = [np.array([each]) for each in (start, end, -1, step)]
    for size in (3, 0):
        check("Slice", 13, floats(2, size), *ranges)
    if step == 1:
        check("Slice", 9, floats(2, 3), starts=[start], ends=[end], axes=[1])


def test_elements_by_places():
    index = np.array([[2, -1], [0, 1]])
    check("GatherElements", 13, floats(4, 3), index, axis=1)
    check("GatherElements", 13, floats(4, 3), index, axis=0)
    check("GatherElements", 13, floats(4, 3), index, axis=-1)
    check("Scatter", 10, floats(4, 3), abs(index), floats(2, 2), axis=1)


def test_slices_by_places():
    check("Gather", 13, floats(4, 3), np.array([[1, -1]]), axis=1)
    check("Gather", 13, floats(4), np.array(-2))


def test_means_are_broadcast():
    check("Mean", 13, floats(3), floats(2, 1, 3), floats(4, 1))


def test_axes_of_one():
    check("Unsqueeze", 12, floats(2, 3), axes=[-4, -2])
    check("Unsqueeze", 13, floats(2, 3), np.array([0, -1]))
    check("Unsqueeze", 13, floats(2, 3), np.array(1))


def test_maxima_of_all():
    check("GlobalMaxPool", 13, floats(2, 3, 4))
    check("GlobalMaxPool", 13, floats(1, 2, 3, 4, 2))


@pytest.mark.parametrize("opset", [11, 13, 19])
def test_dequantize_linear(opset):
    x = R.integers(-128, 127, (2, 3), np.int8)
    check("DequantizeLinear", opset, x, np.array(0.25, np.float32), np.array(3, np.int8))
    if opset > 11:
        scales, zeros = np.float32([0.1, 0.2, 0.3]), np.int8([0, 1, -2])
        check("DequantizeLinear", opset, x, scales, zeros, axis=1)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_by_its_first_names(mode):
    grid = R.uniform(-1.2, 1.2, (1, 3, 4, 2)).astype(np.float32)
    check("GridSample", 16, floats(1, 2, 5, 5), grid, mode=mode)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample(mode):
    check("Upsample", 9, floats(1, 2, 3, 4), np.float32([1, 1, 2, 2.5]), mode=mode)


@pytest.mark.parametrize("group", [1, 2])
def test_transposed_convolution_of_groups(group):
    x, w = floats(1, 4, 5, 3), floats(4, 3, 2, 2)
    check("ConvTranspose", 13, x, w, floats(3 * group), group=group, strides=[2, 1])
    check("ConvTranspose", 13, x[..., 0], w[..., 0], group=group, pads=[1, 0])


@pytest.mark.parametrize(
    ("size", "settings"),
    [
        ((7,), {"kernel_shape": [3]}),
        ((7,), {"kernel_shape": [3], "pads": [2, 0], "ceil_mode": 1}),
        ((4,), {"kernel_shape": [2], "pads": [1, 0]}),
        ((9,), {"kernel_shape": [3], "strides": [2], "dilations": [2], "pads": [1, 2]}),
        ((7, 6), {"kernel_shape": [3, 2], "strides": [3, 2], "pads": [1, 0, 0, 1]}),
        ((7, 6), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
        ((5, 8), {"kernel_shape": [3, 2], "strides": [2, 3], "auto_pad": "SAME_UPPER"}),
        ((5, 8), {"kernel_shape": [3, 2], "strides": [2, 3], "auto_pad": "SAME_LOWER"}),
        ((5, 8), {"kernel_shape": [3, 2], "auto_pad": "VALID"}),
        ((4, 5, 3), {"kernel_shape": [2, 3, 1], "strides": [2, 1, 1], "pads": [0, 1, 0, 1, 1, 0]}),
    ],
)
def test_maxima_of_windows(size, settings):
    x = floats(2, 3, *size)
    check("MaxPool", 12, x, **settings)
    for order in (0, 1) if len(size) == 2 else (0,):
        check("MaxPool", 12, x, outputs=2, storage_order=order, **settings)
    if len(size) == 1:
        check("MaxPool", 12, (x * 9).astype(np.int8), **settings)
