"""Points of complex transforms, written as rows of frequencies or signals."""

from collections.abc import Callable

from ...mlir import arith, ir, memref, vector
from .butterflies import Complex, add, conjugate, multiply, scaled, subtract, swapped
from .dft_rows import DftRows
from .fft import Work, Write
from .sizes import Index, product


class DftWriter(DftRows):
    """Emits what writes a row."""

    def _writer_of(self, row: ir.Value) -> Callable[[Work], Write]:
        shape, length = self._shape, self._sizes.length
        if shape.is_paired and shape.is_real:
            return self._writer
        if shape.onesided and not shape.inverse:
            count = self.add(arith.divui(self.index(length), self.index(2)), 1)
            if isinstance(length, int):
                count = length // 2 + 1
            return lambda _: self._pair_writer(row, count)
        if shape.onesided and not shape.is_paired:
            return lambda _: self._line_writer(row)
        return lambda _: self._pair_writer(row, self._points)

    def _scale(self) -> ir.Value | None:
        """One over the length in all lanes, of an inverse transform."""
        length = self._sizes.length
        if not self._shape.inverse:
            return None
        if isinstance(length, int):
            return self.splat(1 / length)
        number = arith.sitofp(
            self.element, arith.index_cast(ir.IntegerType.get_signless(64), length)
        )
        whole = arith.divf(arith.constant(self.element, 1.0), number)
        return vector.broadcast(self.vector_type, whole)

    def _finished(self, points: Complex, scale: ir.Value | None) -> Complex:
        return points if scale is None else scaled(swapped(points), scale)

    def _pair_writer(self, row: ir.Value, count: Index) -> Write:
        start, scale = self.times(row, product(count, 2)), self._scale()
        most = None if self._fills(count, 1) else count

        def write(at: ir.Value, points: Complex) -> None:
            self._store_pairs(start, at, self._finished(points, scale), most)

        return write

    def _store_pairs(
        self, start: ir.Value, at: ir.Value, points: Complex, count: Index | None
    ) -> None:
        """Store points `at` ... of the row from `start` on; no more than `count` if given."""
        lanes = self.lanes
        order = [i // 2 + lanes * (i % 2) for i in range(2 * lanes)]
        at = self.times(at, 2)
        mask = None if count is None else self._mask(product(count, 2), at, 2 * lanes)
        both = vector.shuffle(*points, order)
        self.store(both, self._memory.result, arith.addi(start, at), mask)

    def _line_writer(self, row: ir.Value) -> Write:
        start, scale = self.times(row, self._sizes.length), self._scale()
        is_full = self._fills(self._points, 1)

        def write(at: ir.Value, points: Complex) -> None:
            real, _ = self._finished(points, scale)
            mask = None if is_full else self._mask(self._points, at, self.lanes)
            self.store(real, self._memory.result, arith.addi(start, at), mask)

        return write

    def _combine(self, row: ir.Value, work: Work) -> None:
        """Emit the spectrum of a real signal from that of its pairs, which is in `work`.

        With h points, points k and h - k give ``(z[k] + z[h - k]') / 2`` and
        ``(z[k] - z[h - k]') / 2i``, the spectra of the even and the odd elements.
        """
        shape, points = self._shape, self._points
        assert isinstance(points, int)
        for start in (work.real, work.imaginary):  # point h is point 0
            first = memref.load(work.memory, [start])
            memref.store(first, work.memory, [self.add(start, points)])
        count = points + 1
        half = self.splat(0.5 / (2 * points if shape.inverse else 1))
        width = count if shape.onesided else 2 * points
        start = self.times(row, 2 * width)

        def vector_of_points(chunk: ir.Value) -> None:
            at = self._vector_start(chunk, count)
            mirrored = arith.subi(self.index(points - self.lanes + 1), at)
            z = self.read(work, at)
            mirror = conjugate(self._reversed(self.read(work, mirrored)))
            even, odd = scaled(add(z, mirror), half), scaled(subtract(z, mirror), half)
            value = add(even, multiply((odd[1], arith.negf(odd[0])), self._half_root(at)))
            value = conjugate(value) if shape.inverse else value
            self._store_pairs(start, at, value, None)
            if not shape.onesided:
                image = self.total(mirrored, points)
                image_points = conjugate(self._reversed(value))  # of point 0, there is none
                self._store_pairs(start, image, image_points, 2 * points)

        self.repeat(0, self._vectors(count), vector_of_points)
