"""Kernels that multiply 8-bit integers: sums are exact, quantized models at most a step off."""

import numpy as np
import onnxruntime
import pytest
from int8_pipeline import (
    HALF,
    each_unit,
    each_unit_with,
    extreme_bytes,
    own_unit,
    pipeline_of,
    require,
)
from numerics import build_model
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from quantized_nodes import QuantizedNodes

import graphc
from graphc.passes.cpu.integer_contractions import AGAINST_WORDS
from graphc.passes.kernels import direct_conv_shape
from graphc.runtime.targets import cpu_features

# rows, K, columns: around the sizes of tiles and vectors, and below them
MATMULS = [(1, 64, 64), (8, 40, 128), (17, 64, 33), (33, 192, 100), (197, 36, 192), (5, 1040, 200),
           (300, 256, 16), (9, 61, 37), (70, 6, 64)]  # fmt: skip

# image, features, kernel, strides, dilations, pads; groups, where there are several
CONVS = [
    ((1, 8, 12, 13), 32, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    ((2, 64, 9, 17), 48, (3, 3), (2, 2), (1, 1), (1, 0, 0, 2)),
    ((1, 64, 14, 14), 64, (1, 1), (2, 2), (1, 1), (0, 0, 0, 0)),
    ((1, 4, 20, 21), 40, (5, 3), (1, 2), (2, 1), (3, 2, 1, 0)),
    ((3, 12, 30), 17, (3,), (1,), (2,), (2, 2)),
    ((1, 16, 6, 2), 24, (2, 2), (1, 1), (1, 1), (0, 0, 0, 0)),
    ((2, 64, 9, 10), 32, (3, 3), (1, 1), (2, 1), (1, 2, 1, 0)),
    ((3, 128, 21), 64, (3,), (1,), (1,), (1, 1)),
    ((2, 61, 9, 14), 37, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    ((1, 7, 13, 30), 45, (3, 3), (2, 1), (1, 2), (0, 2, 1, 0)),
    ((2, 18, 5, 9), 61, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
    ((2, 13, 5, 7, 9), 33, (3, 3, 2), (2, 1, 1), (1, 2, 1), (2, 1, 1, 1, 2, 0)),
]
GROUPED = [
    ((1, 32, 12, 13), 32, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 32),
    ((2, 24, 11, 9), 24, (3, 3), (2, 2), (1, 1), (0, 1, 1, 0), 24),
    ((1, 144, 8, 7), 144, (5, 3), (1, 1), (2, 1), (4, 1, 4, 1), 144),
    ((3, 40, 30), 40, (7,), (1,), (1,), (3, 3), 40),
    ((1, 64, 10, 8), 64, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 4),
    ((2, 64, 9, 8), 64, (3, 3), (2, 1), (1, 1), (1, 0, 1, 1), 16),
    ((1, 16, 2, 1), 16, (3, 3), (1, 1), (1, 1), (3, 3, 3, 3), 16),
    ((2, 24, 4, 6, 8), 24, (3, 3, 3), (1, 2, 1), (2, 1, 1), (2, 1, 1, 1, 1, 1), 24),
]

PACKING = ("amx", "avx512vnni", "avxvnni")
"""Units that pad few channels and narrow results."""


@each_unit
@pytest.mark.parametrize("known", [True, False])
def test_matmul_integer(unit, known):
    """Every other size of u8 and of i8; half of the sizes where rows are unknown."""
    require(unit)
    random = np.random.default_rng(0)
    nodes, inputs, weights, feeds, expected = [], {}, {}, {}, []
    numbers = [i for i in range(len(MATMULS)) if known or i // 2 % 2 == HALF[unit]]
    for i in numbers:
        rows, k, columns = MATMULS[i]
        dtype = np.uint8 if i % 2 == known else np.int8
        x, zero = extreme_bytes(random, dtype, (rows, k)), dtype(100)
        w = extreme_bytes(random, np.int8, (k, columns))
        feeds[f"x{i}"], weights[f"w{i}"], weights[f"z{i}"] = x, w, zero
        inputs[f"x{i}"] = (dtype, (rows if known else f"rows{i}", k))
        nodes.append(helper.make_node("MatMulInteger", [f"x{i}", f"w{i}", f"z{i}"], [f"y{i}"]))
        expected.append((x.astype(np.int64) - int(zero)) @ w.astype(np.int64))
    model = build_model(nodes, inputs, [f"y{i}" for i in numbers], weights)
    compiled = graphc.compile(model, pipeline=pipeline_of(unit), threads=2)
    assert compiled.report.rewrites["pack-int8-matmul"].count == len(numbers)
    for ours, truth in zip(compiled.run(None, feeds), expected, strict=True):
        np.testing.assert_array_equal(ours, truth)
    if not known:
        nothing = {name: array[:0] for name, array in feeds.items()}
        for y, truth in zip(compiled.run(None, nothing), expected, strict=True):
            assert y.shape == (0, truth.shape[1])


@each_unit
@pytest.mark.parametrize("known", [True, False])
def test_conv_integer(unit, known):
    require(unit)
    some = [CONVS[0], GROUPED[0], CONVS[3], GROUPED[2], CONVS[9], GROUPED[6], CONVS[11]]
    some += [GROUPED[7]]
    _check_convolutions(unit, known, ([*CONVS, *GROUPED] if known else some)[HALF[unit] :: 2])


def _check_convolutions(unit, known, cases):
    random = np.random.default_rng(1)
    nodes, inputs, weights, feeds = [], {}, {}, {}
    for i, (image, features, kernel, strides, dilations, pads, *groups) in enumerate(cases):
        feeds[f"x{i}"] = extreme_bytes(random, np.uint8, image)
        weights[f"w{i}"] = extreme_bytes(
            random, np.int8, (features, image[1] // sum(groups or [1]), *kernel)
        )
        weights[f"z{i}"] = np.uint8(7 * i)
        names = [f"{axis}{i}" for axis in "nhwd"]
        shape = image if known else (names[0], image[1], *names[1 : len(image) - 1])
        inputs[f"x{i}"] = (np.uint8, shape)
        nodes.append(
            helper.make_node(
                "ConvInteger", [f"x{i}", f"w{i}", f"z{i}"], [f"y{i}"], pads=pads,
                strides=strides, dilations=dilations, group=sum(groups or [1]),
            )
        )  # fmt: skip
    model = build_model(nodes, inputs, [f"y{i}" for i in range(len(cases))], weights)
    compiled = graphc.compile(model, pipeline=pipeline_of(unit), threads=2)
    assert compiled.report.rewrites["pack-int8-conv"].count == len(cases)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for ours, theirs in zip(compiled.run(None, feeds), session.run(None, feeds), strict=True):
        np.testing.assert_array_equal(ours, theirs)


LONG = [
    ((2, 8, 200), 64, (3,), (1,), (1,), (1, 1)),
    ((1, 16, 300), 16, (7,), (2,), (1,), (3, 3)),
    ((1, 32, 250), 32, (5,), (1,), (2,), (4, 3), 32),
]


@each_unit_with("known", True, False)
def test_segments_of_sequences(unit, known, monkeypatch):
    require(unit)
    for name, value in {"L2_SHARE": 1 << 40, "SEGMENT_FLOPS": 0, "MIN_SEGMENT_TILES": 2}.items():
        monkeypatch.setattr(direct_conv_shape, name, value)
    _check_convolutions(unit, known, LONG)


@each_unit_with("known", True, False, both=PACKING)
def test_few_channels(unit, known):
    """Images of two and three channels are padded to a group of four, where that is faster."""
    require(unit)
    random, nodes, inputs, weights, feeds = np.random.default_rng(4), [], {}, {}, {}
    for i, (channels, *kernel) in enumerate([(3, 7, 7), (2, 3, 1), (3, 5)]):
        sizes = (30, 41)[: len(kernel)]
        feeds[f"x{i}"] = extreme_bytes(random, np.uint8, (2, channels, *sizes))
        inputs[f"x{i}"] = (np.uint8, (2, channels, *sizes) if known else ("n", channels, *sizes))
        weights |= {
            f"w{i}": extreme_bytes(random, np.int8, (32, channels, *kernel)),
            "z": np.uint8(9),
        }
        attributes = {"pads": [1] * 2 * len(kernel), "strides": [2] * len(kernel)}
        nodes.append(
            helper.make_node("ConvInteger", [f"x{i}", f"w{i}", "z"], [f"y{i}"], **attributes)
        )
    model = build_model(nodes, inputs, [f"y{i}" for i in range(len(nodes))], weights)
    compiled = graphc.compile(model, pipeline=pipeline_of(unit), threads=2)
    packed = compiled.report.rewrites["pack-int8-conv"].count
    assert packed == (0 if unit == "avx2" else len(nodes))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for ours, theirs in zip(compiled.run(None, feeds), session.run(None, feeds), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@each_unit_with("known", False, True, both=PACKING)
def test_few_features(unit, known):
    """Results narrower than a vector, of which masks store bytes with AVX-512."""
    require(unit)
    random, net = np.random.default_rng(6), QuantizedNodes(np.uint8, seed=6)
    x = net.quantize("x", 0.03, 100)
    convs = [net.conv(x, 8, 5, 3, pads=[1] * 4), net.conv(x, 8, 6, 1)]
    rows = net.node("MatMul", [x, net.weights((14, 7), axis=1)])
    outputs = [net.quantize(y, 0.3, 120) for y in (*convs, rows)]
    shape = (2, 8, 11, 14)
    model = build_model(
        net.nodes,
        {"x": (np.float32, shape if known else ("n", 8, "h", 14))},
        outputs,
        net.constants,
    )
    compiled = graphc.compile(model, pipeline=pipeline_of(unit), threads=2)
    fired = compiled.report.rewrites
    packed = [fired[f"pack-int8-{kind}"].count for kind in ("conv", "matmul")]
    assert packed == ([0, 0] if unit == "avx2" else [2, 1])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    feeds = {"x": random.standard_normal(shape, np.float32)}
    for ours, theirs in zip(compiled.run(None, feeds), session.run(None, feeds), strict=True):
        steps = np.abs(ours - theirs) / 0.3
        assert (steps > 0.5).mean() < 1e-3
        assert steps.max() < 1.5


@each_unit_with("known", False, True)
def test_weights_with_zero_points(unit, known):
    """Unsigned weights: their zero point takes off sums over windows, or rows, of the input."""
    require(unit)
    random = np.random.default_rng(3)
    nodes, weights, feeds = [], {}, {}
    inputs = {"zero": (np.uint8, ())}
    feeds["zero"] = np.array(131, np.uint8)
    long = ((1, 8, 70), 16, (23,), (2,), (2,), (5, 9))
    cases = [CONVS[1], GROUPED[1], GROUPED[4], CONVS[4]][HALF[unit] * 2 :][:2]
    if known:
        cases = [CONVS[2], CONVS[3], GROUPED[2], GROUPED[5], GROUPED[6], long]
    expected = []
    for i, (image, features, kernel, strides, dilations, pads, *groups) in enumerate(cases):
        group = sum(groups or [1])
        x = feeds[f"x{i}"] = extreme_bytes(random, np.uint8, image)
        w = extreme_bytes(random, np.uint8, (features, image[1] // group, *kernel))
        zero = random.integers(0, 255, features if i % 2 else (), np.uint8)
        weights |= {f"w{i}": w, f"z{i}": zero}
        names = [f"{axis}{i}" for axis in "nhwd"]
        shape = image if known else (names[0], image[1], *names[1 : len(image) - 1])
        inputs[f"x{i}"] = (np.uint8, shape)
        attributes = {"pads": pads, "strides": strides, "dilations": dilations, "group": group}
        names = [f"x{i}", f"w{i}", "zero", f"z{i}"]
        nodes.append(helper.make_node("ConvInteger", names, [f"y{i}"], **attributes))
        per_filter = zero.reshape(-1, *[1] * (w.ndim - 1)) if i % 2 else zero
        expected.append(_convolved(x - np.int64(131), w - per_filter.astype(np.int64), attributes))
    model = build_model(nodes, inputs, [f"y{i}" for i in range(len(cases))], weights)
    compiled = graphc.compile(model, pipeline=pipeline_of(unit), threads=2)
    assert compiled.report.rewrites["pack-int8-conv"].count == len(cases)
    for ours, truth in zip(compiled.run(None, feeds), expected, strict=True):
        np.testing.assert_array_equal(ours, truth)


def _convolved(x: np.ndarray, w: np.ndarray, attributes: dict) -> np.ndarray:
    """Exact: f64 holds all sums."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
    model = build_model([node], {n: (np.float64, a.shape) for n, a in (("x", x), ("w", w))}, ["y"])
    feeds = {"x": x.astype(np.float64), "w": w.astype(np.float64)}
    return ReferenceEvaluator(model).run(None, feeds)[0]


@pytest.mark.parametrize("groups", [1, 16])
def test_channels_that_the_weights_know(groups):
    """Images whose channels only the weights tell."""
    unit, random = cpu_features.int8_unit("host"), np.random.default_rng(7)
    if unit == "none":
        pytest.skip("this CPU has no unit that multiplies 8-bit integers")
    x = extreme_bytes(random, np.uint8, (3, 16, 9, 14))
    w = {"w": extreme_bytes(random, np.int8, (16, 16 // groups, 3, 3)), "z": np.uint8(5)}
    nodes = [
        helper.make_node("Transpose", ["t"], ["x"], perm=[0, 3, 1, 2]),
        helper.make_node(
            "ConvInteger", ["x", "w", "z"], ["y"], group=groups, pads=[0, 1, 1, 0], strides=[2, 1]
        ),
    ]
    model = build_model(nodes, {"t": (np.uint8, ("n", "h", "w_", "c"))}, ["y"], w)
    compiled = graphc.compile(model, pipeline=pipeline_of(unit), threads=1)
    assert compiled.report.rewrites["pack-int8-conv"].count == 1
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds = {"t": np.ascontiguousarray(x.transpose(0, 2, 3, 1))}
    np.testing.assert_array_equal(compiled.run(None, feeds)[0], session.run(None, feeds)[0])


def _residual_net(activations, powers: bool = False) -> QuantizedNodes:
    zero = 120 if activations == np.uint8 else -5
    net = QuantizedNodes(activations, seed=3, powers=powers)
    x = net.quantize("x", 0.02, zero)
    a = net.quantize(net.conv(x, 16, 32, 3, pads=[1] * 4), 0.5, zero)
    b = net.quantize(net.node("Relu", [net.conv(a, 32, 32, 3, pads=[1] * 4)]), 4.0, zero)
    c = net.quantize(net.node("Add", [b, a]), 4.5, zero - 3)
    c = net.quantize(net.conv(c, 32, 32, 3, pads=[1] * 4, group=32), 4.5, zero - 3)
    d = net.node("MaxPool", [c], kernel_shape=[2, 2], strides=[2, 2])
    d = net.quantize(d, 4.5, zero - 3)
    e = net.quantize(net.conv(d, 32, 64, 1), 40.0, zero)
    e = net.node("Reshape", [e, net.constant(np.array([0, -1]))])
    f = net.node("MatMul", [e, net.weights((64 * 5 * 6, 48), axis=1)])
    net.quantize(net.node("Add", [f, net.bias(48)]), 60.0, zero, back=False)
    return net


@each_unit_with("images,activations", (1, np.uint8), ("images", np.int8))
def test_quantized_net(unit, images, activations):
    require(unit)
    net = _residual_net(activations)
    output = net.nodes[-1].output[0]
    inputs = {"x": (np.float32, (images, 16, 10, 12))}
    model = build_model(net.nodes, inputs, [output], net.constants)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(activations))
    model.graph.output[0].type.tensor_type.elem_type = element
    compiled = graphc.compile(model, pipeline=pipeline_of(unit), threads=2)
    fired = compiled.report.rewrites
    assert fired["integer-conv"].count == 4
    assert fired["integer-matmul"].count == 1
    assert fired["pool-quantized"].count == 1
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    for count in [1] if images == 1 else [3, 1]:
        x = np.random.default_rng(count).standard_normal((count, 16, 10, 12), np.float32)
        (ours,), (theirs,) = compiled.run(None, {"x": x}), session.run(None, {"x": x})
        assert ours.dtype == theirs.dtype
        steps = np.abs(ours.astype(int) - theirs.astype(int))
        assert steps.max() <= 1
        assert len(np.unique(theirs)) > 20  # neither saturated nor constant


@own_unit
def test_exact_sums(unit):
    """f32 does not round sums of numbers whose scales are powers of two, so that integers give the
    same bytes."""
    require(unit)
    net = _residual_net(np.int8, powers=True)
    model = build_model(
        net.nodes, {"x": (np.float32, (2, 16, 10, 12))}, [net.nodes[-1].output[0]], net.constants
    )
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT8
    compiled = graphc.compile(model, pipeline=pipeline_of(unit, exact=True), threads=2)
    assert compiled.report.rewrites["integer-conv"].count == 4
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    x = np.random.default_rng(1).standard_normal((2, 16, 10, 12), np.float32)
    (ours,), (theirs,) = compiled.run(None, {"x": x}), session.run(None, {"x": x})
    np.testing.assert_array_equal(ours, theirs)
    assert len(np.unique(theirs)) > 20


def test_strict_multiplies_integers_of_the_model():
    """Sums of MatMulInteger are exact, in integers as in f32."""
    random = np.random.default_rng(2)
    x, w = extreme_bytes(random, np.uint8, (5, 70)), extreme_bytes(random, np.int8, (70, 40))
    node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    model = build_model([node], {"x": (np.uint8, x.shape)}, ["y"], {"w": w})
    compiled = graphc.compile(model, precision="strict", threads=1)
    packed = compiled.report.rewrites["pack-int8-matmul"].count
    assert packed == (cpu_features.int8_unit("host") != "none")
    np.testing.assert_array_equal(compiled.run(None, {"x": x})[0], x.astype(int) @ w.astype(int))


@own_unit
def test_weights_that_exceed_8_bits_less_their_zero_point(unit):
    """As ONNX Runtime's quantizer makes weights of u8: with a zero point that is not the middle."""
    require(unit)
    net = QuantizedNodes(np.uint8, seed=9)
    x = net.quantize("x", 0.03, 120)

    def weights(*shape, axis, zeros):
        integers = net.random.integers(0, 255, shape, np.uint8, endpoint=True)
        scales = net.random.uniform(0.002, 0.01, shape[axis]).astype(np.float32)
        names = [net.constant(integers), net.constant(scales), net.constant(zeros)]
        return net.node("DequantizeLinear", names, axis=axis)

    zeros = net.random.integers(90, 160, 24, np.uint8)
    outputs = [
        net.node("Conv", [x, weights(24, 16, 3, 3, axis=0, zeros=zeros)], pads=[1, 0, 1, 1]),
        net.node("Conv", [x, weights(24, 8, 3, 2, axis=0, zeros=zeros)], group=2, strides=[2, 1]),
        net.node(
            "Conv", [x, weights(16, 1, 3, 3, axis=0, zeros=zeros[:16])], group=16, dilations=[2, 1]
        ),
        net.node("MatMul", [x, weights(12, 24, axis=1, zeros=zeros)]),
    ]
    inputs = {"x": (np.float32, ("images", 16, 10, 12))}
    model = build_model(net.nodes, inputs, outputs, net.constants)
    compiled = graphc.compile(model, pipeline=pipeline_of(unit), threads=2)
    assert compiled.report.rewrites["integer-conv"].count == 2  # all but the depthwise one
    assert compiled.report.rewrites["integer-matmul"].count == 1
    feeds = {"x": np.random.default_rng(1).standard_normal((2, 16, 10, 12), np.float32)}
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    for ours, theirs in zip(compiled.run(None, feeds), session.run(None, feeds), strict=True):
        assert np.abs(ours - theirs).max() <= 2e-6 * np.abs(theirs).max()


WORDS = (
    ((1, 16, 12, 13), (32, 16, 5, 5), {"pads": [2] * 4}),
    ((2, 13, 9, 14), (37, 13, 3, 3), {"pads": [1, 0, 2, 1], "strides": [2, 1]}),
    ((1, 64, 10, 8), (64, 16, 3, 3), {"pads": [1] * 4, "group": 4, "strides": [1, 2]}),
    ((1, 16, 5, 9, 12), (24, 16, 3, 3, 3), {"pads": [1] * 6}),
    ((1, 64, 9, 14), (40, 64, 1, 1), {"strides": [2, 2]}),
    ((3, 16, 40), (24, 16, 5), {"pads": [2, 2]}),
    ((5, 61), (61, 37), {}),
)
"""Images or rows of 16 bits, weights, and attributes."""


@own_unit
@pytest.mark.parametrize(("known", "activations"), [(True, np.uint16), (False, np.int16)])
def test_activations_of_16_bits(unit, known, activations):
    """By weights of 8 bits, byte by byte: at most a step off, and rarely."""
    require(unit)
    if unit in AGAINST_WORDS:
        pytest.skip(AGAINST_WORDS[unit])
    net, inputs, feeds, outputs = QuantizedNodes(activations, seed=8), {}, {}, []
    middle = np.iinfo(activations).max - 32_000
    for number, (image, weights, attrs) in enumerate(WORDS):
        name = f"x{number}"
        feeds[name] = net.random.standard_normal(image, np.float32)
        is_conv = len(weights) > 2
        axes = (0, 2, 3) if len(image) == 4 else (0,)
        sizes = [f"{name}_{n}" if n in axes else size for n, size in enumerate(image)]
        inputs[name] = (np.float32, image if known else tuple(sizes))
        x = net.quantize(name, 1.1e-4, middle)
        w = net.weights(weights, axis=0 if is_conv else 1)
        y = net.node("Conv" if is_conv else "MatMul", [x, w], **attrs)
        outputs.append(net.quantize(y, 4e-4, middle, back=False))
    model = build_model(net.nodes, inputs, outputs, net.constants, opset=21)
    for output in model.graph.output:
        output.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(activations))
    compiled = graphc.compile(model, pipeline=pipeline_of(unit), threads=1)
    rewrites = compiled.report.rewrites
    kernels = rewrites["pack-int8-conv"].count + rewrites["pack-int8-matmul"].count
    assert kernels == len(WORDS)
    options = onnxruntime.SessionOptions()  # optimised, it rounds rows of MatMul to 8 bits
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    for ours, theirs in zip(compiled.run(None, feeds), session.run(None, feeds), strict=True):
        apart = np.abs(ours.astype(np.int64) - theirs)
        assert apart.max() <= 1
        assert (apart > 0).mean() < 5e-3


@each_unit_with("activations", np.int8, np.uint8)
def test_qlinear_operators(unit, activations):
    require(unit)
    random, net = np.random.default_rng(5), QuantizedNodes(activations, seed=5)
    x_quantum, y_quantum, z_quantum = (
        [net.constant(np.float32(scale)), net.constant(activations(zero))]
        for scale, zero in ((0.02, 3), (0.3, 7), (2.0, 1))
    )
    kernel = random.integers(-127, 127, (32, 16, 3, 3), np.int8, endpoint=True)
    matrix = random.integers(-127, 127, (32 * 36, 64), np.int8, endpoint=True)
    w = [net.constant(kernel), net.constant(np.full(32, 0.01, np.float32))]
    w.append(net.constant(np.zeros(32, np.int8)))
    m = [net.constant(matrix), net.constant(np.float32(0.01)), net.constant(np.int8(0))]
    bias = net.constant(random.integers(-999, 999, 32, np.int32))
    y = net.node("QLinearConv", ["x", *x_quantum, *w, *y_quantum, bias], pads=[1] * 4)
    y = net.node("Reshape", [y, net.constant(np.array([1, -1]))])
    z = net.node("QLinearMatMul", [y, *y_quantum, *m, *z_quantum])
    model = build_model(net.nodes, {"x": (activations, (1, 16, 6, 6))}, [z], net.constants)
    compiled = graphc.compile(model, pipeline=pipeline_of(unit), threads=2)
    assert compiled.report.rewrites["pack-int8-conv"].count == 1
    assert compiled.report.rewrites["pack-int8-matmul"].count == 1
    x = extreme_bytes(random, activations, (1, 16, 6, 6))
    # not ONNX Runtime, whose sums of 16 bits saturate on CPUs without VNNI
    (ours,), (truth,) = compiled.run(None, {"x": x}), ReferenceEvaluator(model).run(None, {"x": x})
    assert np.abs(ours.astype(int) - truth.astype(int)).max() <= 1
    assert len(np.unique(truth)) > 20
