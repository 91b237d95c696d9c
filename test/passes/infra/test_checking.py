"""Checked rewrites: a wrong one is found, a right one passes, and nothing is skipped in silence."""

import numpy as np
import pytest
from graph_programs import build_module, main_of

import graphc
from graphc.cpu_model import CpuModel
from graphc.dialects import graph
from graphc.errors import PassError, RewriteCheckError
from graphc.mlir import ir
from graphc.passes.infra.base import Pass, PassState
from graphc.passes.infra.greedy import apply_rewrites
from graphc.passes.infra.pass_checking import PassChecker
from graphc.passes.infra.pipeline import run_pipeline
from graphc.passes.infra.report import Report
from graphc.passes.infra.rewrite import Rewrite, rewrite
from graphc.passes.pipelines import graph_pipeline


@rewrite(graph.TanhOp)
def tanh_to_sigmoid(op):
    """Wrong."""
    return graph.neg(graph.neg(graph.sigmoid(op.x)))


@rewrite(graph.SubOp)
def sub_to_add(op):
    """Right."""
    return graph.add(op.a, graph.neg(op.b))


pytestmark = pytest.mark.usefixtures("context")


class ScaleExp(Rewrite):
    """Wrong by half a percent, which it says."""

    name = "scale-exp"
    root = graph.ExpOp

    def __init__(self, bound):
        self.bound = bound

    def pattern(self, op):
        return {"x": op.x}

    def rewrite(self, op, x):
        base = graph.constant(value=np.array(np.e, np.float32))
        return graph.mul(graph.constant(value=np.array(1.005, np.float32)), graph.pow_(base, x))


def program(x, y):
    with ir.Location.name("squash"):
        squashed = graph.tanh(x)
    with ir.Location.name("difference"):
        return graph.sub(squashed, y)


def apply(module, *rewrites):
    state = PassState(check_rewrites=True)
    apply_rewrites(main_of(module), rewrites, state)
    return state.report.rewrites


def test_wrong_rewrites_are_found():
    module = build_module(program, "nx3xf32", "nx3xf32")
    with pytest.raises(RewriteCheckError, match="'tanh-to-sigmoid' at 'squash' changes") as caught:
        apply(module, sub_to_add, tanh_to_sigmoid)
    assert (caught.value.rewrite, caught.value.node) == ("tanh-to-sigmoid", "squash")
    assert caught.value.difference > 0.1
    assert isinstance(caught.value, PassError)


def test_right_rewrites_pass():
    found = apply(build_module(program, "nx3xf32", "nx3xf32"), sub_to_add)["sub-to-add"]
    assert (found.count, found.checked, found.unchecked) == (1, 1, {})


def test_rewrites_state_a_bound():
    module = build_module(graph.exp, "4xf32")
    with pytest.raises(RewriteCheckError, match="scale-exp"):
        apply(module, ScaleExp(1e-3))
    assert apply(build_module(graph.exp, "4xf32"), ScaleExp(1e-2))["scale-exp"].checked == 1


def test_what_cannot_be_checked_is_said():
    def negative_size(x, size):
        graph.bind_sizes(graph.sub(size, graph.constant(value=np.array(9))), names=["m"])
        return graph.sub(x, x)

    report = Report()
    module = build_module(negative_size, "4xf32", "i64")
    apply_rewrites(main_of(module), [sub_to_add], PassState(report, check_rewrites=True))
    statistics = report.rewrites["sub-to-add"]
    assert (statistics.count, statistics.checked) == (2, 0)
    ((reason, nodes),) = statistics.unchecked.items()
    assert "no value on drawn inputs (at node graph.bind_sizes: size 'm' is negative" in reason
    assert len(nodes) == 2
    assert "not checked" in str(report)


def test_pipelines_check_on_request():
    module = build_module(lambda x: graph.neg(graph.neg(graph.relu(x))), "nx4xf32")
    report = Report()
    run_pipeline(module, "graph-simplify", report=report, check_rewrites=True)
    assert all(s.checked == s.count for s in report.rewrites.values())
    assert any(s.checked for s in report.rewrites.values())


@rewrite(graph.NegOp)
def neg_unless_alone(op):
    """Right but where the axis has one element: ``neg(x) --> x * (1 - min(n, 2))``."""
    extent = graph.sizes(sizes=graph.type_of(op.x).shape[:1])
    bounded = graph.min_(graph.cast(extent, to=np.dtype(np.float32)), constant([2]))
    return graph.mul(op.x, graph.sub(constant([1]), bounded))


def constant(values):
    return graph.constant(value=np.array(values, np.float32))


def test_sizes_are_sampled():
    """Axes of one element hide what others show, and the other way round."""
    with pytest.raises(RewriteCheckError, match="neg-unless-alone"):
        apply(build_module(graph.neg, "nxf32"), neg_unless_alone)
    assert apply(build_module(graph.neg, "4xf32"), neg_unless_alone)["neg-unless-alone"].checked


SEGMENTS = f"array<i32: 1{', 0' * 31}>"
BRANCHES = f"""
func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = "graph.if"(%c) ({{
    %1 = "graph.sub"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "graph.yield_all"(%1) {{operandSegmentSizes = {SEGMENTS}}} : (tensor<4xf32>) -> ()
  }}, {{
    %2 = "graph.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "graph.OP"(%2) : (tensor<4xf32>) -> tensor<4xf32> loc("inside")
    "graph.yield_all"(%3) {{operandSegmentSizes = {SEGMENTS}}} : (tensor<4xf32>) -> ()
  }}) {{names = [], resultSegmentSizes = {SEGMENTS}}} : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}"""


def test_rewrites_in_regions_are_checked():
    """Both branches are checked, whichever is taken."""
    with pytest.raises(RewriteCheckError, match="'tanh-to-sigmoid' at 'inside'"):
        apply(ir.Module.parse(BRANCHES.replace("OP", "tanh")), tanh_to_sigmoid)
    found = apply(ir.Module.parse(BRANCHES.replace("OP", "exp")), sub_to_add, ScaleExp(1e-2))
    assert found["scale-exp"].checked == found["sub-to-add"].checked == 1


class Right(Pass):
    name = "right"


class Wrong(Pass):
    name = "wrong"


class Rough(Pass):
    name = "rough"
    bound = 10.0


def test_passes_that_rewrite_by_themselves_are_checked_whole():
    def other(x, y):
        with ir.Location.name("squash"):
            squashed = graph.sigmoid(x)
        with ir.Location.name("difference"):
            return graph.sub(squashed, y)

    before = build_module(program, "nx3xf32", "nx3xf32")
    checker = PassChecker(Report())
    checker.check(Right(), before, build_module(program, "nx3xf32", "nx3xf32"))
    with pytest.raises(RewriteCheckError, match=r"pass 'wrong' changes .* differs is at 'squash'"):
        checker.check(Wrong(), before, build_module(other, "nx3xf32", "nx3xf32"))
    checker.check(Rough(), before, build_module(other, "nx3xf32", "nx3xf32"))


def test_every_rewrite_of_a_model_is_checked():
    report = Report()
    module = graphc.import_onnx("test/exported/bert-tiny.onnx")
    run_pipeline(module, graph_pipeline("cpu", CpuModel(512)), report=report, check_rewrites=True)
    fired = {name: s for name, s in report.rewrites.items() if s.count}
    assert {"fold-constants", "merge-matmuls", "fuse-epilogue", "recognize-gelu"} < set(fired)
    assert not [name for name, s in fired.items() if s.checked != s.count]
