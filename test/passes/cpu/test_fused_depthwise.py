"""Depthwise convolutions with the products around them give the numbers of these."""

import itertools

import numpy as np
import onnxruntime
import pytest
from numerics import Const, build_model
from onnx import helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.dialects import graph
from graphc.passes.cpu import fused_depthwise
from graphc.passes.kernels import sliding_depthwise
from graphc.passes.pipelines import graph_pipeline
from harness.marks import long


def _residual_block(activation, height=28, width=17, wide=48, stride=1, pad=1):
    """An inverted residual block, behind the convolutions that images go through first."""
    rng = np.random.default_rng(0)

    def weights(*shape):
        scale = np.sqrt(np.prod(shape[1:]))
        return Const((rng.standard_normal(shape) / scale).astype(np.float32))

    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], pads=[1] * 4),
        helper.make_node("Conv", ["c0", "w1"], ["c1"], pads=[1] * 4, group=32),
        helper.make_node("Conv", ["c1", "w2"], ["c2"]),
        helper.make_node("Conv", ["c2", "w3", "b3"], ["c3"]),
        helper.make_node(activation, ["c3"], ["a3"]),
        helper.make_node("Conv", ["a3", "w4"], ["c4"], pads=[pad] * 4, group=wide,
                         strides=[stride, min(stride, 2)]),
        helper.make_node(activation, ["c4"], ["a4"]),
        helper.make_node("Conv", ["a4", "w5"], ["c5"]),
        *([helper.make_node("Add", ["c5", "c2"], ["y"])] if stride == 1
          else [helper.make_node("Neg", ["c5"], ["y"])]),
    ]  # fmt: skip
    constants = {
        "w0": weights(32, 3, 3, 3), "b0": weights(32), "w1": weights(32, 1, 3, 3),
        "w2": weights(24, 32, 1, 1), "w3": weights(wide, 24, 1, 1), "b3": weights(wide),
        "w4": weights(wide, 1, 3, 3), "w5": weights(24, wide, 1, 1),
    }  # fmt: skip
    inputs = {"x": (np.float32, [2, 3, height, width])}
    model = build_model(nodes, inputs, ["y"], constants, opset=22)
    x = rng.standard_normal((2, 3, height, width)).astype(np.float32)
    return model, {"x": x}


@pytest.mark.parametrize(
    ("vector_bits", "activation", "threads", "stride"),
    [
        long(128, "Relu", 1, 1),
        long(256, "HardSwish", 2, 1),
        (512, "Sigmoid", 3, 2),
        long(512, "Relu", 2, 1),
    ],
)
def test_compiled(vector_bits, activation, threads, stride):
    model, feeds = _residual_block(activation, stride=stride)
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=threads)
    with graphc.compile(model, pipeline=pipeline, threads=2) as compiled:
        assert compiled.report.rewrites["fuse-depthwise"].count == 2
        (found,) = compiled.run(None, feeds)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_a_named_batch():
    """Images share no rows, so that their number may be dynamic."""
    model, feeds = _residual_block("Relu")
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    session = onnxruntime.InferenceSession(model.SerializeToString())
    pipeline = graph_pipeline("cpu", CpuModel(512), threads=2)
    with graphc.compile(model, pipeline=pipeline, threads=2) as compiled:
        assert compiled.report.rewrites["fuse-depthwise"].count == 2
        for images in (2, 5, 1, 2):
            x = np.resize(feeds["x"], (images, *feeds["x"].shape[1:]))
            (expected,) = session.run(None, {"x": x})
            (found,) = compiled.run(None, {"x": x})
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("vector_bits", "activation", "threads", "stride", "names"),
    [
        long(128, "Sigmoid", 1, 1, ("n", "h", "w")),
        (256, "HardSwish", 2, 2, ("n", "h", "w")),
        long(512, "Relu", 2, 1, ("n", "h", "w")),
        long(256, "HardSwish", 2, 2, (None, "h", None)),
        (512, "Relu", 2, 1, (None, "h", None)),
        (128, "Sigmoid", 1, 1, (None, None, "w")),
    ],
)
def test_named_sizes(vector_bits, activation, threads, stride, names):
    """Images of any size slide through the rows of a ring; threads share the pixels of low ones."""
    model, feeds = _residual_block(activation, stride=stride)
    sizes = model.graph.input[0].type.tensor_type.shape.dim
    for axis, name in zip((0, 2, 3), names, strict=True):
        if name:
            sizes[axis].dim_param = name
    session = onnxruntime.InferenceSession(model.SerializeToString())
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=threads)
    with graphc.compile(model, pipeline=pipeline, threads=2) as compiled:
        assert compiled.report.rewrites["fuse-depthwise"].count == 2
        for images, height, width in ((2, 28, 17), (1, 5, 101), (3, 50, 2), (1, 1, 1), (7, 9, 40)):
            wanted = (images, 3, height, width)
            fixed = zip((names[0], None, *names[1:]), wanted, feeds["x"].shape, strict=True)
            x = np.resize(feeds["x"], [new if name else old for name, new, old in fixed])
            (expected,) = session.run(None, {"x": x})
            (found,) = compiled.run(None, {"x": x})
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


