"""Quantizations that only round: their integers are dequantized at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_scalar, has_one_use, producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite, rewrite

_WORDS = (np.dtype(np.int16), np.dtype(np.uint16))
_F32 = np.finfo(np.float32)

_MOVES = (graph.TransposeOp, graph.ReshapeOp, graph.SliceOp, graph.GatherOp, graph.ExpandOp)
"""Ops that give elements of their first operand."""


@register
@dataclass(frozen=True)
class CpuFakeQuantize(Pass):
    """Round to the steps of a quantization in f32 where a model dequantizes 16 bits at once.

    %1 = "graph.quantize"(%x, %s, %z) : 1x56x56x64xui16
    %2 = "graph.dequantize"(%1, %s, %z)
    -->
    %2 = "graph.fake_quantize"(%x) {scale = s, low = -z, high = 65535 - z} : 1x56x56x64xf32

    For one constant scale. Exact. It joins the kernel that computes `x`, on any vectors of f32,
    and is left out where a tensor is rounded already. Tensors of 8 bits stay integers, which are a
    quarter of the memory.
    """

    name = "cpu-fake-quantize"
    anchor = FUNCTION
    only_rewrites = True

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(op, [FakeQuantize(), *REWRITES], state)


class FakeQuantize(Rewrite):
    """``dequantize(quantize(x, s, z), s, z)  -->  fake_quantize(x)`` for 16 bits and a constant
    scale, also through ops that move the integers. Exact."""

    name = "fake-quantize"
    root = graph.DequantizeOp

    def pattern(self, op: graph.DequantizeOp) -> dict[str, Any] | None:
        value, moves = op.x, []
        while (move := producer(value, _MOVES)) is not None:
            moves.append(move)
            value = move.x
        inner = producer(value, graph.QuantizeOp)
        if inner is None or graph.type_of(op.x).dtype not in _WORDS:
            return None
        return {"inner": inner, "moves": moves}

    def check(
        self, op: graph.DequantizeOp, inner: graph.QuantizeOp, moves: list[Any]
    ) -> str | None:
        if op.to != np.float32 or graph.type_of(inner.x).dtype != np.float32:
            return "floats are not of f32"
        scale, zero = constant_scalar(op.scale), constant_scalar(op.zero_point)
        if scale is None or zero is None:
            return "the scale or the zero point is not one constant"
        if (scale, zero) != (constant_scalar(inner.scale), constant_scalar(inner.zero_point)):
            return "it is dequantized by another scale or zero point"
        if not _F32.tiny <= scale <= _F32.max / (1 << 17):
            return "its scale is not a positive normal number, also times integers of 17 bits"
        if not all(has_one_use(move.x) for move in moves[:-1]):
            return "what moves the integers is used several times"
        users = (graph.graph_op(use.owner) for use in inner.result.uses)
        alone = all(isinstance(user, (graph.DequantizeOp, *_MOVES)) for user in users)
        return None if alone else "its integers are used, too"

    def rewrite(
        self, op: graph.DequantizeOp, inner: graph.QuantizeOp, moves: list[Any]
    ) -> ir.Value:
        limits, zero = np.iinfo(graph.type_of(op.x).dtype), int(constant_scalar(op.zero_point))
        scale = float(constant_scalar(op.scale))
        y = graph.fake_quantize(inner.x, scale=scale, low=limits.min - zero, high=limits.max - zero)
        return _moved(y, moves)


@rewrite(graph.FakeQuantizeOp)
def round_once(op: graph.FakeQuantizeOp) -> Any:
    """``fake_quantize(move(fake_quantize(x)))  -->  move(fake_quantize(x))`` for equal steps: of
    ops that give elements of their operand. Exact."""
    value = op.x
    while (move := producer(value, _MOVES)) is not None or (move := _full_pool(value)) is not None:
        value = move.x
    inner = producer(value, graph.FakeQuantizeOp)
    return op.x if inner is not None and inner.attrs == op.attrs else None


@rewrite(graph.FakeQuantizeOp)
def round_parts(op: graph.FakeQuantizeOp) -> Any:
    """``fake_quantize(concat(x, y))  -->  concat(fake_quantize(x), fake_quantize(y))``, which join
    what computes the parts. Exact."""
    joined = producer(op.x, graph.ConcatOp)
    if joined is None or not has_one_use(op.x):
        return None
    return graph.concat([graph.fake_quantize(x, **op.attrs) for x in joined.xs], **joined.attrs)


REWRITES = (round_once, round_parts)


def _full_pool(value: ir.Value) -> graph.MaxPoolOp | None:
    """The op of which `value` holds the maxima, if each is of some elements."""
    op = producer(value, graph.MaxPoolOp)
    return op if op is not None and graph.has_full_windows(op) else None


def _moved(value: ir.Value, moves: list[Any]) -> ir.Value:
    """`value` after `moves`, of which the last one is the first."""
    for move in reversed(moves):
        others = list(move.operation.operands)[1:]
        value = graph.build(type(move), [value, *others], move.attrs)
    return value
