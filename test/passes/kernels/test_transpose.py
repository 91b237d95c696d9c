"""The kernel that transposes tensors, against numpy."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.passes.kernels.transpose import merged_axes
from graphc.passes.pipelines import graph_pipeline
from harness.marks import long


def _compiled(perms, names, dtype, vector_bits=256):
    nodes = [
        helper.make_node("Transpose", ["x"], [f"y{index}"], perm=perm)
        for index, perm in enumerate(perms)
    ]
    outputs = [node.output[0] for node in nodes]
    model = build_model(nodes, {"x": (dtype, names)}, outputs, opset=21)
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    return graphc.compile(model, pipeline=pipeline, threads=2, cache=False)


def _check(compiled, perms, x):
    for perm, found in zip(perms, compiled.run(None, {"x": x}), strict=True):
        np.testing.assert_array_equal(found, x.transpose(perm), err_msg=f"{x.shape} {perm}")


@pytest.mark.parametrize("vector_bits", [long(128), 256, long(512)])
def test_all_orders_of_three_axes(vector_bits):
    perms = list(itertools.permutations(range(3)))[1:]
    with _compiled(perms, ["a", "b", "c"], np.float32, vector_bits) as compiled:
        assert compiled.report.rewrites["transpose-kernel"].count == len(perms)
        for sizes in ((3, 70, 41), (2, 300, 16), (1, 1, 1), (0, 3, 4), (17, 1, 90), (64, 64, 64)):
            _check(compiled, perms, np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes))


def test_known_sizes():
    shapes = {
        (24, 5000): 1,
        (300, 2, 16): 1,
        (3, 5000): 1,
        (3, 90): 0,
        (300, 2, 8): 0,
        (300, 2, 2): 1,
        (8, 2, 2): 0,
    }  # for the kernel or not
    for (*outer, last), count in shapes.items():
        perm = (1, 0, 2)[: len(outer) + 1]
        with _compiled([perm], [*outer, last], np.float32) as compiled:
            fired = compiled.report.rewrites.get("transpose-kernel")
            assert (fired.count if fired else 0) == count, (outer, last)
            shape = (*outer, last)
            _check(compiled, [perm], np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int64])
@pytest.mark.parametrize("planes", [2, 3, 4])
def test_few_planes(planes, dtype):
    """Colours to the last axis, and back."""
    for names, perm in (([2, planes, "h", "w"], (0, 2, 3, 1)), (["h", "w", planes], (2, 0, 1))):
        with _compiled([perm], names, dtype) as compiled:
            for h, w in ((30, 41), (1, 3), (64, 48), (0, 5)):
                sizes = [{"h": h, "w": w}.get(name, name) for name in names]
                _check(compiled, [perm], np.arange(np.prod(sizes)).astype(dtype).reshape(sizes))


def test_pairs_that_stay_together():
    """Pairs of bytes and of floats move as one element each."""
    for dtype in (np.uint8, np.float32):
        perm = (0, 2, 1, 3)
        with _compiled([perm], ["h", "w", 2, 2], dtype) as compiled:
            for h, w in ((3, 41), (1, 1), (0, 5)):
                sizes = (h, w, 2, 2)
                _check(compiled, [perm], np.arange(np.prod(sizes)).astype(dtype).reshape(sizes))


def test_a_loop_with_other_ops_is_left_alone():
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("Exp", ["t"], ["y"]),
    ]
    model = build_model(nodes, {"x": (np.float32, [64, 500])}, ["y"])
    with graphc.compile(model, cache=False) as compiled:
        assert "transpose-kernel" not in compiled.report.rewrites


@pytest.mark.parametrize(
    "dtype", [np.float64, np.int64, np.int16, np.float16, ml_dtypes.bfloat16, np.int8, np.uint8]
)
def test_other_types(dtype):
    perms = [(1, 0, 2), (2, 1, 0), (0, 2, 1)]
    x = np.random.default_rng(0).integers(0, 100, (3, 37, 50)).astype(dtype)
    with _compiled(perms, ["a", "b", 50], dtype) as compiled:
        _check(compiled, perms, x)
        _check(compiled, perms, x[:, :5])


def test_more_axes():
    perms = [(0, 3, 1, 2, 4), (4, 3, 2, 1, 0), (0, 2, 1, 3, 4), (1, 2, 0, 4, 3)]
    with _compiled(perms, ["a", 3, "c", 1, "e"], np.float32) as compiled:
        for sizes in ((2, 3, 9, 1, 33), (5, 3, 1, 1, 4)):
            _check(compiled, perms, np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes))


@pytest.mark.parametrize(
    ("sizes", "perm", "merged"),
    [
        ((2, 3, 5), (0, 1, 2), ([30], [0])),
        ((2, 3, 5, 7), (0, 2, 3, 1), ([2, 3, 35], [0, 2, 1])),
        ((2, 1, 5, 7), (0, 2, 1, 3), ([70], [0])),
        ((2, 3, 1, 7), (3, 0, 2, 1), ([6, 7], [1, 0])),
        ((2, 3, 5), (2, 1, 0), ([2, 3, 5], [2, 1, 0])),
    ],
)
def test_axes_that_stay_together_are_one(sizes, perm, merged):
    assert merged_axes(sizes, perm) == merged


def test_a_product_by_one_row_reads_the_operand_in_place():
    """A copy of the keys would cost more than reading them once."""
    nodes = [
        helper.make_node("Transpose", ["keys"], ["t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["query", "t"], ["scores"]),
    ]
    inputs = {"keys": (np.float32, [4, "n", 64]), "query": (np.float32, [4, 1, 64])}
    model = build_model(nodes, inputs, ["scores"])
    random = np.random.default_rng(0)
    keys, query = (random.standard_normal((4, n, 64)).astype(np.float32) for n in (30, 1))
    with graphc.compile(model, cache=False) as compiled:
        assert "transpose-kernel" not in compiled.report.rewrites
        (scores,) = compiled.run(None, {"keys": keys, "query": query})
    np.testing.assert_allclose(scores, query @ keys.transpose(0, 2, 1), rtol=1e-4, atol=1e-5)
