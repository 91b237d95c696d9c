"""Faults to find: a plugin with passes that are wrong at one node among many."""

import os
from dataclasses import dataclass

import numpy as np

from graphc.dialects import graph
from graphc.dialects.locations import node_name
from graphc.mlir import ir
from graphc.passes.infra.base import FUNCTION, Pass
from graphc.passes.infra.greedy import apply_rewrites
from graphc.passes.infra.registry import register
from graphc.passes.infra.rewrite import rewrite


def faulty_node():
    """The end of the name of the node at which sums are wrong, as the environment has it now."""
    return os.environ.get("GRAPHC_PLANT_AT", "layer.1/output/Add")


def constant(value):
    return graph.constant(value=np.float32(value))


@rewrite(graph.AddOp)
def turn_sum(op):
    """``a + b --> b + a``, once at a node. Wrong at one of them."""
    if "turned" in op.operation.attributes:
        return None
    first = graph.mul(op.b, constant(1.25)) if node_name(op).endswith(faulty_node()) else op.b
    value = graph.add(first, op.a)
    value.owner.attributes["turned"] = ir.BoolAttr.get(True)
    return value


def crash_at(op):
    """Fails at one layer."""
    if faulty_node().split("/")[0] in node_name(op):
        raise ZeroDivisionError("planted")


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
        apply_rewrites(op, [rewrite(graph.GeluOp)(crash_at)], state)


@register
@dataclass(frozen=True)
class CrashAtRelu(Pass):
    """Fail at one relu of many."""

    name = "test-crash-at-relu"
    anchor = FUNCTION

    def run(self, op, state):
        apply_rewrites(op, [rewrite(graph.ReluOp)(crash_at)], state)
