"""Orders that take less memory: never another result, never more memory, and less where it can be.

The passes' own account of memory is held against what the runtime allocates.
"""

import numpy as np
import onnx
import pytest
from graph_programs import build_module, main_of
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper
from tool_models import model

import graphc
from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.mlir import ir
from graphc.passes.analysis.liveness import liveness
from graphc.passes.analysis.scheduling import STRATEGIES, as_it_stands, make_problem
from graphc.passes.infra.pipeline import run_pipeline

KEEP_ORDER = ("--iree-stream-partitioning-favor=debug",)


def drawn_program(choices):
    """A program of f32 tensors of 2 to 64 elements, the ops and operands of which are drawn."""

    def body(x):
        values = [x]
        for op, which, size in choices:
            operand = values[which % len(values)]
            if op == 0:
                values.append(graph.exp(operand))
            elif op == 1:
                folded = graph.reduce_max(operand, axes=[0], keepdims=True)
                values.append(graph.expand(folded, shape=[2**size]))
            elif op == 2:
                values.append(graph.concat([operand, x], axis=0))
            else:
                top = graph.reshape(operand, shape=[1, graph.type_of(operand).shape[0]])
                values.append(graph.reduce_sum(top, axes=[0], keepdims=False))
        return values[-1], values[len(values) // 2]

    return build_module(body, "4xf32")


CHOICES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(1, 6)), min_size=2, max_size=14
)


@settings(max_examples=30)
@given(CHOICES)
def test_orders_compute_the_same_with_no_more_memory(choices):
    with ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        function = main_of(module := drawn_program(choices))
        before = liveness(function)
        problem = make_problem(function.regions[0].blocks[0], before)
        assert problem.peak(as_it_stands(problem)) == before.peak
        for strategy in STRATEGIES:
            order = strategy(problem)
            assert sorted(order) == list(range(len(problem.ops)))
            position = {number: index for index, number in enumerate(order)}
            for number, needed in enumerate(problem.needed):
                assert all(position[other] < position[number] for other in needed)
        x = np.linspace(0, 1, 4, dtype=np.float32)
        expected = evaluate_function(function, [x])
        run_pipeline(module, "graph-minimize-peak-memory")
        module.operation.verify()
        after = liveness(main_of(module))
        best = min(problem.peak(strategy(problem)) for strategy in STRATEGIES)
        assert after.peak == min(before.peak, best)
        for a, b in zip(expected, evaluate_function(main_of(module), [x]), strict=True):
            np.testing.assert_array_equal(a, b)


def branches(count: int, wide: bool) -> onnx.ModelProto:
    """Branches that grow a vector to 64 KiB and shrink it again, all at once or in turns."""
    rng = np.random.default_rng(0)
    node, initializers, grow, shrink = helper.make_node, [], [], []
    for i in range(count):
        for name, shape in ((f"u{i}", (32, 512)), (f"d{i}", (512, 2))):
            values = rng.standard_normal(shape).astype(np.float32)
            initializers.append(numpy_helper.from_array(values, name))
        grow.append(node("MatMul", ["x", f"u{i}"], [f"a{i}"], name=f"grow{i}"))
        shrink.append(node("MatMul", [f"a{i}", f"d{i}"], [f"s{i}"], name=f"shrink{i}"))
    pairs = zip(grow, shrink, strict=True)
    nodes = [*grow, *shrink] if wide else [each for pair in pairs for each in pair]
    nodes.append(node("Concat", [f"s{i}" for i in range(count)], ["y"], name="join", axis=1))
    return model(nodes, {"x": [32, 32]}, {"y": [32, 2 * count]}, initializers)


def test_the_runtime_allocates_what_is_predicted():
    """If the backend keeps the order of the program, the peak memory is that of the order."""
    found = {}
    for passes in ("cse", "cse,graph-minimize-peak-memory"):
        made = branches(5, wide=True)
        with graphc.compile(made, pipeline=passes, threads=1, extra_flags=KEEP_ORDER) as compiled:
            feeds = {"x": np.ones((32, 32), np.float32)}
            found[passes] = compiled.peak_memory(feeds), compiled.run(None, feeds)[0]
    output, tensor = 32 * 10 * 4, 32 * 512 * 4
    assert found["cse"][0] == pytest.approx(5 * tensor + output, rel=0.05)
    assert found["cse,graph-minimize-peak-memory"][0] == pytest.approx(tensor + output, rel=0.05)
    np.testing.assert_array_equal(found["cse"][1], found["cse,graph-minimize-peak-memory"][1])
