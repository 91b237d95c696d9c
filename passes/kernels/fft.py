"""Emission of fast Fourier transforms on vectors of points, of lengths known or not.

The plan is in `fft_plan`. Each stage reads one of two work arrays and writes the other; the first
reads through a function, and the last writes through one, which may convert, scale or multiply.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...mlir import arith, ir, math, memref, vector
from .butterflies import Complex, butterfly, multiply
from .emitter import Registers, VectorEmitter
from .fft_plan import FftStage
from .sizes import Index, product

Read = Callable[[ir.Value], Complex]
"""The vector of points from an index on."""
Write = Callable[[ir.Value, Complex], None]
"""Stores a vector of points from an index on."""


@dataclass(frozen=True)
class Work:
    """Real and imaginary parts in two arrays, which begin at `real` and `imaginary` of `memory`."""

    memory: ir.Value
    real: ir.Value
    imaginary: ir.Value


class FftEmitter(VectorEmitter):
    """Emits transforms of vectors of `lanes` elements of the float type `element`."""

    def __init__(self, lanes: int, element: ir.Type):
        super().__init__(lanes, element)

    def total(self, *terms: Index) -> ir.Value:
        """The sum of indices."""
        known = sum(term for term in terms if isinstance(term, int))
        result = None
        for term in terms:
            if not isinstance(term, int):
                result = term if result is None else arith.addi(result, term)
        return self.index(known) if result is None else self.add(result, known)

    def read(self, work: Work, at: ir.Value) -> Complex:
        """A vector of points from index `at` on."""
        real, imaginary = (arith.addi(start, at) for start in (work.real, work.imaginary))
        return self.load(work.memory, real), self.load(work.memory, imaginary)

    def write(self, work: Work, at: ir.Value, points: Complex) -> None:
        """Store a vector of points from index `at` on."""
        for start, values in zip((work.real, work.imaginary), points, strict=True):
            self.store(values, work.memory, arith.addi(start, at))

    def transform(
        self,
        stages: Sequence[FftStage],
        table: ir.Value,
        read: Read,
        works: tuple[Work, Work],
        finish: Callable[[Work], Write],
    ) -> tuple[Work, Work]:
        """Emit a transform of a known length. The first of `works` is written first; `finish` gives
        the last function that writes, which may use the work array that it receives.

        The work arrays, last the one that `finish` received.
        """
        source, target = works[1], works[0]
        for stage in stages[:-1]:
            self.stage(stage, table, read, target)
            source, target = target, source
            read = self._reader(source)
        self._long_stage(stages[-1], table, read, finish(target))
        return source, target

    def _reader(self, work: Work) -> Read:
        return lambda at: self.read(work, at)

    def _writer(self, work: Work) -> Write:
        return lambda at, points: self.write(work, at, points)

    def stage(self, stage: FftStage, table: ir.Value, read: Read, target: Work) -> None:
        """Emit a stage that writes a work array."""
        if isinstance(stage.stride, int) and stage.stride < self.lanes:
            self._short_stage(stage, table, read, target)
        else:
            self._long_stage(stage, table, read, self._writer(target))

    def _long_stage(self, stage: FftStage, table: ir.Value, read: Read, write: Write) -> None:
        """Emit a stage whose stride holds vectors; the last of these may overlap the one before."""
        radix, stride, groups = stage.radix, stage.stride, stage.groups
        distance = product(stride, groups)

        def group(p: ir.Value) -> None:
            factors = None if groups == 1 else self._factors(stage, table, p)
            first = self.times(p, stride)
            base = self.times(first, radix)

            def points(chunk: ir.Value) -> None:
                q = self._vector_start(chunk, stride)
                at = arith.addi(first, q)
                values = [read(self.total(at, product(distance, k))) for k in range(radix)]
                start = arith.addi(base, q)
                for j, value in enumerate(butterfly(values)):
                    turned = value if factors is None or j == 0 else multiply(value, factors[j - 1])
                    write(self.total(start, product(stride, j)), turned)

            self.repeat(0, self._vectors(stride), points)

        self.repeat(0, groups, group)

    def _factors(self, stage: FftStage, table: ir.Value, p: ir.Value) -> list[Complex]:
        """The factors of group `p`, each in all lanes."""
        line = self.total(self.times(p, 2 * (stage.radix - 1)), stage.offset)
        spread = [
            vector.broadcast(self.vector_type, memref.load(table, [self.add(line, i)]))
            for i in range(2 * (stage.radix - 1))
        ]
        return list(zip(spread[::2], spread[1::2], strict=True))

    def _vectors(self, count: Index) -> Index:
        """The vectors that hold `count` elements; a count that is not known fills them."""
        if isinstance(count, int):
            return -(-count // self.lanes)
        return arith.divui(count, self.index(self.lanes))

    def _vector_start(self, chunk: ir.Value, count: Index) -> ir.Value:
        """The first element of vector number `chunk`, within `count` elements."""
        start = self.times(chunk, self.lanes)
        if isinstance(count, int) and count % self.lanes:
            return arith.minui(start, self.index(count - self.lanes))
        return start

    def _short_stage(self, stage: FftStage, table: ir.Value, read: Read, target: Work) -> None:
        """Emit a stage on vectors that cross groups, whose results are scattered."""
        radix, distance = stage.radix, product(stage.stride, stage.groups)

        def points(chunk: ir.Value) -> None:
            at = self._vector_start(chunk, distance)
            values = butterfly([read(self.total(at, product(distance, k))) for k in range(radix)])
            for j in range(1, radix):
                place = self.total(at, product(distance, 2 * (j - 1)), stage.offset)
                factor = self.load(table, place), self.load(table, self.total(place, distance))
                values[j] = multiply(values[j], factor)
            if stage.stride == 1 and radix == self.lanes:
                self._write_square(target, self.times(at, radix), values)
            else:
                self._scatter(target, stage, at, values)

        self.repeat(0, self._vectors(distance), points)

    def _write_square(self, target: Work, start: ir.Value, points: Sequence[Complex]) -> None:
        """Store as many points as lanes, the first of each vector, then the second of each."""
        for base, rows in zip(
            (target.real, target.imaginary), zip(*points, strict=True), strict=True
        ):
            self.store_all(self.transposed(list(rows)), target.memory, arith.addi(base, start))

    def _scatter(
        self, target: Work, stage: FftStage, at: ir.Value, points: Sequence[Complex]
    ) -> None:
        """Store point q + stride * p, the j-th of a butterfly, at q + stride * (radix * p + j)."""
        stride, radix = stage.stride, stage.radix
        assert isinstance(stride, int)
        lane = self._lane_indices(1)
        if stride == 1:
            start, places = self.times(at, radix), self._lane_indices(radix)
        else:
            number = arith.addi(vector.broadcast(lane.type, self._narrow(at)), lane)
            group = arith.divui(number, self._all_lanes(stride))
            more = arith.muli(group, self._all_lanes(stride * (radix - 1)))
            start, places = at, arith.addi(lane, more)
        every = ir.VectorType.get([self.lanes], ir.IntegerType.get_signless(1))
        mask = arith.constant(every, ir.DenseElementsAttr.get_splat(every, ir.BoolAttr.get(True)))
        for j, values in enumerate(points):
            for base, value in zip((target.real, target.imaginary), values, strict=True):
                to = self.total(base, start, stride * j)
                vector.scatter(None, target.memory, [to], places, mask, value)

    @property
    def _integers(self) -> ir.VectorType:
        return ir.VectorType.get([self.lanes], ir.IntegerType.get_signless(32))

    def _narrow(self, value: ir.Value) -> ir.Value:
        return arith.index_cast(self._integers.element_type, value)

    def _lane_indices(self, step: int) -> ir.Value:
        values = np.arange(self.lanes, dtype=np.int32) * np.int32(step)
        return arith.constant(self._integers, ir.DenseElementsAttr.get(values, type=self._integers))

    def _all_lanes(self, value: int) -> ir.Value:
        element = ir.IntegerAttr.get(self._integers.element_type, value)
        return arith.constant(
            self._integers, ir.DenseElementsAttr.get_splat(self._integers, element)
        )

    def transform_any(
        self,
        length: ir.Value,
        table: ir.Value,
        read: Read,
        works: tuple[Work, Work],
        finish: Callable[[Work], Write],
    ) -> tuple[Work, Work]:
        """`transform` of a `length` that is known at run time, a power of two that is not less than
        `least_power`, with the tables of `run_time_stages`."""
        first, second, middle = run_time_stages(self, length)
        self.stage(first, table, read, works[0])
        state = [second.offset, second.stride, *_starts(works[0]), *_starts(works[1])]
        memory = works[0].memory

        def advance(stage: FftStage, values: Registers) -> Registers:
            source, target = _work(memory, values[2:4]), _work(memory, values[4:6])
            self._long_stage(stage, table, self._reader(source), self._writer(target))
            more = self.times(self.index(stage.groups), 2 * (stage.radix - 1))
            return [
                self.total(stage.offset, more), self.times(values[1], stage.radix),
                *values[4:6], *values[2:4],
            ]  # fmt: skip

        def halve() -> Registers:
            return advance(second, state)

        is_odd = self.compare(arith.CmpIPredicate.ne, middle.odd, 0)
        state = self.when(is_odd, halve, state)

        def quarter(_: ir.Value, values: Registers) -> Registers:
            groups = arith.divui(length, self.times(values[1], 4))
            return advance(FftStage(4, values[1], groups, values[0]), values)

        state = self.loop((self.index(0), middle.fours), state, quarter)
        source, target = _work(memory, state[2:4]), _work(memory, state[4:6])
        last = FftStage(4, state[1], 1, 0)
        self._long_stage(last, table, self._reader(source), finish(target))
        return source, target


def _starts(work: Work) -> list[ir.Value]:
    return [work.real, work.imaginary]


def _work(memory: ir.Value, starts: Sequence[ir.Value]) -> Work:
    return Work(memory, starts[0], starts[1])


@dataclass(frozen=True)
class MiddleStages:
    """The stages of a power of two between the first and the last."""

    odd: ir.Value
    """1 if the first of them has radix 2, else 0."""
    fours: ir.Value
    """The number of those of radix 4."""


def run_time_stages(
    emitter: VectorEmitter, length: ir.Value
) -> tuple[FftStage, FftStage, MiddleStages]:
    """The first stages of a transform of a power of two, of radix `lanes` and 2, and the others,
    which have radix 4. Their tables follow each other from 0 on."""
    lanes = emitter.lanes
    groups = arith.divui(length, emitter.index(lanes))
    first = FftStage(lanes, 1, groups, 0)
    second = FftStage(2, emitter.index(lanes), arith.divui(groups, emitter.index(2)),
                   emitter.times(groups, 2 * (lanes - 1)))  # fmt: skip
    twos = math.cttz(groups)
    odd = arith.andi(twos, emitter.index(1))
    fours = arith.subi(arith.divui(twos, emitter.index(2)), emitter.index(1))
    return first, second, MiddleStages(odd, fours)
