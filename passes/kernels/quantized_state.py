"""The output of recurrent cells, quantized to 8 bits between two steps.

A step leaves the range of each panel of its output. The next one begins with a phase in which every
panel is quantized over the range of all panels of its sequence, as `graph.dynamic_quantize` does
it; the recurrence is then multiplied as integers, or as floats by what the integers stand for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, memref
from .emitter import Registers, VectorEmitter
from .range_quantization import broadcast_as, scale_and_zero_point, steps_from_zero_point


@dataclass(frozen=True)
class QuantizedStateMemory:
    """The buffers of the states of N sequences: `ranges` [N, 2 * panels + 2], f32, the smallest and
    the largest element of each panel, then the scale and the zero point; `values` [N, stride], the
    integers, of i8, or the floats that they stand for."""

    ranges: ir.Value
    values: ir.Value

    @property
    def holds_integers(self) -> bool:
        """True if the values are multiplied as integers."""
        return isinstance(ir.MemRefType(self.values.type).element_type, ir.IntegerType)


class StateQuantizer:
    """Emits the quantization of states of `panels` panels, a sequence of which takes `stride`
    elements of memory."""

    def __init__(
        self, emitter: VectorEmitter, panels: int, stride: int, memory: QuantizedStateMemory
    ):
        self.emitter, self.panels, self.stride, self.memory = emitter, panels, stride, memory

    def note_range(
        self, row: ir.Value, panel: ir.Value, values: Registers, masks: Sequence[ir.Value | None]
    ) -> None:
        """Store the range of a panel of sequence `row`, and 0, whose vectors are `values`."""
        zeros = self.emitter.splat(0)
        filled = [
            value if mask is None else arith.select(mask, value, zeros)
            for value, mask in zip(values, masks, strict=True)
        ]
        at = arith.addi(self._ranges(row), self.emitter.times(panel, 2))
        for offset, extreme in enumerate((arith.minimumf, arith.maximumf)):
            total = zeros
            for value in filled:
                total = extreme(total, value)
            end = self.emitter.across(total, extreme)
            memref.store(end, self.memory.ranges, [self.emitter.add(at, offset)])

    def quantize(
        self,
        row: ir.Value,
        panel: ir.Value,
        element: ir.Value,
        state: Registers,
        masks: Sequence[ir.Value | None],
    ) -> None:
        """Quantize a panel of sequence `row`, which begins at `element` of its state."""
        emitter = self.emitter
        scale, zero = self._scale(row)
        is_first = emitter.compare(arith.CmpIPredicate.eq, panel, 0)
        emitter.choose(is_first, lambda: self._store_scale(row, scale, zero), lambda: None)
        start = arith.addi(emitter.times(row, self.stride), element)
        for part, (x, mask) in enumerate(zip(state, masks, strict=True)):
            at = emitter.add(start, part * emitter.lanes)
            emitter.store(self._quantized(x, scale, zero), self.memory.values, at, mask)

    def scale_of(self, row: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The scale of sequence `row`, and its zero point, an i32."""
        at = self._scale_place(row)
        scale, zero = (
            memref.load(self.memory.ranges, [self.emitter.add(at, offset)]) for offset in range(2)
        )
        return scale, arith.fptosi(ir.IntegerType.get_signless(32), zero)

    def _scale(self, row: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The scale and the zero point, an i32, of sequence `row` by the ranges of its panels."""
        emitter, start = self.emitter, self._ranges(row)

        def of_panel(panel: ir.Value, found: Registers) -> Registers:
            at = arith.addi(start, emitter.times(panel, 2))
            low = memref.load(self.memory.ranges, [at])
            high = memref.load(self.memory.ranges, [emitter.add(at, 1)])
            return [arith.minimumf(found[0], low), arith.maximumf(found[1], high)]

        zero = arith.constant(emitter.element, 0.0)
        bounds = emitter.index(0), emitter.index(self.panels)
        low, high = emitter.loop(bounds, [zero, zero], of_panel)
        return scale_and_zero_point(low, high)

    def _quantized(self, x: ir.Value, scale: ir.Value, zero: ir.Value) -> ir.Value:
        """The integers of `x`, or the floats that they stand for."""
        steps = steps_from_zero_point(x, scale, zero)
        if not self.memory.holds_integers:
            return arith.mulf(arith.sitofp(x.type, steps), broadcast_as(x, scale))
        byte = ir.MemRefType(self.memory.values.type).element_type
        integers = arith.addi(steps, broadcast_as(x, zero))
        return arith.trunci(self.emitter.vector_of(self.emitter.lanes, byte), integers)

    def _store_scale(self, row: ir.Value, scale: ir.Value, zero: ir.Value) -> None:
        at = self._scale_place(row)
        for offset, value in enumerate((scale, arith.sitofp(scale.type, zero))):
            memref.store(value, self.memory.ranges, [self.emitter.add(at, offset)])

    def _ranges(self, row: ir.Value) -> ir.Value:
        return self.emitter.times(row, 2 * self.panels + 2)

    def _scale_place(self, row: ir.Value) -> ir.Value:
        return self.emitter.add(self._ranges(row), 2 * self.panels)