WINDOWS = [
    {"kernel": 5, "pads": [2, 2, 2, 2]},
    {"kernel": 3, "pads": [0, 0, 1, 1], "strides": 2},
    {"kernel": 3, "pads": [3, 3, 3, 3], "dilations": 3},
    {"kernel": 3, "pads": [1, 0, 0, 1], "strides": 4},
    {"kernel": 5, "pads": [6, 1, 0, 5], "strides": 2, "dilations": 2},
]


@pytest.mark.parametrize("vector_bits", [long(128), 512])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("most_pixels", [12, sliding_depthwise.MOST_PIXELS])
def test_windows_of_named_images(most_pixels, window, last, vector_bits, monkeypatch):
    """Rows in the ring have margins, of which windows read zeros, and rows may be few or narrow.
    Those of more than `most_pixels` are multiplied one by one."""
    monkeypatch.setattr(sliding_depthwise, "MOST_PIXELS", most_pixels)
    rng = np.random.default_rng(0)
    attributes = dict(window, group=96, kernel_shape=[window["kernel"]] * 2)
    del attributes["kernel"]
    for name in ("strides", "dilations"):
        attributes[name] = [window.get(name, 1)] * 2
    constants = {
        "w0": Const(rng.standard_normal((96, 24, 1, 1)).astype(np.float32) / 5),
        "w1": Const(rng.standard_normal((96, 1, *attributes["kernel_shape"])).astype(np.float32)),
        "w2": Const(rng.standard_normal((24, 96, 1, 1)).astype(np.float32) / 10),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c0"]),
        helper.make_node("Relu", ["c0"], ["a0"]),
        helper.make_node("Conv", ["a0", "w1"], ["c1"], **attributes),
        helper.make_node("Relu", ["c1"], ["a1"]),
        helper.make_node("Conv", ["a1", "w2"], ["y"])
        if last
        else helper.make_node("Softmax", ["a1"], ["y"], axis=3),
    ]
    model = build_model(nodes, {"x": (np.float32, ["n", 24, "h", "w"])}, ["y"], constants, opset=22)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    with graphc.compile(model, pipeline=pipeline, threads=2) as compiled:
        assert compiled.report.rewrites["fuse-depthwise"].count == 1
        narrow = [(2, 9, width) for width in range(9, 20)]
        for images, height, width in (*narrow, (3, 31, 10), (1, 60, 14), (1, 9, 150), (5, 10, 9)):
            x = rng.standard_normal((images, 24, height, width)).astype(np.float32)
            (expected,) = session.run(None, {"x": x})
            (found,) = compiled.run(None, {"x": x})
            np.testing.assert_allclose(found, expected, rtol=5e-5, atol=5e-5)


def _channels(stages, cpu, threads):
    roots = [root for root, *_ in stages]
    if not graph.can_split_channels(roots):
        return f"not for {threads} threads of {cpu} here"
    return graph.RowTiling(1, graph.RowWindow.of(roots[1]).result, 1, "channels")


