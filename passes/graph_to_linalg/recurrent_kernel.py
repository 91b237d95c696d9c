"""Recurrent cells over time: a kernel that runs all steps of some sequences of the batch.

A piece of work is the whole time of up to `ROWS` sequences. In a step, panels of the state are
computed one after the other: the sums of all gates stay in registers while the state of the step
before is multiplied by their columns of the recurrence; the cell makes of them the panel's next
state. Between steps the states lie in memory: that of the outputs in two halves, which are read
and written in turns. Gates that others wait for come first, in panels of their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, memref, vector
from .vector_emitter import Registers, VectorEmitter

LANES = 16
"""Elements in a vector; narrower machines take several registers for one."""
ROWS = 2
"""Sequences at a time."""
SUMS = 8
"""Vectors of sums at a time: as many as hide the latency of multiply-adds."""

Cell = Callable[[Registers, Registers, Registers, Registers], Registers]
"""One vector: from what the gates hold, the products of the state, the states before (the output
first) and the vectors beside, to the next states. Of early gates: to what is kept of them, of
which the last is multiplied by the recurrence for the others."""


@dataclass(frozen=True)
class Recurrence:
    """The numbers of a layer: `gates` of a state of `hidden` elements; `early` of them come first,
    of which so many vectors are `kept`."""

    gates: int
    hidden: int
    reverse: bool
    early: int = 0
    kept: int = 0


@dataclass(frozen=True)
class RecurrentMemory:
    """The buffers of a layer.

    Gates [T, N, gates * H]; the recurrence [H, gates * H]; the initial states [N, H]; vectors of
    [H] beside, side by side; the lengths [N] of sequences, if they differ; outputs [T, N, H]; the
    last states [N, H]; scratch memory, [2, N, H] for the output of two steps and [kept, N, H].
    """

    gates: ir.Value
    recurrence: ir.Value
    initial: Sequence[ir.Value]
    beside: Sequence[tuple[ir.Value, int]]
    """Vectors, and which part of a buffer each is."""
    lengths: ir.Value | None
    outputs: ir.Value
    last: Sequence[ir.Value]
    scratch: ir.Value


Masks = Sequence[ir.Value | None]


@dataclass(frozen=True)
class _Step:
    """A step of some sequences: where they lie in the states, the place in time, the halves of the
    scratch memory that are read and written."""

    rows: Sequence[ir.Value]
    starts: Sequence[ir.Value]
    time: ir.Value
    before: ir.Value
    after: ir.Value


class RecurrentEmitter(VectorEmitter):
    """Writes the kernel. Indices are of elements, from the start of a buffer."""

    def __init__(
        self,
        shape: Recurrence,
        counts: tuple[ir.Value, ir.Value],
        memory: RecurrentMemory,
        cell: Cell,
        early: Cell | None = None,
    ):
        """`counts` are the steps and the sequences."""
        super().__init__(LANES)
        self.shape, self.memory, self.cell, self.early = shape, memory, cell, early
        self.steps, self.batch = counts
        self.size = self.times(self.batch, shape.hidden)
        """Elements of a state of all sequences."""

    # The kernel, from the outside in

    def piece(self, number: ir.Value) -> None:
        """The piece of work `number`: `ROWS` sequences together, or what is left one by one."""
        first = self.times(number, ROWS)
        left = arith.minui(arith.subi(self.batch, first), self.index(ROWS))
        together = arith.divui(left, self.index(ROWS))
        self.repeat(0, together, lambda _: self._sequences(first, ROWS))
        alone = arith.addi(first, self.times(together, ROWS))
        end = arith.addi(first, left)
        self.repeat(alone, end, lambda at: self._sequences(at, 1))

    def _sequences(self, first: ir.Value, count: int) -> None:
        """All steps of `count` sequences."""
        shape, memory = self.shape, self.memory
        rows = [self.add(first, row) for row in range(count)]
        starts = [self.times(row, shape.hidden) for row in rows]
        halves = [self.index(0), self.size]

        def step(index: ir.Value) -> None:
            before = arith.muli(arith.remui(index, self.index(2)), self.size)
            after = arith.subi(self.size, before)
            time = index
            if shape.reverse:
                time = arith.subi(arith.subi(self.steps, self.index(1)), index)
            self._step(_Step(rows, starts, time, before, after))

        for source, target in zip(memory.initial, (memory.scratch, *memory.last[1:]), strict=True):
            self._copy(starts, source, halves[0], target)
        self.repeat(0, self.steps, step)
        half = arith.muli(arith.remui(self.steps, self.index(2)), halves[1])
        self._copy(starts, memory.scratch, half, memory.last[0])

    def _copy(
        self, starts: Sequence[ir.Value], source: ir.Value, offset: ir.Value, target: ir.Value
    ) -> None:
        """Copy states, from `offset` of `source` on."""

        def panel(element: ir.Value, masks: Masks) -> None:
            for start in starts:
                at = arith.addi(start, element)
                value = self.load(source, arith.addi(offset, at), masks[0])
                self.store(value, target, at, masks[0])

        self._panels(1, panel)

    def _step(self, step: _Step) -> None:
        """The early gates, where there are some, and the others."""
        shape, count = self.shape, len(step.rows)
        if self.early is not None:
            gates = range(shape.early)
            self._panels(
                max(1, SUMS // (count * len(gates))),
                lambda element, masks: self._early(step, gates, element, masks),
            )
        gates = range(shape.early, shape.gates)
        self._panels(
            max(1, SUMS // (count * len(gates))),
            lambda element, masks: self._late(step, gates, element, masks),
        )

    def _panels(self, parts: int, body: Callable[[ir.Value, Masks], None]) -> None:
        """Run `body` for the vectors of a state, `parts` at a time; the last ones may be masked."""
        width = parts * self.lanes
        whole, rest = divmod(self.shape.hidden, width)
        if whole:
            self.repeat(0, whole, lambda n: body(self.times(n, width), [None] * parts))
        if rest:
            lanes = range(0, rest, self.lanes)
            body(self.index(whole * width), [self.first_lanes(rest - lane) for lane in lanes])

    def _early(self, step: _Step, gates: range, element: ir.Value, masks: Masks) -> None:
        """Compute the early gates of some vectors, and keep what the cell makes of them."""
        assert self.early is not None
        sources = [arith.addi(step.before, start) for start in step.starts]
        for place in self._products(step, gates, sources, element, masks):
            for number, value in enumerate(self.early(*self._given(step, gates, place), [])):
                self.store(value, self.memory.scratch, self._kept(number, place.at), place.mask)

    def _late(self, step: _Step, gates: range, element: ir.Value, masks: Masks) -> None:
        """Compute the next state of some vectors."""
        memory, kept = self.memory, range(self.shape.kept)
        if kept:
            sources = [self._kept(kept[-1], start) for start in step.starts]
        else:
            sources = [arith.addi(step.before, start) for start in step.starts]
        for place in self._products(step, gates, sources, element, masks):
            beside = [
                self.load(memory.scratch, self._kept(number, place.at), place.mask)
                for number in kept[:-1]
            ]
            beside += [
                self.load(buffer, self.add(place.element, part * self.shape.hidden), place.mask)
                for buffer, part in memory.beside
            ]
            given, products, states = self._given(step, gates, place)
            self._store(step, place, self.cell(given, products, states, beside), states)

    def _kept(self, number: int, at: ir.Value) -> ir.Value:
        """Where a state that is kept lies in the scratch memory."""
        return arith.addi(self.times(self.size, 2 + number), at)

    def _given(
        self, step: _Step, gates: range, place: "_Place"
    ) -> tuple[Registers, Registers, Registers]:
        """What the gates hold for a vector, its products, and its states before."""
        shape, memory, mask = self.shape, self.memory, place.mask
        line = arith.addi(arith.muli(step.time, self.batch), place.row)
        start = self.add(self.times(line, shape.gates * shape.hidden), place.element)
        given = [self.load(memory.gates, self.add(start, g * shape.hidden), mask) for g in gates]
        states = [self.load(memory.scratch, arith.addi(step.before, place.at), mask)]
        states += [self.load(buffer, place.at, mask) for buffer in memory.last[1:]]
        return given, place.products, states

    def _store(self, step: _Step, place: "_Place", after: Registers, before: Registers) -> None:
        """Store the next states of a vector, and the output."""
        memory, mask, output = self.memory, place.mask, after[0]
        if memory.lengths is not None:
            length = memref.load(memory.lengths, [place.row])
            number = arith.index_cast(length.type, step.time)
            runs = arith.cmpi(arith.CmpIPredicate.slt, number, length)
            output = arith.select(runs, output, self.splat(0))
            after = [arith.select(runs, a, b) for a, b in zip(after, before, strict=True)]
        line = arith.addi(arith.muli(step.time, self.batch), place.row)
        at = self.add(self.times(line, self.shape.hidden), place.element)
        self.store(output, memory.outputs, at, mask)
        self.store(after[0], memory.scratch, arith.addi(step.after, place.at), mask)
        for value, buffer in zip(after[1:], memory.last[1:], strict=True):
            self.store(value, buffer, place.at, mask)

    def _products(
        self,
        step: _Step,
        gates: range,
        sources: Sequence[ir.Value],
        element: ir.Value,
        masks: Masks,
    ) -> list["_Place"]:
        """Rows of the scratch memory from `sources` on, times the recurrence for `gates`."""
        shape, memory = self.shape, self.memory
        columns = [(gate, part) for gate in gates for part in range(len(masks))]

        def line(index: ir.Value, registers: Registers) -> Registers:
            start = self.add(self.times(index, shape.gates * shape.hidden), element)
            offsets = [gate * shape.hidden + part * self.lanes for gate, part in columns]
            vectors = [
                self.load(memory.recurrence, self.add(start, offset), masks[part])
                for offset, (_, part) in zip(offsets, columns, strict=True)
            ]
            factors = [
                vector.broadcast(
                    self.vector_type, memref.load(memory.scratch, [arith.addi(source, index)])
                )
                for source in sources
            ]
            pairs = [(factor, column) for factor in factors for column in vectors]
            return [
                vector.fma(factor, column, total)
                for (factor, column), total in zip(pairs, registers, strict=True)
            ]

        zeros = [self.splat(0)] * (len(sources) * len(columns))
        sums = iter(self.loop((self.index(0), self.index(shape.hidden)), zeros, line))
        rows = [{column: next(sums) for column in columns} for _ in sources]
        return [
            self._place(
                step, number, self.add(element, part * self.lanes), mask,
                [totals[gate, part] for gate in gates],
            )
            for number, totals in enumerate(rows)
            for part, mask in enumerate(masks)
        ]  # fmt: skip

    @staticmethod
    def _place(
        step: _Step, number: int, element: ir.Value, mask: ir.Value | None, products: Registers
    ) -> "_Place":
        at = arith.addi(step.starts[number], element)
        return _Place(step.rows[number], element, at, mask, products)


@dataclass(frozen=True)
class _Place:
    """A vector of the state of a sequence: its first element, where it lies among those of all
    sequences, the lanes it has, if not all, and its products with the recurrence by gate."""

    row: ir.Value
    element: ir.Value
    at: ir.Value
    mask: ir.Value | None
    products: Registers
