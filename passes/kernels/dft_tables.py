"""A kernel for the tables of transforms whose length is known only at run time."""

import math as pymath
from dataclasses import dataclass

import numpy as np

from ...mlir import arith, ir, math, memref, vector
from .butterflies import Complex, conjugate, scaled
from .dft_lengths import is_large_power, is_small, padded_power
from .dft_shape import SMALL, room_for, run_time_tables
from .fft import FftEmitter, Work, Write, run_time_stages
from .fft_plan import FftStage
from .scalar_functions import like, polynomial
from .sizes import product

_TERMS = 10
"""Terms of the Taylor polynomials of sine and cosine, whose errors are below 1e-17 up to pi / 4."""


@dataclass(frozen=True)
class TableShape:
    """Tables of the transforms of one length, in vectors of `lanes` elements `element`."""

    lanes: int
    element: str

    flops = None

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """One workgroup computes all."""
        del dynamic
        return arith.constant(ir.IndexType.get(), 1)


class TableEmitter(FftEmitter):
    """Emits the kernel of a `TableShape`. Angles are computed in f64."""

    def __init__(self, shape: TableShape, table: ir.Value, work: ir.Value):
        super().__init__(shape.lanes, ir.MemRefType(table.type).element_type)
        self._table = table
        self._work = work

    def workgroup(self, workgroup_id: ir.Value, length: ir.Value) -> None:
        """Emit the tables for `length` points."""
        del workgroup_id

        def of_stages() -> None:
            self._twiddles(length)

        def of_chirp() -> None:
            padded = padded_power(self, length)
            self._twiddles(padded)
            self._chirp(length, padded)

        def of_stages_or_chirp() -> None:
            self.choose(is_large_power(self, length), of_stages, of_chirp)

        self.choose(is_small(self, length), lambda: self._matrix(length), of_stages_or_chirp)

    def _matrix(self, length: ir.Value) -> None:
        """[length, 2, SMALL]: the roots of all terms of the sums."""
        order = self._double(length)

        def line(j: ir.Value) -> None:
            start = self.times(j, 2 * SMALL)
            power = self._all(self._double(j))
            to = Work(self._table, start, self.add(start, SMALL))

            def vector_of_roots(chunk: ir.Value) -> None:
                at = self.times(chunk, self.lanes)
                powers = self._remainder(arith.mulf(power, self._numbers(at)), order)
                self.write(to, at, self._root(self._divided(powers, order)))

            self.repeat(0, arith.ceildivui(length, self.index(self.lanes)), vector_of_roots)

        self.repeat(0, length, line)

    def _twiddles(self, length: ir.Value) -> None:
        first, second, middle = run_time_stages(self, length)
        self._first_stage(first, length)
        is_odd = self.compare(arith.CmpIPredicate.ne, middle.odd, 0)
        state = [second.offset, self.times(self.index(second.groups), second.radix)]

        def halve() -> list[ir.Value]:
            self._stage(second)
            return self._after(second)

        state = self.when(is_odd, halve, state)

        def quarter(_: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
            stage = FftStage(4, 0, arith.divui(values[1], self.index(4)), values[0])
            self._stage(stage)
            return self._after(stage)

        self.loop((self.index(0), middle.fours), state, quarter)

    def _after(self, stage: FftStage) -> list[ir.Value]:
        """The offset of the next table, and the points of a transform that is left."""
        more = self.times(self.index(stage.groups), 2 * (stage.radix - 1))
        return [self.total(stage.offset, more), self.index(stage.groups)]

    def _first_stage(self, stage: FftStage, length: ir.Value) -> None:
        """[radix - 1, 2, groups]."""
        groups = self.index(stage.groups)
        order = self._double(length)

        def line(j: ir.Value) -> None:
            start = self.times(self.times(self.add(j, -1), 2), groups)
            power = self._all(self._double(j))

            def factors(chunk: ir.Value) -> None:
                p = self.times(chunk, self.lanes)
                turns = self._divided(arith.mulf(power, self._numbers(p)), order)
                to = Work(self._table, start, arith.addi(start, groups))
                self.write(to, p, self._root(turns))

            self.repeat(0, self._vectors(groups), factors)

        self.repeat(1, stage.radix, line)

    def _stage(self, stage: FftStage) -> None:
        """[groups, radix - 1, 2]."""
        others = stage.radix - 1
        count = self.times(self.index(stage.groups), others)
        order = self._double(self.times(self.index(stage.groups), stage.radix))
        lanes = self.lanes
        pairs = [i // 2 + lanes * (i % 2) for i in range(2 * lanes)]

        def factors(chunk: ir.Value) -> None:
            at = self.times(chunk, lanes)
            number = self._numbers(at)
            p = math.floor(
                arith.mulf(arith.addf(number, like(0.5, number)), like(1 / others, number))
            )
            j = arith.addf(arith.subf(number, arith.mulf(p, like(others, p))), like(1, p))
            root = self._root(self._divided(arith.mulf(p, j), order))
            type_ = ir.VectorType.get([2 * lanes], ir.IntegerType.get_signless(1))
            mask = vector.create_mask(type_, [self.times(arith.subi(count, at), 2)])
            place = self.total(self.times(at, 2), stage.offset)
            self.store(vector.shuffle(*root, pairs), self._table, place, mask)

        self.repeat(0, arith.ceildivui(count, self.index(lanes)), factors)

    def _chirp(self, length: ir.Value, padded: ir.Value) -> None:
        """The chirp, and the spectrum of its conjugate over its length."""
        tables, table = run_time_tables(length), self._table
        works = self._works(length)
        chirp = self.index(tables.chirp)
        to = Work(table, chirp, arith.addi(chirp, length))
        signal = works[1]
        zero = arith.constant(self.element, 0.0)
        starts = (signal.real, signal.imaginary)
        double = self._double(self.times(length, 2))

        def clear(at: ir.Value) -> None:
            for start in starts:
                memref.store(zero, signal.memory, [arith.addi(start, at)])

        def vector_of_points(chunk: ir.Value) -> None:
            at = self.times(chunk, self.lanes)
            k = self._numbers(at)
            powers = self._remainder(arith.mulf(k, k), double)
            root = self._root(self._divided(powers, double))
            mask = self.lanes_below(arith.subi(length, at))
            for target, points in ((to, root), (signal, conjugate(root))):
                for start, values in zip((target.real, target.imaginary), points, strict=True):
                    self.store(values, target.memory, arith.addi(start, at), mask)

        def mirror(k: ir.Value) -> None:
            for start in starts:
                value = memref.load(signal.memory, [arith.addi(start, k)])
                place = arith.addi(start, arith.subi(padded, k))
                memref.store(value, signal.memory, [place])

        self.repeat(0, padded, clear)
        self.repeat(0, arith.ceildivui(length, self.index(self.lanes)), vector_of_points)
        self.repeat(1, length, mirror)
        scale = arith.divf(arith.constant(self.element, 1.0), self._floating(padded))
        scale = vector.broadcast(self.vector_type, scale)
        start = self.index(tables.spectrum)
        spectrum = Work(table, start, self.total(start, tables.spectrum_size))

        def finish(_: Work) -> Write:
            return lambda at, points: self.write(spectrum, at, scaled(points, scale))

        self.transform_any(padded, table, lambda at: self.read(signal, at), works, finish)

    def _works(self, length: ir.Value) -> tuple[Work, Work]:
        room = room_for(length)
        starts = [self.index(product(room, i)) for i in range(4)]
        return Work(self._work, *starts[:2]), Work(self._work, *starts[2:])

    # Angles

    def _floating(self, value: ir.Value) -> ir.Value:
        return arith.sitofp(self.element, arith.index_cast(_i64(), value))

    def _double(self, value: ir.Value) -> ir.Value:
        return arith.sitofp(ir.F64Type.get(), arith.index_cast(_i64(), value))

    def _all(self, value: ir.Value) -> ir.Value:
        return vector.broadcast(self._doubles, value)

    @property
    def _doubles(self) -> ir.VectorType:
        return ir.VectorType.get([self.lanes], ir.F64Type.get())

    def _numbers(self, first: ir.Value) -> ir.Value:
        """``first, first + 1, ...`` in f64."""
        steps = ir.DenseElementsAttr.get(
            np.arange(self.lanes, dtype=np.float64), type=self._doubles
        )
        return arith.addf(self._all(self._double(first)), arith.constant(self._doubles, steps))

    def _divided(self, values: ir.Value, order: ir.Value) -> ir.Value:
        return arith.divf(values, self._all(order))

    def _remainder(self, values: ir.Value, divisor: ir.Value) -> ir.Value:
        """The remainder of integers; it may be negative where the quotient is rounded up."""
        whole = math.floor(self._divided(values, divisor))
        return arith.subf(values, arith.mulf(whole, self._all(divisor)))

    def _root(self, turns: ir.Value) -> Complex:
        """``exp(-2 pi i * turns)`` for `turns` in [0, 1]."""
        quarter = math.floor(arith.addf(arith.mulf(turns, like(4, turns)), like(0.5, turns)))
        rest = arith.subf(turns, arith.mulf(quarter, like(0.25, turns)))
        angle = arith.mulf(rest, like(2 * pymath.pi, turns))
        square = arith.mulf(angle, angle)
        cos = polynomial(square, [(-1) ** k / pymath.factorial(2 * k) for k in range(_TERMS)])
        sine = [(-1) ** k / pymath.factorial(2 * k + 1) for k in range(_TERMS)]
        sin = arith.mulf(angle, polynomial(square, sine))
        is_odd = self._either(quarter, 1, 3)
        cos, sin = arith.select(is_odd, sin, cos), arith.select(is_odd, cos, sin)
        cos = arith.select(self._either(quarter, 1, 2), arith.negf(cos), cos)
        sin = arith.select(self._either(quarter, 2, 3), sin, arith.negf(sin))
        return self._rounded(cos), self._rounded(sin)

    def _either(self, quarter: ir.Value, a: int, b: int) -> ir.Value:
        kind = arith.CmpFPredicate.OEQ
        return arith.ori(
            arith.cmpf(kind, quarter, like(a, quarter)), arith.cmpf(kind, quarter, like(b, quarter))
        )

    def _rounded(self, values: ir.Value) -> ir.Value:
        return values if self.vector_type == values.type else arith.truncf(self.vector_type, values)


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)
