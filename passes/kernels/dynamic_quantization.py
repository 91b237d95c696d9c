"""Quantization to u8 over the range of a tensor (ONNX DynamicQuantizeLinear).

Workgroups find the ranges of parts of the tensor. Those of a second kernel combine them to the
scale and the zero point, each for itself, and quantize. A small tensor has one workgroup, which
does both.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref, vector
from .emitter import Registers, VectorEmitter
from .range_quantization import broadcast_as, scale_and_zero_point, steps_from_zero_point
from .scalar_functions import with_element
from .sizes import index

MOST_PARTS = 16
"""Parts of a tensor, at most."""
ELEMENTS = 1 << 14
"""Elements of a part, at least: as many as a thread reads while another one wakes."""

_UNROLL = 4
"""Vectors that a step of a loop reads."""

Range = tuple[ir.Value, ir.Value]
"""The smallest and the largest number of some, and 0."""


@dataclass(frozen=True)
class DynamicQuantizationShape:
    """A tensor of `elements`, by vectors of `lanes`."""

    elements: int | Dim
    lanes: int

    flops = 0

    @property
    def is_whole(self) -> bool:
        """True if one workgroup does it all."""
        return isinstance(self.elements, int) and self.workgroups == 1

    @property
    def workgroups(self) -> int:
        """The parts of a tensor of known size."""
        assert isinstance(self.elements, int)
        return min(max(self.elements // ELEMENTS, 1), MOST_PARTS)

    def count_workgroups(self, elements: ir.Value) -> ir.Value:
        """The parts of a tensor of `elements`."""
        wanted = arith.maxui(arith.divui(elements, index(ELEMENTS)), index(1))
        return arith.minui(wanted, index(MOST_PARTS))


class _PartsEmitter(VectorEmitter):
    """Emits what both kernels do with the part of a workgroup."""

    def __init__(self, shape: DynamicQuantizationShape, source: ir.Value):
        super().__init__(shape.lanes)
        self.shape, self.source = shape, source
        self.step = shape.lanes * _UNROLL

    def bounds(self, workgroup_id: ir.Value, elements: tuple[ir.Value, ...]) -> Range:
        """The first element of a part, and that behind it. `elements` are those of the tensor, if
        their number is dynamic."""
        total, count = self._total(elements), self.count(elements)
        if self.shape.is_whole:
            return self.index(0), total
        first = arith.divui(arith.muli(workgroup_id, total), count)
        return first, arith.divui(arith.muli(self.add(workgroup_id, 1), total), count)

    def count(self, elements: tuple[ir.Value, ...]) -> ir.Value:
        """The number of parts."""
        if elements:
            return self.shape.count_workgroups(*elements)
        return self.index(self.shape.workgroups)

    def _total(self, elements: tuple[ir.Value, ...]) -> ir.Value:
        if elements:
            return elements[0]
        assert isinstance(self.shape.elements, int)
        return self.index(self.shape.elements)

    def each(
        self,
        bounds: Range,
        registers: Registers,
        several: Callable[[ir.Value, Registers], Registers],
        single: Callable[[ir.Value, Registers], Registers],
    ) -> Registers:
        """Emit `several` for steps of vectors, or `single` for the elements of a part that is
        shorter than one. The last step begins in the one before it: doing an element twice has the
        effect of doing it once."""
        first, end = bounds
        is_long = arith.cmpi(arith.CmpIPredicate.uge, arith.subi(end, first), self.index(self.step))

        def in_steps() -> Registers:
            last = arith.subi(end, self.index(self.step))
            found = self.loop((first, last), registers, several, self.step)
            return several(last, found)

        def one_by_one() -> Registers:
            return self.loop(bounds, registers, single)

        types = [register.type for register in registers]
        return self.branch(is_long, types, in_steps, one_by_one)

    def find_range(self, bounds: Range) -> Range:
        """The range of the elements within `bounds`, and 0."""
        zero = self.splat(0)

        def several(at: ir.Value, found: Registers) -> Registers:
            loaded = self.load_all(self.source, at, [self.lanes] * _UNROLL)
            low = list(map(arith.minimumf, loaded, found[:_UNROLL]))
            return [*low, *map(arith.maximumf, loaded, found[_UNROLL:])]

        def single(at: ir.Value, found: Registers) -> Registers:
            loaded = vector.broadcast(self.vector_type, memref.load(self.source, [at]))
            low, high = found[0], found[_UNROLL]
            found = list(found)
            found[0], found[_UNROLL] = arith.minimumf(loaded, low), arith.maximumf(loaded, high)
            return found

        found = self.each(bounds, [zero] * 2 * _UNROLL, several, single)
        low, high = found[:_UNROLL], found[_UNROLL:]
        return self._combine_all(low, arith.minimumf), self._combine_all(high, arith.maximumf)

    def _combine_all(self, vectors: Registers, combine: Callable[..., ir.Value]) -> ir.Value:
        """The combined elements of `vectors`."""
        while len(vectors) > 1:
            vectors = list(map(combine, vectors[::2], vectors[1::2]))
        return self.across(vectors[0], combine)


class RangeEmitter(_PartsEmitter):
    """Emits the kernel that finds the ranges of the parts of `source`: the lower ends are in
    `ranges`, the upper ends behind `MOST_PARTS` elements."""

    def __init__(self, shape: DynamicQuantizationShape, source: ir.Value, ranges: ir.Value):
        super().__init__(shape, source)
        self.ranges = ranges

    def workgroup(self, workgroup_id: ir.Value, *elements: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        low, high = self.find_range(self.bounds(workgroup_id, elements))
        memref.store(low, self.ranges, [workgroup_id])
        memref.store(high, self.ranges, [self.add(workgroup_id, MOST_PARTS)])


class DynamicQuantizationEmitter(_PartsEmitter):
    """Emits the kernel that quantizes `source`. There are no `ranges` where one workgroup does it
    all."""

    def __init__(
        self,
        shape: DynamicQuantizationShape,
        source: ir.Value,
        ranges: ir.Value | None,
        quantized: ir.Value,
        scale: ir.Value,
        zero_point: ir.Value,
    ):
        super().__init__(shape, source)
        self.ranges, self.quantized = ranges, quantized
        self.scale, self.zero_point = scale, zero_point

    def workgroup(self, workgroup_id: ir.Value, *elements: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        bounds = self.bounds(workgroup_id, elements)
        if self.ranges is None:
            low, high = self.find_range(bounds)
        else:
            low, high = self._combined(self.ranges, self.count(elements))
        scale, zero = scale_and_zero_point(low, high)
        is_first = self.compare(arith.CmpIPredicate.eq, workgroup_id, 0)
        self.choose(is_first, lambda: self._store_parameters(scale, zero), lambda: None)
        self._quantize(bounds, scale, zero)

    def _combined(self, ranges: ir.Value, count: ir.Value) -> Range:
        """The range of all parts."""

        def part(number: ir.Value, found: Registers) -> Registers:
            low = memref.load(ranges, [number])
            high = memref.load(ranges, [self.add(number, MOST_PARTS)])
            return [arith.minimumf(low, found[0]), arith.maximumf(high, found[1])]

        zero = arith.constant(self.element, 0.0)
        low, high = self.loop((self.index(0), count), [zero, zero], part)
        return low, high

    def _store_parameters(self, scale: ir.Value, zero: ir.Value) -> None:
        byte = ir.MemRefType(self.zero_point.type).element_type
        memref.store(scale, self.scale, [self.index(0)])
        memref.store(arith.trunci(byte, zero), self.zero_point, [self.index(0)])

    def _quantize(self, bounds: Range, scale: ir.Value, zero: ir.Value) -> None:
        """Emit ``saturate(round(x / scale) + zero)``."""
        element = ir.MemRefType(self.quantized.type).element_type

        def quantized(x: ir.Value) -> ir.Value:
            steps = steps_from_zero_point(x, scale, zero)
            integers = arith.addi(steps, broadcast_as(x, zero))
            return arith.trunci(with_element(x, element), integers)

        def several(at: ir.Value, registers: Registers) -> Registers:
            loaded = self.load(self.source, at, lanes=self.step)
            vector.store(quantized(loaded), self.quantized, [at])
            return registers

        def single(at: ir.Value, registers: Registers) -> Registers:
            memref.store(quantized(memref.load(self.source, [at])), self.quantized, [at])
            return registers

        self.each(bounds, [], several, single)
