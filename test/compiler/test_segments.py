"""Programs cut at collectives: the steps compute what the whole does."""

import numpy as np
import pytest
from graph_programs import ALIVE, build_module, main_of
from rewriting import random_inputs, weights

from graphc.compiler.segments import CollectiveStep, segment_program
from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.dialects.symbolic import Dim
from graphc.errors import ExecutionError, UsageError
from graphc.mlir import ir

N, K = Dim.symbol("n"), Dim.symbol("k")
ONE = {"ranks": 1, "mesh_axis": "tensor"}


@pytest.fixture(autouse=True)
def context():
    with ir.Context() as context, ir.Location.unknown():
        graph.Graph.load()
        yield context
        ALIVE.clear()


def all_reduce(x):
    return graph.all_reduce(x, **ONE)


def program(body, *types):
    module = build_module(body, *types)
    names = [{"graph.name": ir.StringAttr.get(f"value.{index}")} for index in range(len(types))]
    main_of(module).attributes["arg_attrs"] = ir.ArrayAttr.get([*map(ir.DictAttr.get, names)])
    return module


def run(found, inputs):
    """The outputs of the steps; one rank has all parts."""
    values = dict(zip(found.inputs, inputs, strict=True))
    for step in found.steps:
        if isinstance(step, CollectiveStep):
            values[step.output] = values[step.input]
        else:
            arguments = [values[name] for name in step.inputs]
            results = evaluate_function(main_of(step.module), arguments)
            values |= zip(step.outputs, results, strict=True)
    return [values[name] for name in found.outputs]


def cut(body, *types, inputs=None):
    """The steps of a program, after a comparison of what they compute."""
    module = program(body, *types)
    inputs = random_inputs(module) if inputs is None else inputs
    expected = evaluate_function(main_of(module), inputs)
    found = segment_program(module)
    for have, want in zip(run(found, inputs), expected, strict=True):
        np.testing.assert_array_equal(have, want)
    return found


def kinds(found):
    return ["all_reduce" if isinstance(step, CollectiveStep) else "segment" for step in found.steps]


def test_ops_between_collectives_are_a_segment():
    def body(x):
        first = all_reduce(graph.relu(x))
        second = all_reduce(graph.add(graph.neg(first), x))
        return graph.exp(second)

    assert kinds(cut(body, "2x3xf32")) == ["segment", "all_reduce"] * 2 + ["segment"]


def test_collectives_that_need_one_another_alone():
    found = cut(lambda x: all_reduce(all_reduce(x)), "2x3xf32")
    assert kinds(found) == ["all_reduce", "all_reduce"]


def test_collectives_at_once():
    def body(x):
        return graph.add(all_reduce(graph.relu(x)), all_reduce(graph.neg(x)))

    assert kinds(cut(body, "2x3xf32")) == ["segment", "all_reduce", "all_reduce", "segment"]


def test_weights_are_where_they_are_used():
    def body(x):
        w = graph.transpose(weights(3, 3), perm=[1, 0])
        return graph.matmul(all_reduce(graph.matmul(x, w)), w)

    first, _, second = cut(body, "2x3xf32").steps
    assert first.inputs == ("value.0",)
    assert len(second.inputs) == 1


def test_results_that_no_segment_computes():
    def body(x):
        return x, weights(2), all_reduce(x), x

    cut(body, "2x3xf32")


def test_sizes_come_with_a_value_that_has_them():
    def body(x, y):
        summed = all_reduce(graph.reshape(x, shape=[N * 3]))
        return graph.expand(graph.reduce_sum(summed, axes=[0], keepdims=True), shape=[N])

    found = cut(body, "nx3xf32", "kxf32")
    assert found.steps[-1].inputs[-1] == "value.0"


def test_a_collective_of_constants():
    def body(x):
        positions = graph.expand(weights(1, 3), shape=[N, 3])
        return graph.add(x, all_reduce(positions))

    assert kinds(cut(body, "nx3xf32")) == ["segment", "all_reduce", "segment"]


def test_regions_use_values_of_other_segments():
    def body(x, flag):
        summed = all_reduce(graph.relu(x))
        branches = (lambda: [graph.add(summed, x)], lambda: [graph.neg(summed)])
        return graph.if_(flag, *branches, lambda name: name)

    cut(body, "2x3xf32", "i1", inputs=[np.ones((2, 3), np.float32), np.True_])


def test_sizes_that_a_segment_computes():
    def body(x, count):
        graph.bind_sizes(count, names=["k"])
        rows = graph.expand(x, shape=[K, 3])
        summed = all_reduce(graph.reduce_sum(rows, axes=[0], keepdims=True))
        return graph.expand(summed, shape=[K, 3])

    cut(body, "1x3xf32", "i64", inputs=[np.ones((1, 3), np.float32), np.int64(4)])


def test_a_size_that_no_value_has():
    def body(x, count):
        bound = graph.bind_sizes(count, names=["k"])
        summed = all_reduce(graph.add(x, graph.cast(bound, to=np.float32)))
        return graph.expand(summed, shape=[K, 3])

    with pytest.raises(UsageError, match="size 'k' is computed before a collective"):
        segment_program(program(body, "1x3xf32", "i64"))


def test_checks_are_kept():
    def body(x, flag):
        graph.require(flag, message="no flag")
        return all_reduce(x)

    cut(body, "3xf32", "i1", inputs=[np.ones(3, np.float32), np.True_])
    found = segment_program(program(body, "3xf32", "i1"))
    with pytest.raises(ExecutionError, match="no flag"):
        run(found, [np.ones(3, np.float32), np.False_])
