"""A plugin: passes that exist for the tests of gc-opt."""

from dataclasses import dataclass

from graphc.dialects import graph
from graphc.passes.infra.base import FUNCTION, Pass
from graphc.passes.infra.greedy import apply_rewrites
from graphc.passes.infra.registry import register
from graphc.passes.infra.rewrite import rewrite


@rewrite(graph.ReluOp)
def relu_to_sigmoid(op):
    """``relu(x)  -->  sigmoid(x)``."""
    return graph.sigmoid(op.x)


@rewrite(graph.ReluOp)
def crash(op):
    """Fails wherever there is a relu."""
    raise ZeroDivisionError(f"no {op.operation.name} here")


@register
@dataclass(frozen=True)
class ReluToSigmoid(Pass):
    """Replace relu by sigmoid."""

    name = "test-relu-to-sigmoid"
    anchor = FUNCTION

    def run(self, op, state):
        apply_rewrites(op, [relu_to_sigmoid], state)


@register
@dataclass(frozen=True)
class Crash(Pass):
    """Fail with an exception at the first relu."""

    name = "test-crash"
    anchor = FUNCTION

    def run(self, op, state):
        apply_rewrites(op, [crash], state)


@register
@dataclass(frozen=True)
class Break(Pass):
    """Leave a program that does not verify: a relu with another result type."""

    name = "test-break"
    anchor = FUNCTION

    def run(self, op, state):
        for inner in op.regions[0].blocks[0].operations:
            if isinstance(inner.operation.opview, graph.ReluOp):
                type_ = graph.type_of(inner.operation.results[0]).with_dtype("float64")
                inner.operation.results[0].set_type(graph.to_mlir(type_))


@register
@dataclass(frozen=True)
class DropRelu(Pass):
    """Leave out every relu, without the greedy driver."""

    name = "test-drop-relu"
    anchor = FUNCTION

    def run(self, op, state):
        del state
        for inner in list(op.regions[0].blocks[0].operations):
            if isinstance(inner.operation.opview, graph.ReluOp):
                inner.operation.results[0].replace_all_uses_with(inner.operation.operands[0])
                inner.operation.erase()
