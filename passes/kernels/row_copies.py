"""Copies of consecutive elements, between buffers that do not overlap."""

from ...mlir import arith, ir, memref
from .emitter import VectorEmitter


class RowCopyEmitter(VectorEmitter):
    """Emits copies from `source` to `target`, whose elements have the same type."""

    def __init__(self, vector_bits: int, source: ir.Value, target: ir.Value):
        element = ir.MemRefType(source.type).element_type
        width = element.width if isinstance(element, ir.IntegerType) else _FLOAT_BITS[str(element)]
        super().__init__(max(vector_bits // width, 1), element)
        self.source, self.target = source, target

    def copy(self, source: ir.Value, target: ir.Value, count: ir.Value) -> None:
        """Copy `count` elements. What is left of whole vectors is the end of one more, which
        overlaps the last: that is a store of a vector where one for each element would be."""
        lanes = self.index(self.lanes)
        whole = arith.divui(count, lanes)

        def at(number: ir.Value) -> None:
            self._vector(source, target, self.times(number, self.lanes))

        self.repeat(self.index(0), whole, at)
        rest = arith.remui(count, lanes)

        def overlapping() -> None:
            some = self.compare(arith.CmpIPredicate.ne, rest, 0)
            last = arith.subi(count, lanes)
            self.choose(some, lambda: self._vector(source, target, last), lambda: None)

        def one_by_one() -> None:
            self.repeat(self.index(0), count, lambda at: self.move(source, target, at))

        fills = arith.cmpi(arith.CmpIPredicate.uge, count, lanes)
        self.choose(fills, overlapping, one_by_one)

    def move(self, source: ir.Value, target: ir.Value, at: ir.Value | int = 0) -> None:
        """Copy the element `at` behind `source` and `target`."""
        element = memref.load(self.source, [self.add(source, at)])
        memref.store(element, self.target, [self.add(target, at)])

    def _vector(self, source: ir.Value, target: ir.Value, at: ir.Value) -> None:
        found = self.load(self.source, arith.addi(source, at))
        self.store(found, self.target, arith.addi(target, at))


_FLOAT_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
