"""Tests of GPU targets that need no device: code for each, and what CPUs compute of their programs.

For what a Vulkan device computes, see `test_vulkan`.
"""

import functools
import re
import tomllib
from collections import Counter

import numpy as np
import pytest
from detection_models import suppression
from devices import cpu_like
from numerics import Cases, Feed, const
from onnx import TensorProto, helper, numpy_helper
from test_models import compare, exported, small_cnn

import graphc
from conformance.known import FOLDER, load_known
from conformance.run_cases import run_case
from graphc.benchmarks.measure import largest_difference
from graphc.compiler.driver import make_options, to_module
from graphc.errors import DeviceError, UsageError
from graphc.mlir import ir
from graphc.passes.graph_to_linalg import (
    gpu_matmul,
    implicit_gemm,
    packed_matmul,
    padding,
    pooling,
)
from harness.marks import long

OWN_FORMS = [
    "layer_normalization_4d_axis2",
    "resize_downsample_scales_linear_antialias",
    "nonmaxsuppression_two_classes",
]
"""Cases that the backend cannot compile for CUDA in the form for CPUs."""

OTHERS = {
    "cuda": b".target sm_80",
    "cuda:sm_90": b".target sm_89",
    "cuda:sm_90a": b".target sm_90a",
    "rocm": b"rocm-hsaco-fb",
    "metal": b"metal_stdlib",
    "vulkan:portable": b"vulkan-spirv-fb",
    "vulkan:rdna3": b"vulkan-spirv-fb",
    "vulkan:moltenvk": b"vulkan-spirv-fb",
}
"""Targets, and what the code for each holds."""


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_lists_name_cases_of_the_suite(suite, path):
    assert load_known(path.stem).keys() <= {case.name for case in suite}
    groups = tomllib.loads(path.read_text(encoding="utf-8")).get("group", [])
    named = [name for group in groups for name in group["cases"]]
    assert len(named) == len(set(named)), "a case stands in two groups"


@pytest.mark.parametrize("model", ["small_cnn", long("bert-tiny")])
def test_cpus_compute_by_the_pipeline_of_cuda(model):
    """The program for CUDA is correct: a CPU computes the same results from it."""
    target = cpu_like("gpu")
    if model == "bert-tiny":
        compare(*exported(model), target=target)
        return
    images = [np.ones((batch, 3, 33, 47), np.float32) for batch in (1, 3)]
    fired = compare(small_cnn(), [{"x": image} for image in images], target=target)
    assert fired["conv-to-matmul"] > 0


@pytest.fixture
def cuda_without_tiles(monkeypatch):
    """A CPU that computes what CUDA gets, but for the tiles, which it does not have."""
    monkeypatch.setattr(gpu_matmul, "tile_attribute", lambda *_: None)
    monkeypatch.setattr(implicit_gemm, "tile_attribute", lambda *_, **__: None)
    monkeypatch.setattr(packed_matmul, "im2col_attribute", lambda *_: None)
    for module in (padding, pooling):  # None would mean another way to compute it
        monkeypatch.setattr(module, "image_attribute", lambda *_: ir.UnitAttr.get())
    return cpu_like("cuda")


def test_matmuls_in_tiles_and_parts_are_right(cuda_without_tiles):
    rng = np.random.default_rng(0)
    cases, expected = Cases(opset=17), []
    for rows, k, columns in ((64, 2048, 128), (197, 100, 80), (128, 768, 96), (16, 16, 8)):
        shapes = ((rows, k), (k, columns))
        x, w = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
        cases.add("MatMul", x, const(w))
        expected.append(x.astype(np.float64) @ w.astype(np.float64))
    with graphc.compile(cases.model(), cuda_without_tiles, precision="strict") as compiled:
        found = compiled.run(None, cases.feeds)
    differences = map(largest_difference, found, expected)
    assert not {name: d for name, d in zip(cases.outputs, differences, strict=True) if d > 5e-6}


