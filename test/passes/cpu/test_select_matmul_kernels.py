"""Packed products give the numbers of the products they replace."""

import numpy as np
import onnx
import pytest
from convolution_models import ConvCase, convolution_model
from numerics import Const, build_model, run_onnxruntime
from onnx import TensorProto, helper, numpy_helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.errors import ExecutionError
from graphc.passes.kernels.vector_registers import choose_tile
from harness.marks import long

# rows, K, columns: even and odd ones, columns that fill panels and columns that do not
SIZES = [(1, 16, 64), (8, 32, 128), (13, 16, 48), (49, 64, 64), (197, 32, 192), (5, 16, 1000),
         (29, 520, 200), (300, 72, 40)]  # fmt: skip


def product_model(
    seed: int, known: bool
) -> tuple[onnx.ModelProto, dict[str, np.ndarray], list[np.ndarray]]:
    """One output per size: relu(x w + bias) w2 + residual; how many rows may not be known."""
    random = np.random.default_rng(seed)
    nodes, inputs, outputs, constants, feeds, expected = [], [], [], [], {}, []

    def constant(name, *shape):
        array = random.standard_normal(shape, np.float32)
        constants.append(numpy_helper.from_array(array, name))
        return array

    for i, (rows, k, columns) in enumerate(SIZES):
        x = random.standard_normal((rows, k), np.float32)
        w, bias = constant(f"w{i}", k, columns), constant(f"b{i}", columns)
        back = constant(f"v{i}", columns, k)
        feeds[f"x{i}"] = x
        shape = [rows if known else f"rows{i}", k]
        inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shape))
        outputs.append(helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, shape))
        nodes += [
            helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"]),
            helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]),
            helper.make_node("Relu", [f"a{i}"], [f"r{i}"]),
            helper.make_node("MatMul", [f"r{i}", f"v{i}"], [f"n{i}"]),
            helper.make_node("Add", [f"n{i}", f"x{i}"], [f"y{i}"]),
        ]
        hidden = np.maximum(x.astype(np.float64) @ w + bias, 0)
        expected.append(hidden @ back + x)
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds, expected


@pytest.mark.parametrize(
    ("vector_bits", "known"), [long(128, True), (256, False), (512, True), long(256, True)]
)
def test_products_with_epilogues(vector_bits, known):
    model, feeds, expected = product_model(vector_bits, known)
    pipeline = (
        f"cpu-select-matmul-kernels{{vector-bits={vector_bits}}},graph-fuse-epilogue,canonicalize"
    )
    compiled = graphc.compile(model, pipeline=pipeline)
    assert compiled.report.rewrites["pack-matmul"].count == 2 * len(SIZES)
    for ours, truth in zip(compiled.run(None, feeds), expected, strict=True):
        assert np.abs(ours - truth).max() <= 1e-5 * np.abs(truth).max()
    if not known:
        nothing = {name: array[:0] for name, array in feeds.items()}
        assert [y.shape for y in compiled.run(None, nothing)] == [x.shape for x in nothing.values()]


