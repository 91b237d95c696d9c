"""Rows of signals, read as the points of complex transforms."""

from ...mlir import arith, ir, memref, vector
from .butterflies import Complex, add, conjugate, multiply, subtract, swapped
from .dft_rows import DftRows
from .fft import Read, Work
from .sizes import Index, product


class DftReader(DftRows):
    """Emits what reads a row. An inverse transform is one between swaps of the parts."""

    def _reader_of(self, row: ir.Value) -> Read:
        shape, used = self._shape, self._sizes.used
        if shape.inverse and shape.onesided:
            (self._fold if shape.is_paired else self._mirror)(row)
            return lambda at: self._masked(self._works[1], at)
        if shape.is_real and not shape.is_paired:
            start = self.times(row, used)
            count = self._least(used, self._points)
            zero = self.splat(0)
            return lambda at: self._oriented((self._line(start, at, count), zero))
        parts = 1 if shape.is_real else 2
        start = self.times(row, product(used, parts))
        count = product(self._least(used, self._sizes.length), parts)
        if shape.is_paired:  # whose spectrum is conjugated
            return lambda at: self._pairs(start, at, count)
        return lambda at: self._oriented(self._pairs(start, at, count))

    def _oriented(self, points: Complex) -> Complex:
        return swapped(points) if self._shape.inverse else points

    def _line(self, start: ir.Value, at: ir.Value, count: Index) -> ir.Value:
        """Elements `at` ... of the row from `start` on, 0 from `count` on."""
        mask = None if self._fills(count, 1) else self._mask(count, at, self.lanes)
        return self.load(self._memory.x, arith.addi(start, at), mask)

    def _pairs(
        self, start: ir.Value, at: ir.Value, count: Index, known: bool | None = None
    ) -> Complex:
        """Pairs `at` ... of the row from `start` on, 0 from element `count` on; `known` says that
        there are as many as are read."""
        known = self._fills(count, 2) if known is None else known
        at, lanes = self.times(at, 2), 2 * self.lanes
        mask = None if known else self._mask(count, at, lanes)
        both = self.load(self._memory.x, arith.addi(start, at), mask, lanes)
        first, second = (vector.shuffle(both, both, list(range(i, lanes, 2))) for i in range(2))
        return first, second

    def _masked(self, work: Work, at: ir.Value) -> Complex:
        """Points of a work array, 0 where there are none."""
        if self._fills(self._points, 1):
            return self.read(work, at)
        mask = self._mask(self._points, at, self.lanes)
        real, imaginary = (
            self.load(work.memory, arith.addi(start, at), mask)
            for start in (work.real, work.imaginary)
        )
        return real, imaginary

    def _fold(self, row: ir.Value) -> None:
        """Emit the spectrum of the pairs of a real signal from the spectrum of the signal.

        With h points, frequency k and its mirror image h - k of the signal give
        ``(x[k] + x[h - k]') + i * w ** -k * (x[k] - x[h - k]')``, where ' conjugates.
        """
        points, used = self._points, self._sizes.used
        assert isinstance(points, int)
        start = self.times(row, product(used, 2))
        count = product(self._least(used, points + 1), 2)
        known = isinstance(count, int) and count == 2 * (points + 1)

        def vector_of_points(chunk: ir.Value) -> None:
            at = self._vector_start(chunk, points)
            mirrored = self.total(arith.subi(self.index(points - self.lanes + 1), at))
            x, y = (self._pairs(start, place, count, known) for place in (at, mirrored))
            y = self._reversed(y)
            is_first = self._is_first(at)
            zero = self.splat(0)
            x, y = ((z[0], arith.select(is_first, zero, z[1])) for z in (x, conjugate(y)))
            turned = multiply(subtract(x, y), conjugate(self._half_root(at)))
            folded = add(add(x, y), (arith.negf(turned[1]), turned[0]))
            self.write(self._works[1], at, swapped(folded))

        self.repeat(0, self._vectors(points), vector_of_points)

    def _is_first(self, at: ir.Value) -> ir.Value:
        """The mask of the first point of all, if a vector begins `at` it."""
        count = arith.select(
            self.compare(arith.CmpIPredicate.eq, at, 0), self.index(1), self.index(0)
        )
        return self.lanes_below(count)

    def _mirror(self, row: ir.Value) -> None:
        """Emit the whole spectrum of a real signal from the half that is given."""
        used, points = self._sizes.used, self._points
        work, x = self._works[1], self._memory.x
        zero = arith.constant(self.element, 0.0)
        half = self.add(arith.divui(self.index(points), self.index(2)), 1)
        given = self._least(used, half)
        start = self.times(row, product(used, 2))
        starts = (work.imaginary, work.real)  # the inverse transform swaps the parts

        def put(k: ir.Value, values: list[ir.Value]) -> None:
            for base, value in zip(starts, values, strict=True):
                memref.store(value, work.memory, [arith.addi(base, k)])

        def copy(k: ir.Value) -> None:
            at = arith.addi(start, self.times(k, 2))
            put(k, [memref.load(x, [at]), memref.load(x, [self.add(at, 1)])])

        def mirror(k: ir.Value) -> None:
            real, imaginary = (memref.load(work.memory, [arith.addi(b, k)]) for b in starts)
            put(arith.subi(self.index(points), k), [real, arith.negf(imaginary)])

        self.repeat(0, given, copy)
        self.repeat(given, half, lambda k: put(k, [zero, zero]))
        inner = arith.divui(self.add(self.index(points), 1), self.index(2))
        self.repeat(1, inner, mirror)
