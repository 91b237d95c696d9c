"""Reading weights of few bits from a panel, into registers."""

from dataclasses import dataclass

from ...dialects import graph
from ...mlir import arith, ir, llvm, vector
from .emitter import Registers, VectorEmitter

_TABLE_LANES = 16
"""Entries of the table that VPERMPS looks up."""


@dataclass(frozen=True)
class NbitsReader:
    """Emits reads of panels of `layout` in `memory`, with the vectors of `emit`. In a panel, they
    read `parts` vectors of columns, from vector `first` on."""

    emit: VectorEmitter
    memory: ir.Value
    layout: graph.NbitsFormat
    parts: int
    first: ir.Value

    @property
    def _looks_up(self) -> bool:
        """True if one instruction looks up what a field of bits stands for."""
        return self.layout.bits <= 4 and self.emit.lanes == _TABLE_LANES

    def words(self, block: ir.Value, line: ir.Value) -> Registers:
        """A line of the block that starts at `block`."""
        emit = self.emit
        start = emit.add(block, emit.times(line, self.layout.nr))
        start = emit.add(start, emit.times(self.first, emit.lanes))
        return [
            emit.load(self.memory, emit.add(start, part * emit.lanes)) for part in range(self.parts)
        ]

    def integers(self, words: ir.Value, number: int) -> ir.Value:
        """The integers number `number` of words, as f32."""
        emit, layout, i32 = self.emit, self.layout, ir.IntegerType.get_signless(32)
        first = layout.bit(number)
        if self._looks_up:
            indices = arith.shrui(words, emit.splat(first, element=i32)) if first else words
            name = "llvm.x86.avx512.permvar.sf.512"
            return llvm.call_intrinsic(emit.vector_type, name, [self._table, indices], [], [])
        rest = 32 - layout.bits - first
        top = arith.shli(words, emit.splat(rest, element=i32)) if rest else words
        q = arith.shrsi(top, emit.splat(32 - layout.bits, element=i32))
        if layout.offset:
            q = arith.addi(q, emit.splat(layout.offset, element=i32))
        return arith.sitofp(emit.vector_type, q)

    @property
    def _table(self) -> ir.Value:
        """The floats that the lowest four bits of a word stand for."""
        layout, type_ = self.layout, self.emit.vector_type
        half = 1 << (layout.bits - 1)
        fields = [index % (2 * half) for index in range(_TABLE_LANES)]
        values = [float((q + half) % (2 * half) - half + layout.offset) for q in fields]
        attributes = [ir.FloatAttr.get(self.emit.element, value) for value in values]
        return arith.constant(type_, ir.DenseElementsAttr.get(attributes, type_))

    def scales(self, block: ir.Value) -> Registers:
        """The scales of the block that starts at `block`, as f32."""
        start = self.emit.add(block, self.layout.lines * self.layout.nr)
        return [self._scale(start, part) for part in range(self.parts)]

    def zeros(self, block: ir.Value) -> Registers:
        """The zero points of a block, as f32; none if there are none."""
        if not self.layout.zeros:
            return []
        start = self.emit.add(block, self.layout.lines * self.layout.nr + self.layout.scale_words)
        return [self._scale(start, part) for part in range(self.parts)]

    def _scale(self, start: ir.Value, part: int) -> ir.Value:
        emit, is_half = self.emit, self.layout.scales == "f16"
        words = emit.lanes // 2 if is_half else emit.lanes
        at = emit.add(start, emit.times(emit.add(self.first, part), words))
        values = emit.load(self.memory, at, lanes=words)
        if not is_half:
            return vector.bitcast(emit.vector_type, values)
        half = ir.VectorType.get([emit.lanes], ir.F16Type.get())
        return arith.extf(emit.vector_type, vector.bitcast(half, values))

    def scaling(self, block: ir.Value, exact: bool) -> "Scaling":
        """How the integers of a block become weights; rounded as in the model if `exact`."""
        scales, zeros = self.scales(block), self.zeros(block)
        if exact or not zeros:
            return Scaling(scales, zeros, [])
        products = [arith.mulf(zero, scale) for zero, scale in zip(zeros, scales, strict=True)]
        return Scaling(scales, zeros, [arith.negf(product) for product in products])


@dataclass(frozen=True)
class Scaling:
    """Scales and zero points of a block; `shifts` are the products of both, negated, if a weight
    may be one multiply-add."""

    scales: Registers
    zeros: Registers
    shifts: Registers

    def weight(self, integers: ir.Value, part: int) -> ir.Value:
        """The weights of vector `part` of the columns."""
        if self.shifts:
            return vector.fma(integers, self.scales[part], self.shifts[part])
        if self.zeros:
            integers = arith.subf(integers, self.zeros[part])
        return arith.mulf(integers, self.scales[part])
