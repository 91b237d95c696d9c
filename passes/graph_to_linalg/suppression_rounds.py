"""Non-maximum suppression in rounds, each of which compares all pairs at once.

This is for GPUs, for which the backend compiles no loops that update a tensor. A round keeps each
box that overlaps no better box among those kept by the previous round. The selection among the
first k boxes is final after k rounds, so that the rounds terminate, with the first one that changes
nothing, mostly one of the first few. The host reads whether a round changed anything.
"""

import numpy as np

from ...dialects import graph
from ...mlir import arith, ir, tensor
from .dispatch import behind_barrier
from .generic import generic, loop_index, parallel, projection
from .loops import while_
from .lowering import Lowering, plain_element, scalar_constant
from .overlaps import is_apart

_I64 = np.dtype(np.int64)
_F32 = np.dtype(np.float32)
_BOOL = np.dtype(np.bool_)
_FLAG = np.dtype(np.int32)
"""Type of 0/1 flags and of their counts, which all devices support."""
_CORNERS = 4

_EACH = ir.AffineMap.get_identity
_OWN, _OTHER = [0, 1, 2], [0, 1, 3]
"""Axes of pairs (batch, class, box, box) along which a tensor [batch, class, n] is read."""


def suppress_in_rounds(
    ctx: Lowering,
    boxes: ir.Value,
    order: ir.Value,
    candidates: ir.Value,
    limit: ir.Value,
    threshold: ir.Value,
    result: graph.TensorType,
) -> ir.Value:
    """Build the result [batch, class, n], i64, of `graph.non_max_suppression`."""
    rounds = _Rounds(ctx, result)
    corners = rounds.ranked_corners(boxes, order)
    first = rounds.candidates(candidates)

    def goes_on(kept: ir.Value, changes: ir.Value) -> ir.Value:
        del kept
        return changes

    def next_round(kept: ir.Value, changes: ir.Value) -> list[ir.Value]:
        del changes
        with ctx.scope():
            now = rounds.free(kept, first, corners, threshold)
            return [now, rounds.differ(kept, now)]

    kept, _ = while_([first, scalar_constant(True, _BOOL)], goes_on, next_round)
    return rounds.listed(kept, order, limit)


