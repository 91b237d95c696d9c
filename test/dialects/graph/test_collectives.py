"""Collectives on the arrays of all ranks, and programs that the interpreter runs on all of them."""

import ml_dtypes
import numpy as np
import pytest
from graph_programs import ALIVE, build_module, main_of

from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.errors import ExecutionError
from graphc.mlir import ir

RNG = np.random.default_rng(0)
MESH = {"ranks": 2, "mesh_axis": "tensor"}


@pytest.fixture(autouse=True)
def context():
    with ir.Context() as context, ir.Location.unknown():
        graph.Graph.load()
        yield context
        ALIVE.clear()


def run(body, *inputs, types):
    return evaluate_function(main_of(build_module(body, *types)), inputs)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64"])
def test_a_product_of_parts_is_that_of_the_whole(dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    name = graph.dtype_name(dtype)
    x, w = (RNG.integers(-3, 4, shape).astype(dtype) for shape in ((3, 4), (4, 6)))

    def body(x, w):
        parts = [graph.all_slice(each, axis=axis, sections=[4], **MESH)
                 for each, axis in ((x, 1), (w, 0))]  # fmt: skip
        return graph.all_reduce(graph.matmul(*parts), **MESH)

    (result,) = run(body, x, w, types=[f"3x4x{name}", f"4x6x{name}"])
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, x @ w)


@pytest.mark.parametrize(("axis", "sections"), [(0, [4]), (1, [2, 4, 0]), (1, [4, 2])])
def test_a_gather_undoes_a_slice(axis, sections):
    x = RNG.random((4, 6), np.float32)
    form = {"axis": axis, "sections": sections, **MESH}

    def body(x):
        part = graph.all_slice(x, **form)
        return graph.all_gather(graph.neg(part), **form), graph.all_gather(part, **form)

    negative, same = run(body, x, types=["4x6xf32"])
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(negative, -x)


def test_a_rank_has_its_part_of_each_section():
    x = np.arange(12).reshape(1, 12)
    parts = [graph.part_of_rank(x, 1, (4, 8), 4, rank)[0].tolist() for rank in range(4)]
    assert parts == [[0, 4, 5], [1, 6, 7], [2, 8, 9], [3, 10, 11]]


def test_a_value_that_all_ranks_have_counts_for_each():
    (result,) = run(lambda x: graph.all_reduce(x, **MESH), np.float32([1, 2]), types=["2xf32"])
    np.testing.assert_array_equal(result, [2, 4])


@pytest.mark.parametrize("reduction", ["max", "min"])
def test_extremes(reduction):
    def body(x):
        part = graph.all_slice(x, axis=0, sections=[4], **MESH)
        return graph.all_reduce(part, reduction=reduction, **MESH)

    x = np.float32([1, 2, np.nan, -3])
    (result,) = run(body, x, types=["4xf32"])
    np.testing.assert_array_equal(result, [np.nan, {"max": 2, "min": -3}[reduction]])


def test_groups_of_ops_run_on_each_rank():
    def body(x):
        part = graph.all_slice(x, axis=0, sections=[4], **MESH)
        ops = [graph.relu(part).owner.opview]
        ops.append(graph.add(ops[0].result, part).owner.opview)
        return graph.all_reduce(graph.fuse(ops, kind="elementwise"), **MESH)

    (result,) = run(body, np.float32([1, -2, 3, 4]), types=["4xf32"])
    np.testing.assert_array_equal(result, [2 + 6, -2 + 8])


def test_groups_of_different_sizes_do_not_meet():
    def body(x):
        halves = graph.all_slice(x, axis=0, sections=[4], **MESH)
        quarters = graph.all_slice(x, axis=0, sections=[4], ranks=4, mesh_axis="other")
        return graph.add(halves, quarters)

    with pytest.raises(ExecutionError, match="divided among 2 and 4"):
        run(body, np.zeros(4, np.float32), types=["4xf32"])
    with pytest.raises(ExecutionError, match="a value of 2 ranks where there are 4"):
        run(lambda x: graph.all_reduce(graph.all_slice(x, axis=0, sections=[4], **MESH),
                                       ranks=4, mesh_axis="other"),
            np.zeros(4, np.float32), types=["4xf32"])  # fmt: skip


def test_the_sum_is_in_the_order_of_the_ranks():
    parts = np.float32([2**24, 1, -(2**24), 1]).reshape(4, 1)
    np.testing.assert_array_equal(graph.sum_in_rank_order(parts), [1])


def test_16_bits_are_summed_in_f32_and_rounded_once():
    parts = np.array([1, 2**-8, 2**-8], ml_dtypes.bfloat16).reshape(3, 1)
    assert graph.sum_in_rank_order(parts)[0] == 1 + 2**-7