@pytest.mark.parametrize(("batch", "stride"), [long(1, 2), (2, 1)])
def test_convolutions_as_implicit_gemm_are_right(cuda_without_tiles, batch, stride):
    """Padded windows of an image, a bias for each filter, and a sum with a tensor of its size."""
    rng = np.random.default_rng(0)
    size, shape = 32 * stride, (batch, 128, 32, 32)
    x, w, b, r = (
        rng.uniform(-1, 1, each).astype(np.float32)
        for each in ((batch, 64, size, size), (128, 64, 3, 3), (128,), shape)
    )
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[stride] * 2),
        helper.make_node("Add", ["c", "r"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    infos = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, each)
        for name, each in (("x", x.shape), ("r", shape), ("y", shape))
    ]
    weights = [numpy_helper.from_array(each, name) for name, each in (("w", w), ("b", b))]
    graph = helper.make_graph(nodes, "g", infos[:2], infos[2:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    strict = {"precision": "strict"}  # f32 is not multiplied on tensor cores
    options = make_options(
        cuda_without_tiles, extra_flags=["--compile-to=input"], host=False, **strict
    )
    contents, _ = to_module(model, options)
    assert b"iree_linalg_ext.im2col" in contents
    with graphc.compile(model, cuda_without_tiles, precision="strict") as compiled:
        (y,) = compiled.run(None, {"x": x, "r": r})
    wide = [each.astype(np.float64) for each in (x, w, b, r)]
    expected = reference_convolution(*wide, stride)
    assert largest_difference(y, np.maximum(expected, 0)) <= 5e-6


def reference_convolution(x, w, b, r, stride):
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]
    return np.einsum("nchwij,fcij->nfhw", windows, w, optimize=True) + b[:, None, None] + r


def test_attention_in_parts_is_right(cuda_without_tiles):
    """Attention of queries that are too long for one kernel."""
    rng = np.random.default_rng(0)
    cases, expected = Cases(opset=24), []
    for heads in (1, 3):
        q, k, v = (rng.standard_normal((2, heads, 40, 144)).astype(np.float16) for _ in range(3))
        cases.add("Attention", q, k, v, is_causal=1)
        q, k, v = (each.astype(np.float64) for each in (q, k, v))
        scores = np.where(np.tri(40, dtype=bool), q @ k.swapaxes(-1, -2) / 12, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected.append(weights @ v / weights.sum(-1, keepdims=True))
    with graphc.compile(cases.model(), cuda_without_tiles) as compiled:
        found = compiled.run(None, cases.feeds)
    differences = map(largest_difference, found, expected)
    assert not {name: d for name, d in zip(cases.outputs, differences, strict=True) if d > 2e-3}


@pytest.mark.parametrize("model", ["small_cnn", long("bert-tiny")])
def test_what_cuda_computes_is_right(cuda_without_tiles, model):
    if model == "bert-tiny":
        compare(*exported(model), target=cuda_without_tiles)
        return
    images = [np.ones((batch, 3, 33, 47), np.float32) for batch in (1, 3)]
    compare(small_cnn(), [{"x": image} for image in images], target=cuda_without_tiles)


def product(rows, k, columns):
    """``relu(x w)``, and a 3x3 convolution of as many channels over 16x16 pixels."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal(shape, np.float32), name)
        for name, shape in (("w", (k, columns)), ("f", (columns, k, 3, 3)))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Relu", ["y"], ["r"]),
        helper.make_node("Conv", ["i", "f"], ["c"], pads=[1, 1, 1, 1]),
    ]
    tensors = {"x": (rows, k), "i": (1, k, 16, 16), "r": (rows, columns), "c": None}
    infos = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in tensors.items()}
    graph = helper.make_graph(
        nodes, "g", [infos["x"], infos["i"]], [infos["r"], infos["c"]], weights
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize("precision", ["f16", long("bf16")])
def test_products_reach_the_tensor_cores_of_cuda(precision):
    options = make_options("cuda", precision=precision, host=False)
    contents, _ = to_module(product(128, 256, 64), options)
    found = re.findall(rb"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(\w+)\.", contents)
    assert set(found) == {precision.encode()}
    assert b"ld.shared.b16" not in contents  # what both operands are read with where K is not last


def test_turing_gets_no_instructions_of_ampere():
    contents, _ = to_module(small_cnn(), make_options("cuda:sm_75", host=False))
    assert b".target sm_75" in contents
    assert b"cp.async" not in contents
    with pytest.raises(UsageError, match="target 'cuda:sm_75'"):
        make_options("cuda:sm_75", precision="f16")


def spirv_opcodes(contents):
    """Number of occurrences of each instruction in the SPIR-V modules of a file."""
    counts: Counter[int] = Counter()
    for start in (m.start() for m in re.finditer(rb"\x03\x02\x23\x07", contents)):
        words = np.frombuffer(contents, "<u4", (len(contents) - start) // 4, start)
        offset = 5  # behind the header
        while offset < len(words) and words[offset] >> 16:
            counts[int(words[offset] & 0xFFFF)] += 1
            offset += int(words[offset] >> 16)
    return counts


COOPERATIVE_MATRIX_MUL_ADD = 4459


def test_products_reach_the_cooperative_matrices_of_vulkan():
    for precision, expected in (("f16", True), ("f32", False)):
        options = make_options("vulkan:ampere", precision=precision, host=False)
        contents, _ = to_module(product(100, 250, 40), options)
        assert (spirv_opcodes(contents)[COOPERATIVE_MATRIX_MUL_ADD] > 0) == expected


@pytest.fixture(scope="module")
def small_cnn_for(tmp_path_factory):
    """``small_cnn_for(target)``: the compiled network, and its program after the phase HAL."""

    @functools.cache
    def compile_for(target):
        folder = tmp_path_factory.mktemp("phases")
        flags = [f"--dump-compilation-phases-to={folder}"]
        contents, _ = to_module(small_cnn(), make_options(target, extra_flags=flags, host=False))
        (hal,) = folder.glob("*.hal.mlir")
        return contents, hal.read_bytes()

    return compile_for


@pytest.mark.parametrize("target", ["cuda", "vulkan:portable"])
def test_a_run_is_one_submission(small_cnn_for, target):
    """The host waits at its end alone."""
    _, program = small_cnn_for(target)
    main = program.partition(b"util.func public @main")[2]
    assert main.count(b"hal.command_buffer.dispatch") > 10
    assert main.count(b"hal.device.queue.execute<") == main.count(b"hal.fence.await") == 1


@pytest.mark.parametrize("target", ["vulkan", "metal"])
def test_targets_without_bf16(target):
    with pytest.raises(UsageError, match=f"target '{target}.*' has f32 and f16 alone"):
        make_options(target, precision="bf16")


@pytest.mark.parametrize("name", OWN_FORMS)
def test_cpus_compute_what_has_a_form_for_cuda(by_name, name):
    computed = run_case(by_name[name], 300, target=cpu_like("gpu"), host=False)
    assert computed.passed, computed.detail


@pytest.mark.parametrize("count", [long(64), "n"])
def test_cuda_compiles_the_suppression_of_many_boxes(count):
    options = make_options("cuda", host=False)
    contents, _ = to_module(suppression(2, 3, count), options)
    assert OTHERS["cuda"] in contents


@pytest.mark.parametrize(
    ("target", "kind"), [("cuda", "negated"), long("cuda", "counted"), ("rocm", "negated")]
)
def test_rows_that_threads_cannot_share(target, kind, caplog):
    """The backend fails at sums over 64 negated elements, or 64 elements that become i64: it is
    asked for sums by one thread each, and that is said."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 64))
    dtype = TensorProto.FLOAT if kind == "negated" else TensorProto.INT64
    y = helper.make_tensor_value_info("y", dtype, (2,))
    constants = [
        helper.make_tensor("half", TensorProto.FLOAT, [], [0.5]),
        helper.make_tensor("axes", TensorProto.INT64, [1], [1]),
    ]
    first = {
        "negated": [helper.make_node("Neg", ["x"], ["m"])],
        "counted": [
            helper.make_node("Greater", ["x", "half"], ["g"]),
            helper.make_node("Cast", ["g"], ["m"], to=TensorProto.INT64),
        ],
    }[kind]
    nodes = [*first, helper.make_node("ReduceSum", ["m", "axes"], ["y"], keepdims=0)]
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    contents, _ = to_module(model, make_options(target, host=False))
    assert OTHERS[target] in contents
    assert "as the backend failed without" in caplog.text


def chain(shape, *nodes, dtype=TensorProto.FLOAT, opset=17):
    """A model of nodes that compute ``y`` from ``x``; each is an operator and its attributes."""
    names = ["x", *(f"v{at}" for at in range(len(nodes) - 1)), "y"]
    ends = zip(nodes, names, names[1:], strict=False)
    made = [helper.make_node(kind, [a], [b], **attrs) for (kind, attrs), a, b in ends]
    x, y = (
        helper.make_tensor_value_info(name, dtype, size)
        for name, size in (("x", shape), ("y", None))
    )
    graph = helper.make_graph(made, "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


CUBES = {"kernel_shape": [2] * 3, "strides": [2] * 3}


@pytest.mark.parametrize("target", ["cuda:sm_90", long("rocm")])
@pytest.mark.parametrize(
    ("kind", "shape", "dtype"),
    [
        ("MaxPool", [2, 8, 8, 9, "w"], TensorProto.FLOAT),
        long("MaxPool", ["n", 8, 8, 9, 9], TensorProto.FLOAT16),
        long("AveragePool", ["n", 8, 8, 9, 9], TensorProto.FLOAT),
        ("LpPool", ["n", 8, 8, 9, 9], TensorProto.FLOAT16),
        ("MaxPool", [2, 32, "h", "w"], TensorProto.FLOAT),
    ],
)
def test_pools_whose_unknown_sizes_have_a_divisor(target, kind, shape, dtype, caplog):
    """A size that is a multiple of a number, and an op that follows elementwise."""
    nodes = [(kind, CUBES), ("Relu", {})]
    if len(shape) == 4:
        window = {"kernel_shape": [3, 3], "pads": [1] * 4}
        nodes = [("DepthToSpace", {"blocksize": 2}), (kind, window), ("Relu", {})]
    model = chain(shape, *nodes, dtype=dtype)
    contents, _ = to_module(model, make_options(target, host=False))
    assert b".target sm_89" in contents or OTHERS["rocm"] in contents
    assert "as the backend failed without" not in caplog.text


def test_convolutions_of_images_of_even_unknown_sizes(caplog):
    """The backend fails, and is asked for code without blocks of known size."""
    weights = numpy_helper.from_array(np.ones((8, 1, 3, 3), np.float32), "w")
    window = {"group": 8, "pads": [1] * 4}
    model = chain(
        [2, 32, "h", "w"], ("DepthToSpace", {"blocksize": 2}), ("Conv", window), ("Relu", {})
    )
    model.graph.initializer.append(weights)
    model.graph.node[1].input.append("w")
    contents, _ = to_module(model, make_options("cuda:sm_90", host=False))
    assert OTHERS["cuda:sm_90"] in contents
    assert "as the backend failed without" in caplog.text


@pytest.mark.parametrize("target", ["vulkan:llvmpipe", long("metal")])
@pytest.mark.parametrize(
    ("shape", "nodes"),
    [
        ([2, "c", 8, 9, 8], [("MaxPool", CUBES), ("Softmax", {"axis": 1})]),
        long([64, "c"], [("LogSoftmax", {}), ("Transpose", {"perm": [1, 0]})]),
        (["n", 64, "c"], [("Hardmax", {}), ("Relu", {}), ("Transpose", {"perm": [2, 0, 1]})]),
    ],
)
def test_normalized_rows_of_unknown_length_become_columns(target, shape, nodes):
    contents, _ = to_module(chain(shape, *nodes), make_options(target, host=False))
    assert OTHERS["vulkan:portable" if target.startswith("vulkan") else target] in contents


def test_metal_compiles_masks_whose_axes_repeat_as_the_run_decides():
    """The backend fails where the softmax reads them by look-ups of its own."""
    cases = Cases(opset=24)
    q, k, v = (
        Feed(np.ones((2, heads, 5, 8), np.float32), ["n", heads, size, 8])
        for heads, size in ((4, "s"), (2, "t"), (2, "t"))
    )
    mask = Feed(np.ones((2, 1, 5, 4), np.bool_), ["n", "h", "s", "u"])
    cases.add("Attention", q, k, v, mask, is_causal=1)
    contents, _ = to_module(cases.model(), make_options("metal", host=False))
    assert OTHERS["metal"] in contents


@pytest.mark.parametrize("target", ["cuda", "rocm", "metal", "vulkan:portable"])
def test_code_for_every_target(small_cnn_for, target):
    contents, _ = small_cnn_for(target)
    assert OTHERS[target] in contents


@pytest.mark.parametrize("target", ["cuda:sm_90", "vulkan:rdna3", long("vulkan:moltenvk")])
def test_code_for_other_variants(target):
    contents, _ = to_module(product(16, 32, 8), make_options(target, host=False))
    assert OTHERS[target] in contents


def test_cuda_compiles_a_transformer_of_any_length():
    model, _ = exported("bert-tiny")
    contents, _ = to_module(model, make_options("cuda", host=False))
    assert OTHERS["cuda"] in contents


def test_a_missing_device_shows_before_anything_is_compiled(monkeypatch):
    monkeypatch.setattr("graphc.compiler.driver.to_module", lambda *_: pytest.fail("compiled"))
    with pytest.raises(DeviceError, match="cannot open device 'metal'"):
        graphc.compile(small_cnn(), "metal")


@pytest.mark.parametrize("targets", [[], ["cpu", "cpu"], ["cpu", "cpu:host"]])
def test_targets_that_make_no_file(targets):
    with pytest.raises(UsageError, match="targets must be one or more different ones"):
        graphc.compile(small_cnn(), targets)
