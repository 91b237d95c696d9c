"""A kernel for the interpolation of f32 along one axis, a vector at a time.

If the inner axes hold whole vectors, a line of the result is a weighted sum of lines of the input.
Otherwise the last two axes form one row, and each vector of it gathers its elements from the
input's row; positions and weights are read once for all rows of a workgroup.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mlir import arith, ir, memref, vector
from .emitter import Registers, VectorEmitter
from .sizes import Index, index, product

LANES = 16
"""Elements in a vector; CPUs with narrower registers use several for one."""

_WORKGROUP = 16384
"""Approximate number of result elements in a workgroup."""


Sizes = tuple[Index, Index, Index, Index]
"""Outer axes, extent, size, and inner axes."""


@dataclass(frozen=True)
class Interpolation:
    """Interpolation of x [outer, extent, inner] to [outer, size, inner], by positions and weights
    [size, taps]. Sizes are None if they are known only at run time."""

    outer: int | None
    extent: int | None
    size: int | None
    inner: int | None
    taps: int

    flops = None

    @property
    def gathers(self) -> bool:
        """True if the inner axes are known to be too short for vectors."""
        return self.inner is not None and self.inner < LANES

    def sizes(self, dynamic: Sequence[ir.Value]) -> Sizes:
        """Outer axes, extent, size and inner axes, those that are not known from `dynamic`."""
        left = iter(dynamic)
        known = (self.outer, self.extent, self.size, self.inner)
        outer, extent, size, inner = (next(left) if n is None else n for n in known)
        return outer, extent, size, inner

    def lines(self, sizes: Sizes) -> Index:
        """Lines to distribute: rows [size, inner] if it gathers, else lines [inner]."""
        outer, _, size, _ = sizes
        return outer if self.gathers else product(outer, size)

    def chunk(self, sizes: Sizes) -> Index:
        """Lines in a workgroup."""
        _, _, size, inner = sizes
        length, lines = product(size, inner) if self.gathers else inner, self.lines(sizes)
        if isinstance(length, int):
            wanted = max(1, _WORKGROUP // max(1, length))
            return min(lines, wanted) if isinstance(lines, int) else wanted
        some = arith.maxui(length, index(1))
        return arith.maxui(arith.divui(index(_WORKGROUP), some), index(1))

    @property
    def workgroups(self) -> int:
        """Workgroups, if all sizes are known."""
        sizes = self.sizes(())
        lines, chunk = self.lines(sizes), self.chunk(sizes)
        assert isinstance(lines, int)
        assert isinstance(chunk, int)
        return -(-lines // chunk)

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups for the sizes that are `dynamic`."""
        sizes = self.sizes(dynamic)
        return arith.ceildivui(index(self.lines(sizes)), index(self.chunk(sizes)))


@dataclass(frozen=True)
class InterpolationMemory:
    """The flat buffers of a kernel."""

    x: ir.Value
    indices: ir.Value
    weights: ir.Value
    result: ir.Value


