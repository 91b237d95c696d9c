"""A kernel for discrete Fourier transforms along rows, by fast ones.

A row is read as complex points, transformed by the stages of `fft`, and written. Real signals of
even length are read as half as many points, by pairs. Lengths with large prime factors, and those
of the run that are no powers of two, are convolutions with a chirp.
"""

from collections.abc import Callable

from ...mlir import arith, ir, memref, vector
from .butterflies import Complex, add, multiply, swapped
from .dft_lengths import is_large_power, is_small, padded_power
from .dft_reader import DftReader
from .dft_shape import SMALL
from .dft_writer import DftWriter
from .emitter import Registers
from .fft import Read, Work, Write
from .fft_plan import stages
from .sizes import Index


class DftEmitter(DftReader, DftWriter):
    """Emits the kernel of a `DftShape`."""

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for the numbers that are `dynamic`."""
        shape = self._shape
        sizes = shape.sizes(dynamic)
        chunk = shape.chunk(sizes.rows, sizes.length)
        first = self.times(workgroup_id, chunk)
        last = arith.minui(self.add(first, self.index(chunk)), self.index(sizes.rows))
        self._begin(workgroup_id, sizes)
        self.repeat(first, last, self._row)

    def _row(self, row: ir.Value) -> None:
        shape = self._shape
        read, write = self._reader_of(row), self._writer_of(row)
        if isinstance(self._points, int):
            if shape.is_chirp:
                works = self._convolve(shape.padded, read, write)
            else:
                works = self._transform(shape.padded, read, self._works, write)
            if shape.is_paired and shape.is_real:
                self._combine(row, works[1])
            return
        length = self._points

        def directly() -> None:
            self._transform(length, read, self._works, write)

        def by_chirp() -> None:
            self._convolve(padded_power(self, length), read, write)

        def not_small() -> None:
            self.choose(is_large_power(self, length), directly, by_chirp)

        self.choose(is_small(self, length), lambda: self._sum(length, read, write), not_small)

    def _transform(
        self, length: Index, read: Read, works: tuple[Work, Work], finish: Callable[[Work], Write]
    ) -> tuple[Work, Work]:
        table = self._memory.table
        if isinstance(length, int):
            return self.transform(stages(length, self.lanes), table, read, works, finish)
        return self.transform_any(length, table, read, works, finish)

    def _sum(self, length: ir.Value, read: Read, finish: Callable[[Work], Write]) -> None:
        """Emit a transform of a few points as sums, by a matrix of roots."""
        work, last, table = *self._works, self._memory.table
        write = finish(last)
        for start in range(0, SMALL, self.lanes):
            at = self.index(start)
            self.write(work, at, read(at))

        def frequencies(chunk: ir.Value) -> None:
            at = self.times(chunk, self.lanes)

            def term(j: ir.Value, total: Registers) -> Registers:
                real, imaginary = (
                    vector.broadcast(
                        self.vector_type, memref.load(work.memory, [arith.addi(start, j)])
                    )
                    for start in (work.real, work.imaginary)
                )
                line = arith.addi(self.times(j, 2 * SMALL), at)
                factor = self.load(table, line), self.load(table, self.add(line, SMALL))
                return list(add((total[0], total[1]), multiply((real, imaginary), factor)))

            zero = self.splat(0)
            total = self.loop((self.index(0), length), [zero, zero], term)
            write(at, (total[0], total[1]))

        some = arith.maxui(length, self.index(1))  # one frequency of no points is 0
        self.repeat(0, arith.ceildivui(some, self.index(self.lanes)), frequencies)

    def _convolve(
        self, padded: Index, read: Read, finish: Callable[[Work], Write]
    ) -> tuple[Work, Work]:
        """Emit a transform as a convolution: of the signal times a chirp, with its conjugate."""
        tables = self._tables

        def turned(at: ir.Value) -> Complex:
            return multiply(read(at), self._chirp(at))

        def times_spectrum(work: Work) -> Write:
            def write(at: ir.Value, points: Complex) -> None:
                place = self.total(at, tables.spectrum)
                factor = (
                    self.load(self._memory.table, place),
                    self.load(self._memory.table, self.total(place, tables.spectrum_size)),
                )
                self.write(work, at, swapped(multiply(points, factor)))

            return write

        def turned_back(work: Work) -> Write:
            write = finish(work)
            return lambda at, points: write(at, multiply(swapped(points), self._chirp(at)))

        source, product_ = self._transform(padded, turned, self._works, times_spectrum)
        works = (source, product_)
        return self._transform(padded, self._reader(product_), works, turned_back)

    def _chirp(self, at: ir.Value) -> Complex:
        """The chirp from `at` on, 0 from its end on."""
        tables, table = self._tables, self._memory.table
        mask = self._mask(self._points, at, self.lanes)
        place = self.total(at, tables.chirp)
        return (
            self.load(table, place, mask),
            self.load(table, self.total(place, tables.chirp_size), mask),
        )
