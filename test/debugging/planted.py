"""Faults to find: a plugin with passes that are wrong in one place among many."""

from dataclasses import dataclass

import numpy as np

from graphc.dialects import graph
from graphc.dialects.locations import node_name
from graphc.mlir import ir
from graphc.passes.base import FUNCTION, Pass
from graphc.passes.greedy import apply_rewrites
from graphc.passes.registry import register
from graphc.passes.rewrite import rewrite


def factor(value):
    return graph.constant(value=np.float32(value))


@rewrite(graph.AddOp)
def turn_sum(op):
    """``a + b --> b + a``. Right but at the sum before the last layer normalisation."""
    if "turned" in op.operation.attributes:
        return None
    value = graph.add(op.b, op.a)
    value.owner.attributes["turned"] = ir.BoolAttr.get(True)
    if "layer.1/output/Add" in node_name(op):
        return graph.mul(value, factor(1.5))
    return value


@rewrite(graph.GeluOp)
def crash_at_second(op):
    """Fails at the second layer."""
    if "layer.1" in node_name(op):
        raise ZeroDivisionError("planted")
    return


@register
@dataclass(frozen=True)
class TurnSums(Pass):
    """Swap the operands of sums; one of them wrongly."""

    name = "test-turn-sums"
    anchor = FUNCTION

    def run(self, op, state):
        apply_rewrites(op, [turn_sum], state)


@register
@dataclass(frozen=True)
class DropLast(Pass):
    """Leave out the last gelu, without the greedy driver."""

    name = "test-drop-gelu"
    anchor = FUNCTION

    def run(self, op, state):
        del state
        *_, last = (
            o for o in op.regions[0].blocks[0].operations if o.operation.name == "graph.gelu"
        )
        last.operation.results[0].replace_all_uses_with(last.operation.operands[0])
        last.operation.erase()


@register
@dataclass(frozen=True)
class CrashAtGelu(Pass):
    """Fail at one gelu of two."""

    name = "test-crash-at-gelu"
    anchor = FUNCTION

    def run(self, op, state):
        apply_rewrites(op, [crash_at_second], state)
