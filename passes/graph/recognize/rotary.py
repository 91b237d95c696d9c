"""Rotary position embeddings that exporters decompose."""

from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import constant_array, producer
from ...infra.rewrite import Rewrite
from .algebra import constant_number
from .uses import used_elsewhere


class RotaryEmbedding(Rewrite):
    """``x * cos + concat(-x2, x1) * sin  -->  rotary_embedding(x, cos1, sin1)``.

    Here ``x = concat(x1, x2)``, and the two halves of ``cos`` and of ``sin`` are equal, as
    constants or because they are computed from the concatenation of a value with itself. Exact but
    for rounding: f16 and bf16 are computed in f32.
    """

    name = "recognize-rotary-embedding"
    root = graph.AddOp

    def pattern(self, op: graph.BinaryOp):
        for left, right in ((op.a, op.b), (op.b, op.a)):
            plain, turned = producer(left, graph.MulOp), producer(right, graph.MulOp)
            if plain is None or turned is None:
                continue
            for rotated, sin in ((turned.a, turned.b), (turned.b, turned.a)):
                x = _turned_by_half(rotated)
                cos = None if x is None else _other(plain, x)
                if cos is not None:
                    return {"x": x, "cos": cos, "sin": sin, "rotated": rotated}
        return None

    def check(self, op: graph.BinaryOp, *, x, cos, sin, rotated):
        if x.type != op.result.type:
            return "the angles broadcast the operand to another shape"
        size = graph.type_of(x).shape[-1]
        for angles in (cos, sin):
            if graph.type_of(angles).shape[-1] != size or not _has_equal_halves(angles):
                return "the halves of the angles are not known to be alike"
        return used_elsewhere(op, [x, cos, sin])

    def rewrite(self, op: graph.BinaryOp, *, x, cos, sin, rotated):
        return graph.rotary_embedding(x, _first_half(cos), _first_half(sin), interleaved=False)


REWRITES = (RotaryEmbedding,)


def _turned_by_half(value: ir.Value) -> ir.Value | None:
    """``x`` if `value` is ``concat(-x2, x1)`` of its halves along the last axis; else None."""
    concat = producer(value, graph.ConcatOp)
    if concat is None or concat.attrs["axis"] != graph.type_of(value).rank - 1:
        return None
    parts = concat.operand_groups["xs"]
    negated = producer(parts[0], graph.NegOp) if len(parts) == 2 else None
    if negated is None:
        return None
    second, first = _half(negated.x), _half(parts[1])
    if first is None or second is None or first[1] != 0 or second[1] == 0:
        return None
    return first[0] if first[0] == second[0] else None


def _half(value: ir.Value) -> tuple[ir.Value, int] | None:
    """The tensor of which `value` is a half along the last axis, and the start of that half."""
    op = producer(value, graph.SliceOp)
    if op is None:
        return None
    shape, attrs = graph.type_of(op.x).shape, op.attrs
    start, size = attrs["starts"][-1], attrs["sizes"][-1]
    whole = attrs["sizes"][:-1] == shape[:-1] and not any(attrs["starts"][:-1])
    if not whole or set(attrs["steps"]) != {1} or not isinstance(size, int):
        return None
    return (op.x, start) if shape[-1] == 2 * size and start in (0, size) else None


def _has_equal_halves(value: ir.Value) -> bool:
    array = constant_array(value)
    if array is not None:
        first, second = np.split(array, 2, axis=-1)
        return bool(np.array_equal(first, second))
    op: Any = graph.graph_op(value.owner)
    if isinstance(op, graph.ConcatOp):
        parts = op.operand_groups["xs"]
        is_last = op.attrs["axis"] == graph.type_of(value).rank - 1
        return is_last and len(parts) == 2 and parts[0] == parts[1]
    if isinstance(op, graph.UnaryOp | graph.CastOp):
        return _has_equal_halves(op.x)
    if isinstance(op, graph.MulOp):
        for x, factor in ((op.a, op.b), (op.b, op.a)):
            if constant_number(factor) is not None and x.type == value.type:
                return _has_equal_halves(x)
    if isinstance(op, graph.ReshapeOp):
        same_last = graph.type_of(op.x).shape[-1:] == graph.type_of(value).shape[-1:]
        return same_last and _has_equal_halves(op.x)
    return False


def _first_half(value: ir.Value) -> ir.Value:
    array = constant_array(value)
    *leading, size = graph.type_of(value).shape
    if array is not None:
        return graph.constant(value=np.ascontiguousarray(array[..., : size // 2]))  # type: ignore[operator]
    starts, steps = [0] * (len(leading) + 1), [1] * (len(leading) + 1)
    return graph.slice_(value, starts=starts, sizes=[*leading, size // 2], steps=steps)


def _other(op: Any, operand: ir.Value) -> ir.Value | None:
    """The other operand of a binary op, if `operand` is one of the two; else None."""
    return op.b if op.a == operand else op.a if op.b == operand else None
