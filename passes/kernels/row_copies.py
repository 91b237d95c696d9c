"""Copies of consecutive elements, between buffers that do not overlap."""

from collections.abc import Callable

from ...mlir import arith, ir, memref
from .emitter import VectorEmitter


class RowCopyEmitter(VectorEmitter):
    """Emits copies from `source` to `target`, whose elements have the same type."""

    def __init__(self, vector_bits: int, source: ir.Value, target: ir.Value):
        element = ir.MemRefType(source.type).element_type
        width = element.width if isinstance(element, ir.IntegerType) else _FLOAT_BITS[str(element)]
        super().__init__(max(vector_bits // width, 1), element)
        self.short = max(_SHORT_BITS // width, 1)
        self.source, self.target = source, target

    def copy(self, source: ir.Value, target: ir.Value, count: ir.Value) -> None:
        """Copy `count` elements: in vectors, in those of 16 bytes if they are fewer than one, or
        one by one. What is left of whole vectors is the end of one more, which overlaps the last:
        that is a store of a vector where one for each element would be."""

        def one_by_one() -> None:
            self.repeat(self.index(0), count, lambda at: self.move(source, target, at))

        def short() -> None:
            if self.short < self.lanes:
                self._if_filled(source, target, count, self.short, one_by_one)
            else:
                one_by_one()

        self._if_filled(source, target, count, self.lanes, short)

    def _if_filled(
        self,
        source: ir.Value,
        target: ir.Value,
        count: ir.Value,
        lanes: int,
        otherwise: Callable[[], None],
    ) -> None:
        """Copy `count` elements in vectors of `lanes` if there are enough for one."""

        def vectors() -> None:
            def at(number: ir.Value) -> None:
                self._vector(source, target, self.times(number, lanes), lanes)

            self.repeat(self.index(0), arith.divui(count, self.index(lanes)), at)
            rest = arith.remui(count, self.index(lanes))
            some = self.compare(arith.CmpIPredicate.ne, rest, 0)
            last = arith.subi(count, self.index(lanes))
            self.choose(some, lambda: self._vector(source, target, last, lanes), lambda: None)

        fills = arith.cmpi(arith.CmpIPredicate.uge, count, self.index(lanes))
        self.choose(fills, vectors, otherwise)

    def move(self, source: ir.Value, target: ir.Value, at: ir.Value | int = 0) -> None:
        """Copy the element `at` behind `source` and `target`."""
        element = memref.load(self.source, [self.add(source, at)])
        memref.store(element, self.target, [self.add(target, at)])

    def _vector(self, source: ir.Value, target: ir.Value, at: ir.Value, lanes: int) -> None:
        found = self.load(self.source, arith.addi(source, at), lanes=lanes)
        self.store(found, self.target, arith.addi(target, at))


_SHORT_BITS = 128
_FLOAT_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