class _Rounds:
    """Loops over the boxes of all batches and classes, best first, and over pairs of boxes."""

    def __init__(self, ctx: Lowering, result: graph.TensorType):
        self.ctx, self.result = ctx, result
        self.flags = result.with_dtype(_FLAG)

    def ranked_corners(self, boxes: ir.Value, order: ir.Value) -> list[ir.Value]:
        """The four coordinates of all boxes in ranked order, each f32 [batch, class, n]."""
        type_ = self.result.with_dtype(_F32)

        def numbers(column: ir.Value) -> ir.Value:
            def element(box: ir.Value) -> ir.Value:
                row = arith.index_cast(ir.IndexType.get(), box)
                return tensor.extract(boxes, [loop_index(0), row, column])

            return parallel([order], [_EACH(3)], self.ctx.empty(type_), element)

        return [
            behind_barrier(self.ctx, numbers(self.ctx.index(i)), type_) for i in range(_CORNERS)
        ]

    def candidates(self, counts: ir.Value) -> ir.Value:
        """1 for the candidate boxes, the first `counts` [batch, class] ones, else 0."""

        def element(count: ir.Value) -> ir.Value:
            return _flag(_is_less(_position(2, _I64), count))

        empty = self.ctx.empty(self.flags)
        return behind_barrier(
            self.ctx, parallel([counts], [projection(3, [0, 1])], empty, element), self.flags
        )

    def free(
        self, kept: ir.Value, first: ir.Value, corners: list[ir.Value], threshold: ir.Value
    ) -> ir.Value:
        """`first`, with 0 for the boxes that overlap a better box in `kept`."""
        own, other = projection(4, _OWN), projection(4, _OTHER)
        maps = [other, *[own] * _CORNERS, *[other] * _CORNERS, projection(4, [])]

        def clash(kept: ir.Value, *rest: ir.Value) -> ir.Value:
            a, b, (threshold, found) = rest[:_CORNERS], rest[_CORNERS:-2], rest[-2:]
            apart = is_apart(a, b, threshold)
            better = _is_less(_position(3), _position(2))
            zero = scalar_constant(0, _FLAG)
            here = arith.select(arith.andi(better, _not(apart)), kept, zero)
            return arith.ori(found, here)

        clashes = self._over_pairs([kept, *corners, *corners, threshold], maps, clash)
        now = parallel(
            [first, clashes], [_EACH(3)] * 2, self.ctx.empty(self.flags),
            lambda first, clash: arith.andi(first, _flag(_is_zero(clash))),
        )  # fmt: skip
        return behind_barrier(self.ctx, now, self.flags)

    def differ(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """True (an i1 on the host) if two tensors of flags differ."""
        none = self.ctx.filled(graph.TensorType((), _FLAG), 0)
        (found,) = generic(
            [a, b], [_EACH(3)] * 2, [none], [projection(3, [])], ["reduction"] * 3,
            lambda a, b, found: arith.ori(found, arith.xori(a, b)),
        )  # fmt: skip
        return _not(_is_zero(tensor.extract(found, [])))

    def listed(self, kept: ir.Value, order: ir.Value, limit: ir.Value) -> ir.Value:
        """The `kept` boxes, at most `limit` per class, followed by -1."""
        other = projection(4, _OTHER)

        def count(kept: ir.Value, before: ir.Value) -> ir.Value:
            better = _is_less(_position(3), _position(2))
            return arith.addi(before, arith.select(better, kept, scalar_constant(0, _FLAG)))

        slots = behind_barrier(self.ctx, self._over_pairs([kept], [other], count), self.flags)

        def find(kept: ir.Value, slot: ir.Value, found: ir.Value) -> ir.Value:
            equal = arith.cmpi(arith.CmpIPredicate.eq, slot, _position(2))
            there = arith.andi(equal, _not(_is_zero(kept)))
            rank = arith.addi(_position(3), scalar_constant(1, _FLAG))
            return arith.addi(found, arith.select(there, rank, scalar_constant(0, _FLAG)))

        ranks = self._over_pairs([kept, slots], [other, other], find)
        return self._boxes(behind_barrier(self.ctx, ranks, self.flags), order, limit)

    def _boxes(self, ranks: ir.Value, order: ir.Value, limit: ir.Value) -> ir.Value:
        """The boxes of `ranks`, counted from 1; -1 for rank 0 and from slot `limit` on."""
        zero, none = self.ctx.index(0), scalar_constant(-1, _I64)

        def element(rank: ir.Value, limit: ir.Value) -> ir.Value:
            index = ir.IndexType.get()
            position = arith.index_cast(index, arith.subi(rank, scalar_constant(1, _FLAG)))
            inside = arith.maxsi(position, zero)
            box = tensor.extract(order, [loop_index(0), loop_index(1), inside])
            taken = arith.andi(_not(_is_zero(rank)), _is_less(_position(2, _I64), limit))
            return arith.select(taken, box, none)

        maps = [_EACH(3), projection(3, [])]
        return parallel([ranks, limit], maps, self.ctx.empty(self.result), element)

    def _over_pairs(self, inputs: list[ir.Value], maps: list[ir.AffineMap], body) -> ir.Value:
        """Reduce by `body`, beginning with 0, over all boxes for each box."""
        kinds = ["parallel"] * 3 + ["reduction"]
        zeros = self.ctx.filled(self.flags, 0)
        return generic(inputs, maps, [zeros], [projection(4, _OWN)], kinds, body)[0]


def _position(loop: int, dtype: np.dtype = _FLAG) -> ir.Value:
    """The position of `loop`, inside a body."""
    return arith.index_cast(plain_element(dtype), loop_index(loop))


def _is_less(a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.slt, a, b)


def _is_zero(a: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.eq, a, arith.constant(a.type, 0))


def _not(condition: ir.Value) -> ir.Value:
    return arith.xori(condition, scalar_constant(True, _BOOL))


def _flag(condition: ir.Value) -> ir.Value:
    return arith.extui(plain_element(_FLAG), condition)