@pytest.mark.parametrize("vector_bits", [128, 256, 512])
@pytest.mark.parametrize("rows", [1, 3, 7, 128, 196, 197])
@pytest.mark.parametrize("columns", [16, 48, 64, 1000, 768])
def test_tiles_fit_the_registers(rows, columns, vector_bits):
    tile = choose_tile(rows, columns, CpuModel(vector_bits))
    if tile is None:
        assert columns % 16 or vector_bits == 512
        return
    lanes, registers = vector_bits // 32, 16 if vector_bits == 256 else 32
    assert tile.width % lanes == 0
    assert tile.rows * (tile.width // lanes) < registers
    assert 1 <= tile.rows <= rows


@pytest.mark.parametrize(
    ("length", "kernel", "stride", "pads"),
    [(2, 2, 2, [0, 1]), (5, 3, 2, [1, 1]), (2, 2, 5, [0, 2])],
)
def test_what_lies_behind_the_last_window_is_not_read(length, kernel, stride, pads):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 24, length)).astype(np.float32)
    w = rng.standard_normal((48, 24, kernel)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[stride], pads=pads)
    model = build_model([node], {"x": (np.float32, x.shape)}, ["y"], {"w": Const(w)})
    (expected,) = run_onnxruntime(model, {"x": x})
    with graphc.compile(model, threads=1) as compiled:
        assert compiled.report.rewrites["pack-conv"].count == 1
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("batch", [2, "n"])
def test_pointwise_convolutions_may_step_over_places(batch):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 32, 9, 8)).astype(np.float32)
    w = rng.standard_normal((64, 32, 1, 1)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 3])
    model = build_model([node], {"x": (np.float32, (batch, 32, 9, 8))}, ["y"], {"w": Const(w)})
    (expected,) = run_onnxruntime(model, {"x": x})
    with graphc.compile(model, threads=1) as compiled:
        assert compiled.report.rewrites["pack-conv"].count == 1
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [3, "m"])
def test_k_that_only_the_weights_know(rows):
    w = np.linspace(-1, 1, 64 * 16, dtype=np.float32).reshape(64, 16)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    model = build_model([node], {"x": (np.float32, (rows, "n"))}, ["y"], {"w": Const(w)})
    x = np.ones((3, 64), np.float32)
    with graphc.compile(model, threads=1) as compiled:
        assert compiled.report.rewrites["pack-matmul"].count == 1
        np.testing.assert_allclose(compiled(x), x @ w, rtol=1e-5, atol=1e-5)
        with pytest.raises(
            ExecutionError, match="63 elements along axis 1, where the nodes that take it need 64"
        ):
            compiled(x[:, 1:])


def test_named_rows_of_several_ranks_share_a_kernel():
    """A kernel gets the same scalars wherever it is called, whatever axes the rows have, if these
    are not pixels of images."""
    random = np.random.default_rng(0)
    weights = {
        name: Const(random.standard_normal((60, 120)).astype(np.float32)) for name in ("u", "v")
    }
    nodes = [
        helper.make_node("MatMul", ["x", "u"], ["p"]),
        helper.make_node("MatMul", ["y", "v"], ["q"]),
    ]
    inputs = {"x": (np.float32, ["n", "l", 60]), "y": (np.float32, ["m", 60])}
    model = build_model(nodes, inputs, ["p", "q"], weights, opset=17)
    compiled = graphc.compile(model)
    for n, length, m in ((2, 15, 7), (1, 1, 40), (4, 16, 1)):
        feeds = {
            "x": random.standard_normal((n, length, 60)).astype(np.float32),
            "y": random.standard_normal((m, 60)).astype(np.float32),
        }
        for ours, theirs in zip(
            compiled.run(None, feeds), run_onnxruntime(model, feeds), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


def test_pixels_of_every_number():
    """The last tile of pixels overlaps others, of its block or of the one before, unless they are
    too few; and none does where K is in blocks, whose sums are added up in the result."""
    cases = [
        ConvCase((1, 32, 1, 0), (32, 32, 1, 1), "skip"),
        ConvCase((1, 16, 1, 0), (40, 16, 1, 1), "hard_swish"),
        ConvCase((1, 1100, 1, 0), (24, 1100, 1, 1), "relu"),
    ]
    model, _ = convolution_model(cases, 0, (2, 3))
    compiled = graphc.compile(model, threads=2)
    assert compiled.report.rewrites["pack-conv"].count == len(cases)
    for pixels in (*range(1, 34), 97, 200, 331):
        _, feeds = convolution_model([case.resized((3,), pixels) for case in cases], pixels)
        expected = run_onnxruntime(model, feeds)
        for ours, truth in zip(compiled.run(None, feeds), expected, strict=True):
            np.testing.assert_allclose(ours, truth, rtol=2e-5, atol=2e-5)
