"""A kernel for the moments of groups of channels of channels-last images of f32."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, math, memref, scf
from .emitter import Registers, VectorEmitter
from .sizes import Index, index, quotient

_REGISTERS = 4
"""Vectors of sums that a step over positions adds to."""
_CHUNK = 256
"""Positions whose sums are added up before they are added to the others: an error grows with the
number of chunks, not with that of positions."""

Term = Callable[[ir.Value, int], ir.Value]
"""The addend of a vector of elements, given its number in a strip."""


@dataclass(frozen=True)
class GroupMoments:
    """Images of `rows` positions, in all, of `channels`; None for numbers that are known only at
    run time. A workgroup computes the moments of `block` channels of an image: whole groups."""

    images: int | None
    rows: int | None
    channels: int
    groups: int
    block: int
    lanes: int
    epsilon: float

    flops = None

    @property
    def workgroups(self) -> int:
        """Workgroups, if the number of images is known."""
        assert self.images is not None
        return self.images * (self.channels // self.block)

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups for the numbers that are `dynamic`."""
        images, _ = self.sizes(dynamic)
        return arith.muli(index(images), index(self.channels // self.block))

    def sizes(self, dynamic: Sequence[ir.Value]) -> tuple[Index, Index]:
        """Images and rows, those that are not known from `dynamic`."""
        left = iter(dynamic)
        images = next(left) if self.images is None else self.images
        return images, next(left) if self.rows is None else self.rows


class GroupMomentsEmitter(VectorEmitter):
    """Emits the kernel.

    Sums of channels are kept in registers, a strip of the block at a time, and then added up for
    each group. A variance is the mean of squared distances from the mean, of a second pass, so that
    large numbers do not cancel. The results are scratch memory until they are complete.
    """

    def __init__(self, shape: GroupMoments, source: ir.Value, mean: ir.Value, factor: ir.Value):
        super().__init__(shape.lanes)
        self.shape, self.source, self.mean, self.factor = shape, source, mean, factor

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`."""
        images, rows = self.shape.sizes(dynamic)
        positions = index(quotient(rows, images))
        blocks = self.index(self.shape.channels // self.shape.block)
        image = arith.divui(workgroup_id, blocks)
        first = self.times(arith.remui(workgroup_id, blocks), self.shape.block)
        target = self.add(self.times(image, self.shape.channels), first)
        source = self.add(self.times(arith.muli(image, positions), self.shape.channels), first)

        self._each_strip(lambda at, widths: self._sums(source, target, positions, at, widths))
        count = self._count(positions)
        self._combine(self.mean, target, lambda total: arith.divf(total, count))
        self._each_strip(lambda at, widths: self._squares(source, target, positions, at, widths))
        self._combine(self.factor, target, lambda total: self._factor(arith.divf(total, count)))

    def _each_strip(self, emit: Callable[[ir.Value, list[int]], None]) -> None:
        """Call `emit` with the first channel of each strip of the block, and the lengths of its
        vectors."""
        full = _REGISTERS * self.lanes
        whole = self.shape.block // full * full
        if whole:
            loop = scf.ForOp(self.index(0), self.index(whole), self.index(full))
            with ir.InsertionPoint(loop.body):
                emit(loop.induction_variable, [self.lanes] * _REGISTERS)
                scf.YieldOp([])
        widths, left = list[int](), self.shape.block - whole
        while left:
            widths.append(min(self.lanes, 1 << left.bit_length() - 1))
            left -= widths[-1]
        if widths:
            emit(self.index(whole), widths)

    def _sums(
        self, source: ir.Value, target: ir.Value, positions: ir.Value, at: ir.Value,
        widths: list[int],
    ) -> None:  # fmt: skip
        """Store the sums of a strip in `mean`."""
        start = arith.addi(source, at)
        totals = self._accumulate(start, positions, widths, lambda value, number: value)
        self._store_strip(totals, self.mean, arith.addi(target, at))

    def _squares(
        self, source: ir.Value, target: ir.Value, positions: ir.Value, at: ir.Value,
        widths: list[int],
    ) -> None:  # fmt: skip
        """Store the sums of squared distances of a strip in `factor`."""
        start, here = arith.addi(source, at), arith.addi(target, at)
        means = self._load_strip(self.mean, here, widths)

        def square(value: ir.Value, number: int) -> ir.Value:
            distance = arith.subf(value, means[number])
            return arith.mulf(distance, distance)

        totals = self._accumulate(start, positions, widths, square)
        self._store_strip(totals, self.factor, here)

    def _accumulate(
        self, start: ir.Value, positions: ir.Value, widths: list[int], term: Term
    ) -> Registers:
        """The sums of `term` over all positions of a strip, whose first element is at `start`."""
        unroll = max(1, _REGISTERS // len(widths))
        zeros = [self.splat(0, width) for width in widths]

        def several(count: int) -> Callable[[ir.Value, Registers], Registers]:
            def step(position: ir.Value, totals: Registers) -> Registers:
                result = list[ir.Value]()
                for number in range(count):
                    row = self.times(self.add(position, number), self.shape.channels)
                    loaded = self._load_strip(self.source, arith.addi(start, row), widths)
                    old = totals[number * len(widths) : (number + 1) * len(widths)]
                    terms = [term(value, i) for i, value in enumerate(loaded)]
                    result += map(arith.addf, terms, old)
                return result

            return step

        def chunk(first: ir.Value, totals: Registers) -> Registers:
            last = arith.minui(self.add(first, _CHUNK), positions)
            left = arith.remui(arith.subi(last, first), self.index(unroll))
            whole = arith.subi(last, left)
            sums = self.loop((first, whole), zeros * unroll, several(unroll), unroll)
            while len(sums) > len(widths):
                half = len(sums) // 2
                pairs = zip(sums[:half], sums[half:], strict=True)
                sums = list[ir.Value](arith.addf(low, high) for low, high in pairs)
            if unroll > 1:
                sums = self.loop((whole, last), sums, several(1))
            return list(map(arith.addf, sums, totals))

        return self.loop((self.index(0), positions), zeros, chunk, _CHUNK)

    def _load_strip(self, memory: ir.Value, at: ir.Value, widths: list[int]) -> Registers:
        starts = (sum(widths[:number]) for number in range(len(widths)))
        return [
            self.load(memory, self.add(at, start), lanes=width)
            for start, width in zip(starts, widths, strict=True)
        ]

    def _store_strip(self, values: Registers, memory: ir.Value, at: ir.Value) -> None:
        for value in values:
            self.store(value, memory, at)
            at = self.add(at, ir.VectorType(value.type).shape[0])

    def _count(self, positions: ir.Value) -> ir.Value:
        """The number of elements of a group, as f32."""
        each = self.times(positions, self.shape.channels // self.shape.groups)
        return arith.sitofp(
            ir.F32Type.get(), arith.index_cast(ir.IntegerType.get_signless(64), each)
        )

    def _factor(self, variance: ir.Value) -> ir.Value:
        f32 = ir.F32Type.get()
        root = math.sqrt(arith.addf(variance, arith.constant(f32, self.shape.epsilon)))
        return arith.divf(arith.constant(f32, 1.0), root)

    def _combine(
        self, memory: ir.Value, first: ir.Value, finish: Callable[[ir.Value], ir.Value]
    ) -> None:
        """Replace the sums of the channels of each group by `finish` of their sum."""
        each = self.shape.channels // self.shape.groups
        end = self.add(first, self.shape.block)
        loop = scf.ForOp(first, end, self.index(each))
        with ir.InsertionPoint(loop.body):
            start = loop.induction_variable
            bounds = start, self.add(start, each)
            zero = arith.constant(ir.F32Type.get(), 0.0)
            (total,) = self.loop(
                bounds, [zero], lambda at, sums: [arith.addf(sums[0], memref.load(memory, [at]))]
            )
            moment = finish(total)
            each_channel = scf.ForOp(*bounds, self.index(1))
            with ir.InsertionPoint(each_channel.body):
                memref.store(moment, memory, [each_channel.induction_variable])
                scf.YieldOp([])
            scf.YieldOp([])
