"""Evaluation of programs in numpy."""

import numpy as np
import pytest
from graph_programs import ALIVE, build_module, main_of

from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.dialects.symbolic import Dim
from graphc.errors import ExecutionError, FeedError, VerificationError
from graphc.mlir import ir

N = Dim.symbol("n")
X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


@pytest.fixture(autouse=True)
def context():
    with ir.Context() as context, ir.Location.unknown():
        graph.Graph.load()
        yield context
        ALIVE.clear()


def run(body, *inputs, types):
    return evaluate_function(main_of(build_module(body, *types)), inputs)


def test_results_in_order():
    results = run(lambda x: (graph.relu(x), graph.neg(x)), X, types=["2x3xf32"])
    np.testing.assert_array_equal(results[0], np.maximum(X, 0))
    np.testing.assert_array_equal(results[1], -X)


def test_symbolic_sizes_come_from_the_inputs():
    def body(x):
        return graph.reshape(x, shape=[N * 3]), graph.sizes(sizes=[N, N + 1])

    flat, sizes = run(body, X, types=["nx3xf32"])
    np.testing.assert_array_equal(flat, X.ravel())
    np.testing.assert_array_equal(sizes, [2, 3])
    assert sizes.dtype == np.int64


def test_sizes_that_the_program_computes():
    def body(count, x):
        graph.bind_sizes(count, names=["k"])
        return graph.expand(x, shape=[Dim.symbol("k"), 2])

    (result,) = run(body, np.int64(3), np.ones(2, np.float32), types=["i64", "2xf32"])
    assert result.shape == (3, 2)
    with pytest.raises(ExecutionError, match="size 'k' is negative: -1"):
        run(body, np.int64(-1), np.ones(2, np.float32), types=["i64", "2xf32"])


def test_groups():
    def body(x):
        first = graph.relu(x)
        second = graph.add(first, x)
        return graph.fuse([first.owner.opview, second.owner.opview], kind="elementwise")

    (result,) = run(body, X, types=["nx3xf32"])
    np.testing.assert_array_equal(result, np.maximum(X, 0) + X)


def test_observers_see_every_op():
    seen = []
    module = build_module(lambda x: graph.neg(graph.relu(x)), "2x3xf32")
    evaluate_function(
        main_of(module), [X], lambda op, given, results: seen.append((op, given, results))
    )
    assert [op.name for op, _, _ in seen] == ["graph.relu", "graph.neg"]
    (_, (x,), (relu,)), (_, (given,), (negative,)) = seen
    np.testing.assert_array_equal(x, X)
    assert given is relu
    np.testing.assert_array_equal(negative, -np.maximum(X, 0))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([X], "1 inputs for 2 arguments"),
        ([X, X.astype(np.float64)], "input 1 is float64"),
        ([X, X[0]], r"input 1 is float32\[3\]"),
        ([X, X[:1]], r"input 1 has shape \(1, 3\), expected \(2, 3\)"),
    ],
)
def test_inputs_that_do_not_fit(inputs, message):
    with pytest.raises(FeedError, match=message):
        run(graph.add, *inputs, types=["nx3xf32", "nx3xf32"])


def test_results_are_held_to_their_types(monkeypatch):
    monkeypatch.setattr(graph.ReluOp, "evaluate", staticmethod(lambda x: x[:1]))
    expected = pytest.raises(VerificationError, match=r"'here' evaluates to shape \(1, 3\)")
    with expected, ir.Location.name("here"):
        run(graph.relu, X, types=["nx3xf32"])


def test_foreign_ops_have_no_meaning():
    module = ir.Module.parse("""
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %0 = math.exp %x : tensor<4xf32>
          return %0 : tensor<4xf32>
        }""")
    with pytest.raises(VerificationError, match=r"math\.exp has no meaning"):
        evaluate_function(main_of(module), [np.ones(4, np.float32)])
