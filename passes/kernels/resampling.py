"""A kernel for the interpolation of f32 along one axis, a vector at a time.

If the inner axes hold whole vectors, a line of the result is a weighted sum of lines of the input.
Otherwise the last two axes form one row, and each vector of it gathers its elements from the
input's row; positions and weights are read once for all rows of a workgroup.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mlir import arith, ir, memref, vector
from .emitter import Registers, VectorEmitter

LANES = 16
"""Elements in a vector; CPUs with narrower registers use several for one."""

_WORKGROUP = 16384
"""Approximate number of result elements in a workgroup."""


@dataclass(frozen=True)
class Interpolation:
    """Interpolation of x [outer, extent, inner] to [outer, size, inner], by positions and weights
    [size, taps]."""

    outer: int
    extent: int
    size: int
    inner: int
    taps: int

    @property
    def gathers(self) -> bool:
        """True if the inner axes are too short for vectors."""
        return self.inner < LANES

    @property
    def lines(self) -> int:
        """Lines to distribute: rows [size, inner] if it gathers, else lines [inner]."""
        return self.outer if self.gathers else self.outer * self.size

    @property
    def chunk(self) -> int:
        """Lines in a workgroup."""
        length = self.size * self.inner if self.gathers else self.inner
        return min(self.lines, max(1, _WORKGROUP // length))

    @property
    def workgroups(self) -> int:
        return -(-self.lines // self.chunk)


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

    def workgroup(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        shape = self._shape
        first = self.times(workgroup_id, shape.chunk)
        end = arith.minsi(self.add(first, shape.chunk), self.index(shape.lines))
        if not shape.gathers:
            self.repeat(first, end, self._line)
            return
        self._vectors(
            shape.size * shape.inner, lambda at, mask: self._gathered(at, mask, first, end)
        )

    def _vectors(self, length: int, body: Callable[[ir.Value, ir.Value | None], None]) -> None:
        """Emit `body` for each vector of a row, given its offset and its mask, None for all
        lanes."""
        whole = length // LANES * LANES

        def run(at: ir.Value, registers: Registers) -> Registers:
            body(at, None)
            return registers

        if whole:
            self.loop((self.index(0), self.index(whole)), [], run, step=LANES)
        if whole != length:
            body(self.index(whole), self.first_lanes(length - whole))

    def _line(self, line: ir.Value) -> None:
        """Emit a line of the result: a weighted sum of lines of x."""
        shape, memory = self._shape, self._memory
        before = arith.divui(line, self.index(shape.size))
        at = arith.subi(line, self.times(before, shape.size))
        starts, factors = [], []
        for tap in range(shape.taps):
            entry = self.add(self.times(at, shape.taps), tap)
            index = arith.index_cast(ir.IndexType.get(), memref.load(memory.indices, [entry]))
            index = arith.maxsi(arith.minsi(index, self.index(shape.extent - 1)), self.index(0))
            row = arith.addi(self.times(before, shape.extent), index)
            starts.append(self.times(row, shape.inner))
            weight = memref.load(memory.weights, [entry])
            factors.append(vector.broadcast(self.vector_type, weight))
        target = self.times(line, shape.inner)

        def add(behind: ir.Value, mask: ir.Value | None) -> None:
            lines = [self.load(memory.x, arith.addi(start, behind), mask) for start in starts]
            self.store(self._sum(lines, factors), memory.result, arith.addi(target, behind), mask)

        self._vectors(shape.inner, add)

    def _gathered(
        self, at: ir.Value, mask: ir.Value | None, first: ir.Value, end: ir.Value
    ) -> None:
        """Emit one vector of each row in [`first`, `end`)."""
        shape, memory = self._shape, self._memory
        entries, behind = self._entries(at, mask)
        every = self._every() if mask is None else mask
        elements, factors = [], []
        for tap in range(shape.taps):
            entry = arith.addi(entries, self._indices(tap))
            integer = ir.MemRefType(memory.indices.type).element_type
            indices = self._gather(memory.indices, self.index(0), entry, every, integer)
            indices = arith.index_cast(self._index_vector, indices)
            last = self._indices(shape.extent - 1)
            indices = arith.maxsi(arith.minsi(indices, last), self._indices(0))
            elements.append(arith.addi(arith.muli(indices, self._indices(shape.inner)), behind))
            f32 = ir.F32Type.get()
            factors.append(self._gather(memory.weights, self.index(0), entry, every, f32))

        def row(line: ir.Value) -> None:
            start = self.times(line, shape.extent * shape.inner)
            found = [
                self._gather(memory.x, start, element, every, ir.F32Type.get())
                for element in elements
            ]
            target = arith.addi(self.times(line, shape.size * shape.inner), at)
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
