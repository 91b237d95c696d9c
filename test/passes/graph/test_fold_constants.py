"""Constant folding: values, size bounds, and what stays."""

import numpy as np
from graph_programs import build_module, main_of, op_names

from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.dialects.locations import location_names
from graphc.mlir import ir
from graphc.passes.infra.pipeline import run_pipeline
from graphc.passes.infra.report import Report


def c(value, dtype=np.float32):
    return graph.constant(value=np.asarray(value, dtype))


def fold(module, options=""):
    report = Report()
    run_pipeline(module, f"graph-fold-constants{options}", report=report)
    return report.rewrites["fold-constants"]


def constants_of(module):
    operations = main_of(module).regions[0].blocks[0].operations
    return [op.operation.opview for op in operations if op.operation.name == "graph.constant"]


def test_weights_of_16_bits_grow_for_contractions(context):
    """Those that are read otherwise are cast by what reads them."""

    def body(x):
        w, more = (graph.cast(c(np.ones((4, 4)), np.float16), to=np.float32) for _ in range(2))
        y = graph.matmul(x, graph.transpose(w, perm=[1, 0]))
        return graph.add(graph.matmul(y, more), more)

    module = build_module(body, "4x4xf32")
    statistics = fold(module, "{max-bytes=16}")
    assert op_names(module) == ["cast", "matmul", "matmul", "add"]
    assert list(statistics.declined) == ["the constants would grow by 32 bytes"]


def test_scattered_among_zeros(context):
    """Which are broadcast, and stay so alone."""

    def body():
        zeros = graph.expand(c(0), shape=[2000])
        ones = graph.scatter_elements(
            zeros, c([3, 5], np.int64), c([1, 1]), axis=0, reduction="none"
        )
        return graph.add(ones, graph.exp(zeros))

    module = build_module(body)
    (before,) = evaluate_function(main_of(module), [])
    fold(module)
    assert op_names(module) == ["expand", "exp", "add"]
    (after,) = evaluate_function(main_of(module), [])
    np.testing.assert_array_equal(before, after)


def test_values_are_those_of_the_program(context):
    def body():
        x = c(np.arange(24).reshape(2, 3, 4))
        y = graph.transpose(graph.exp(graph.neg(x)), perm=[2, 0, 1])
        return graph.cast(graph.concat([y, y], axis=1), to=np.float16)

    module = build_module(body)
    (before,) = evaluate_function(main_of(module), [])
    statistics = fold(module)
    assert op_names(module) == []
    assert len(constants_of(module)) == 1
    (after,) = evaluate_function(main_of(module), [])
    np.testing.assert_array_equal(before, after)
    assert after.dtype == np.float16
    assert statistics.count == 5


def test_names_of_what_was_folded_are_kept(context):
    def body():
        with ir.Location.name("weight"):
            weight = c([1.0, 2.0])
        with ir.Location.name("scale"):
            return graph.neg(weight)

    module = build_module(body)
    fold(module)
    assert location_names(constants_of(module)[0].location) == ("weight", "scale")


def test_growth_is_what_the_bound_is_about(context):
    def body():
        weight = c(np.ones((64, 64)))
        return graph.transpose(weight, perm=[1, 0]), weight

    module = build_module(body)
    statistics = fold(module, "{max-bytes=16383}")
    assert op_names(module) == ["transpose"]
    assert list(statistics.declined) == ["the constants would grow by 16,384 bytes"]
    fold(module, "{max-bytes=16384}")
    assert op_names(module) == []


def test_weights_that_nothing_else_uses_may_change_form(context):
    module = build_module(lambda: graph.transpose(c(np.ones((64, 64))), perm=[1, 0]))
    fold(module, "{max-bytes=0}")
    assert op_names(module) == []


def test_one_operand_used_twice_by_the_op_counts_once(context):
    def body():
        x = c(np.ones(1000))
        return graph.concat([x, x], axis=0)

    module = build_module(body)
    statistics = fold(module, "{max-bytes=3999}")
    assert list(statistics.declined) == ["the constants would grow by 4,000 bytes"]


def test_what_cannot_be_computed_is_left_alone_and_said(context, monkeypatch):
    def failing(x):
        raise IndexError("index 7 is out of bounds")

    monkeypatch.setattr(graph.SinOp, "evaluate", staticmethod(failing))
    module = build_module(lambda: graph.sin(c([1.0])))
    statistics = fold(module)
    assert op_names(module) == ["sin"]
    assert list(statistics.declined) == ["cannot be computed: index 7 is out of bounds"]


def test_effects_stay(context):
    module = build_module(lambda: graph.bind_sizes(c(3, np.int64), names=["n"]))
    fold(module)
    assert op_names(module) == ["bind_sizes"]


def test_groups_are_not_folded_but_what_is_in_them_is(context):
    def body(x):
        group = [graph.neg(c([1.0, 2.0])), None]
        group[1] = graph.add(x, group[0])
        return graph.fuse([value.owner.opview for value in group], kind="elementwise")

    module = build_module(body, "2xf32")
    run_pipeline(module, "canonicalize")
    fold(module)
    assert op_names(module) == ["fused"]
    (fused,) = (op for op in main_of(module).regions[0].blocks[0].operations if "fused" in op.name)
    inner = [op.operation.name for op in fused.regions[0].blocks[0].operations]
    assert inner == ["graph.constant", "graph.add", "graph.yield"]