class InterpolationEmitter(VectorEmitter):
    """Emits the kernel of an `Interpolation`."""

    def __init__(self, shape: Interpolation, memory: InterpolationMemory):
        super().__init__(LANES)
        self._shape = shape
        self._memory = memory

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for the sizes that are `dynamic`."""
        shape = self._shape
        self._sizes = sizes = shape.sizes(dynamic)
        _, _, size, inner = sizes
        chunk = shape.chunk(sizes)
        first = self.times(workgroup_id, chunk)
        end = arith.minsi(self.add(first, self.index(chunk)), self.index(shape.lines(sizes)))
        if not shape.gathers:
            self.repeat(first, end, self._line)
            return
        row = product(size, inner)
        self._vectors(row, lambda at, mask: self._gathered(at, mask, first, end))

    def _vectors(self, length: Index, body: Callable[[ir.Value, ir.Value | None], None]) -> None:
        """Emit `body` for each vector of a row, given its offset and its mask, None for all
        lanes."""

        def run(at: ir.Value, registers: Registers) -> Registers:
            body(at, None)
            return registers

        if isinstance(length, int):
            whole = length // LANES * LANES
            if whole:
                self.loop((self.index(0), self.index(whole)), [], run, step=LANES)
            if whole != length:
                body(self.index(whole), self.first_lanes(length - whole))
            return
        rest = arith.remui(length, self.index(LANES))
        end = arith.subi(length, rest)
        self.loop((self.index(0), end), [], run, step=LANES)
        body(end, self.lanes_below(rest))

    def _line(self, line: ir.Value) -> None:
        """Emit a line of the result: a weighted sum of lines of x."""
        shape, memory = self._shape, self._memory
        _, extent, size, inner = self._sizes
        before = arith.divui(line, self.index(size))
        at = arith.subi(line, self.times(before, size))
        last = self.add(self.index(extent), -1)
        starts, factors = [], []
        for tap in range(shape.taps):
            entry = self.add(self.times(at, shape.taps), tap)
            place = arith.index_cast(ir.IndexType.get(), memref.load(memory.indices, [entry]))
            place = arith.maxsi(arith.minsi(place, last), self.index(0))
            row = arith.addi(self.times(before, extent), place)
            starts.append(self.times(row, inner))
            weight = memref.load(memory.weights, [entry])
            factors.append(vector.broadcast(self.vector_type, weight))
        target = self.times(line, inner)

        def add(behind: ir.Value, mask: ir.Value | None) -> None:
            lines = [self.load(memory.x, arith.addi(start, behind), mask) for start in starts]
            self.store(self._sum(lines, factors), memory.result, arith.addi(target, behind), mask)

        self._vectors(inner, add)

    def _gathered(
        self, at: ir.Value, mask: ir.Value | None, first: ir.Value, end: ir.Value
    ) -> None:
        """Emit one vector of each row in [`first`, `end`)."""
        shape, memory = self._shape, self._memory
        _, extent, size, inner = self._sizes
        entries, behind = self._entries(at, mask)
        every = self._every() if mask is None else mask
        elements, factors = [], []
        for tap in range(shape.taps):
            entry = arith.addi(entries, self._indices(tap))
            integer = ir.MemRefType(memory.indices.type).element_type
            indices = self._gather(memory.indices, self.index(0), entry, every, integer)
            indices = arith.index_cast(self._index_vector, indices)
            last = self._spread(self.add(self.index(extent), -1))
            indices = arith.maxsi(arith.minsi(indices, last), self._indices(0))
            elements.append(arith.addi(arith.muli(indices, self._spread(inner)), behind))
            f32 = ir.F32Type.get()
            factors.append(self._gather(memory.weights, self.index(0), entry, every, f32))

        def row(line: ir.Value) -> None:
            start = self.times(line, product(extent, inner))
            found = [
                self._gather(memory.x, start, element, every, ir.F32Type.get())
                for element in elements
            ]
            target = arith.addi(self.times(line, product(size, inner)), at)
            self.store(self._sum(found, factors), memory.result, target, mask)

        self.repeat(first, end, row)

    def _entries(self, at: ir.Value, mask: ir.Value | None) -> tuple[ir.Value, ir.Value]:
        """For each lane of a vector of the row: the start of its positions, and its offset within
        the inner axes. Masked-off lanes are those of element 0."""
        shape = self._shape
        lane = vector.broadcast(self._index_vector, at)
        lane = arith.addi(lane, self._constant(np.arange(LANES)))
        if mask is not None:
            lane = arith.select(mask, lane, self._indices(0))
        if shape.inner == 1:
            return arith.muli(lane, self._indices(shape.taps)), self._indices(0)
        assert shape.inner is not None
        inner = self._indices(shape.inner)
        position = arith.divui(lane, inner)
        behind = arith.subi(lane, arith.muli(position, inner))
        return arith.muli(position, self._indices(shape.taps)), behind

    def _sum(self, values: Registers, factors: Registers) -> ir.Value:
        total = arith.mulf(values[0], factors[0])
        for value, factor in zip(values[1:], factors[1:], strict=True):
            total = vector.fma(value, factor, total)
        return total

    def _gather(
        self, source: ir.Value, start: ir.Value, at: ir.Value, mask: ir.Value, element: ir.Type
    ) -> ir.Value:
        type_ = ir.VectorType.get([LANES], element)
        zero = ir.DenseElementsAttr.get_splat(type_, _zero(element))
        return vector.gather(type_, source, [start], at, mask, arith.constant(type_, zero))

    @property
    def _index_vector(self) -> ir.VectorType:
        return ir.VectorType.get([LANES], ir.IndexType.get())

    def _indices(self, value: int) -> ir.Value:
        return self._constant(np.full(LANES, value))

    def _spread(self, value: Index) -> ir.Value:
        if isinstance(value, int):
            return self._indices(value)
        return vector.broadcast(self._index_vector, value)

    def _constant(self, values: np.ndarray) -> ir.Value:
        type_ = self._index_vector
        return arith.constant(type_, ir.DenseElementsAttr.get(values.astype(np.int64), type=type_))

    def _every(self) -> ir.Value:
        type_ = ir.VectorType.get([LANES], ir.IntegerType.get_signless(1))
        return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, ir.BoolAttr.get(True)))


def _zero(element: ir.Type) -> Any:
    if isinstance(element, ir.F32Type):
        return ir.FloatAttr.get_f32(0)
    return ir.IntegerAttr.get(element, 0)
