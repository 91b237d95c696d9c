"""Sizes of the kernel for elementwise ops whose operands are broadcast at run time, or repeated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...mlir import arith, ir
from .sizes import Index, index, product

LANES = 16
"""Elements in a vector of f32; CPUs with narrower registers use several for one. An element of a
row is repeated as often as divides it."""
VECTOR_BYTES = 4 * LANES
"""Bytes of a vector of narrower elements."""

SEGMENT = 16384
"""Elements of a longer row that are computed at a time, and approximately those of a workgroup."""

SHORT_VECTORS = 8
"""Vectors of a row below which it pays to find out at run time that rows are contiguous."""


@dataclass(frozen=True)
class DynamicSize:
    """A size that is known only at run time: the scalar `number` of the kernel."""

    number: int


Extent = int | DynamicSize


@dataclass(frozen=True)
class AxisAccess:
    """The positions of an operand along an axis of the result.

    ``whole``: all of them; ``one``: the only one; ``either``: one of both, decided at run time.
    Each element is read `repeats` times in a row.
    """

    kind: Literal["whole", "one", "either"]
    repeats: int = 1

    @property
    def is_plain(self) -> bool:
        """True if adjacent axes that are read like this are read as one axis."""
        return self.kind != "either" and self.repeats == 1


@dataclass(frozen=True)
class BroadcastOperand:
    """The sizes of an operand, and its access along each axis of the result."""

    extents: tuple[Extent, ...]
    accesses: tuple[AxisAccess, ...]


@dataclass(frozen=True)
class BroadcastSizes:
    """The sizes of a result and of its operands in one run, its rows last."""

    result: tuple[Index, ...]
    operands: tuple[tuple[Index, ...], ...]

    @property
    def length(self) -> Index:
        """The elements of a row."""
        return self.result[-1]

    @property
    def segments(self) -> Index:
        """Segments of a row."""
        if isinstance(self.length, int):
            return -(-self.length // SEGMENT)
        return arith.ceildivui(self.length, index(SEGMENT))

    @property
    def chunk(self) -> ir.Value:
        """Lines in a workgroup; the last may have fewer."""
        if isinstance(self.length, int):
            return index(static_chunk(self.length))
        some = arith.maxui(arith.minui(self.length, index(SEGMENT)), index(1))
        return arith.divui(index(SEGMENT), some)

    @property
    def lines(self) -> ir.Value:
        """Lines to distribute: segments of rows."""
        total = self.segments
        for size in self.result[:-1]:
            total = product(total, size)
        return index(total)

    def merged(self, axis: int, condition: ir.Value) -> "BroadcastSizes":
        """These sizes with `axis` as part of the rows if `condition` holds."""

        def merge(sizes: tuple[Index, ...]) -> tuple[Index, ...]:
            *outer, length = map(index, sizes)
            whole = arith.muli(outer[axis], length)
            outer[axis] = arith.select(condition, index(1), outer[axis])
            return (*outer, arith.select(condition, whole, length))

        return replace(self, result=merge(self.result), operands=tuple(map(merge, self.operands)))


@dataclass(frozen=True)
class BroadcastRows:
    """A result of these `extents`, its rows last, and its operands in memory, computed in vectors
    of so many `lanes`. Rows end with masked vectors, if these are fast for the element types."""

    extents: tuple[Extent, ...]
    operands: tuple[BroadcastOperand, ...]
    lanes: int = LANES
    masked: bool = True

    flops = None

    @property
    def workgroups(self) -> int:
        """Workgroups, if all sizes are known."""
        *outer, length = self.extents
        assert isinstance(length, int)
        lines = math.prod(size for size in outer if isinstance(size, int))
        return -(-lines * -(-length // SEGMENT) // static_chunk(length))

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups for the sizes that are `dynamic`."""
        sizes = self.sizes(dynamic)
        return arith.ceildivui(sizes.lines, sizes.chunk)

    def sizes(self, dynamic: Sequence[ir.Value]) -> BroadcastSizes:
        """The sizes of a run, given those that are `dynamic`.

        Axes in front of short rows become part of the rows if all operands turn out to be
        contiguous along them, or to have one element.
        """

        def known(extents: Sequence[Extent]) -> tuple[Index, ...]:
            return tuple(n if isinstance(n, int) else dynamic[n.number] for n in extents)

        sizes = BroadcastSizes(known(self.extents), tuple(known(x.extents) for x in self.operands))
        if self._has_short_rows and self._may_merge(len(self.extents) - 1):
            merges = None
            for axis in reversed(range(len(self.extents) - 1)):
                if not self._may_merge(axis):
                    break
                joins = self._joins(sizes, axis)
                merges = joins if merges is None else arith.andi(merges, joins)
                sizes = sizes.merged(axis, merges)
        return sizes

    @property
    def _has_short_rows(self) -> bool:
        length = self.extents[-1]
        return isinstance(length, DynamicSize) or length < SHORT_VECTORS * self.lanes

    def _may_merge(self, axis: int) -> bool:
        """Return whether operands may be contiguous from `axis` to the end of rows."""
        return all(
            each.accesses[axis].repeats == 1
            and {each.accesses[axis].kind, each.accesses[-1].kind} != {"whole", "one"}
            for each in self.operands
        )

    def _joins(self, sizes: BroadcastSizes, axis: int) -> ir.Value:
        """Return whether `axis` and the rows of `sizes` are read as one axis."""

        def equal(a: Index, b: Index) -> ir.Value:
            return arith.cmpi(arith.CmpIPredicate.eq, index(a), index(b))

        joins = equal(1, 1)
        for operand, own in zip(self.operands, sizes.operands, strict=True):
            kinds = {operand.accesses[at].kind for at in (axis, -1)}
            ones = arith.andi(equal(own[axis], 1), equal(own[-1], 1))
            whole = arith.andi(
                equal(own[axis], sizes.result[axis]), equal(own[-1], sizes.result[-1])
            )
            if "one" in kinds:
                joins = arith.andi(joins, ones)
            else:
                both = whole if "whole" in kinds else arith.ori(whole, ones)
                joins = arith.andi(joins, both)
        return joins


def static_chunk(length: int) -> int:
    """Lines of `length` elements in a workgroup."""
    return max(1, SEGMENT // max(1, length))