@pytest.mark.parametrize("vector_bits", [long(128), 512])
@pytest.mark.parametrize(("stride", "pad"), [(1, 1), (3, 0)])  # (3, 0): the last rows are not read
def test_panels_of_channels(vector_bits, stride, pad, tmp_path, monkeypatch):
    """Channels are split into panels if nothing follows the convolution."""
    monkeypatch.setattr(fused_depthwise, "choose_tiling", _channels)
    model, feeds = _residual_block("Relu", height=5 + stride, wide=128, stride=stride, pad=pad)
    del model.graph.node[-2:]
    model.graph.node.append(helper.make_node("Softmax", ["a4"], ["y"], axis=3))
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    with graphc.compile(model, pipeline=pipeline, threads=2, save_temps=tmp_path) as compiled:
        (found,) = compiled.run(None, feeds)
    (program,) = tmp_path.glob("*.graph.mlir")
    assert 'split = "channels"' in program.read_text()
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("stride", "pad"), [(1, 1), (3, 0)])
def test_panels_of_named_sizes(stride, pad):
    """The run decides whether threads share panels of channels, or the rows of many images."""
    model, feeds = _residual_block("Relu", wide=128, stride=stride, pad=pad)
    del model.graph.node[-2:]
    model.graph.node.append(helper.make_node("Softmax", ["a4"], ["y"], axis=3))
    for axis, name in zip((0, 2, 3), "nhw", strict=True):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    session = onnxruntime.InferenceSession(model.SerializeToString())
    cpu = CpuModel(512, l2_bytes=128 << 10)
    with graphc.compile(
        model, pipeline=graph_pipeline("cpu", cpu, threads=2), threads=2
    ) as compiled:
        assert compiled.report.rewrites["fuse-depthwise"].count == 2
        for shape in ((1, 3, 7, 5), (3, 3, 50, 33), (2, 3, 9, 40), (1, 3, 7, 5)):
            x = np.resize(feeds["x"], shape)
            (expected,) = session.run(None, {"x": x})
            (found,) = compiled.run(None, {"x": x})
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_steps_without_vectors():
    """Operators after a step that the kernel cannot vectorize are computed separately."""
    model, feeds = _residual_block("Atan")
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    pipeline = graph_pipeline("cpu", CpuModel(256), threads=2)
    with graphc.compile(model, pipeline=pipeline, threads=2) as compiled:
        assert compiled.report.rewrites["fuse-depthwise"].count == 2
        (found,) = compiled.run(None, feeds)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_the_interpreter_computes_what_is_fused():
    model, feeds = _residual_block("Relu")
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    pipeline = graph_pipeline("cpu", CpuModel(256), threads=2)
    with graphc.compile(model, target="interpret", pipeline=pipeline) as interpreted:
        (found,) = interpreted.run(None, feeds)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("height", "row_blocks", "rows"), [(56, 4, 14), (14, 2, 7), (13, 3, 2), (7, 7, 1)]
)
@pytest.mark.parametrize(("stride", "low", "reach"), [(1, 1, 3), (2, 1, 3), (1, 4, 5), (2, 0, 1)])
def test_row_tiles_cover_the_rows(height, row_blocks, rows, stride, low, reach):
    tiling = graph.RowTiling(row_blocks, rows, 1)
    window = graph.RowWindow(height * stride, height, stride, low, reach)
    starts = tiling.starts(height)
    assert {row for start in starts for row in range(start, start + rows)} == set(range(height))
    bounds = [row_block * height // row_blocks for row_block in range(row_blocks + 1)]
    for first, end in itertools.pairwise(bounds):
        inside = [start for start in starts if first <= start < end]
        assert inside[-1] + rows == end
    read = tiling.read(window)
    for start in starts:
        top = start * stride - low
        wanted = range(max(top, 0), min(top + (rows - 1) * stride + reach, window.image))
        held = min(max(top, 0), window.image - read)
        assert set(wanted) <= set(range(held, held + read))
