"""Recurrent cells over time: a kernel that runs all steps of some sequences of the batch.

In each step the panels of the state are computed, one after the other by one thread or shared by a
team of threads. The accumulators of all gates stay in registers while the previous state is
multiplied by their columns of the recurrence; the cell turns them into the panel's next state.
Between steps the states are in memory; the output state is double-buffered. Gates that other gates
depend on come first, in a phase of their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import arith, ir, memref, vector
from .emitter import Registers, VectorEmitter
from .thread_team import Alone, Team

LANES = 16
"""Elements in a vector; CPUs with narrower registers use several for one."""
ROWS = 2
"""Sequences that are computed together."""

Cell = Callable[[Registers, Registers, Registers, Registers], Registers]
"""Computes one vector: from the gate inputs, the products of the state, the previous states (the
output first) and the additional vectors to the next states. For early gates: to the kept values, of
which the last is multiplied by the recurrence of the other gates."""


@dataclass(frozen=True)
class Recurrence:
    """The sizes of a layer: `gates` gates of a state of `hidden` elements. `early` gates come
    first, and `kept` vectors of theirs are stored. A panel is `width` elements of the state, a
    multiple of `LANES`; a `packed` recurrence is stored in panels (`graph.pack_recurrence`)."""

    gates: int
    hidden: int
    reverse: bool
    width: int
    packed: bool
    early: int = 0
    kept: int = 0

    @property
    def panels(self) -> int:
        return -(-self.hidden // self.width)

    @property
    def phases(self) -> int:
        """Phases of a step; each reads the values written by the one before."""
        return 2 if self.early else 1

    @property
    def line(self) -> int:
        """Contiguous elements of the recurrence by which one element of the state is multiplied."""
        return self.gates * (self.width if self.packed else self.hidden)

    @property
    def gate(self) -> int:
        """Stride between the columns of two gates in the recurrence, in elements."""
        return self.width if self.packed else self.hidden

    @property
    def elements(self) -> int:
        """Elements of the recurrence."""
        return self.hidden * self.line * (self.panels if self.packed else 1)


@dataclass(frozen=True)
class RecurrentMemory:
    """The buffers of a layer.

    Gates [T, N, gates * H]; the recurrence; the initial states [N, H]; additional vectors [H], side
    by side; the lengths [N] of the sequences, if they differ; outputs [T, N, H]; the last states
    [N, H]; scratch, [2, N, H] for the output of two steps and [kept, N, H].
    """

    gates: ir.Value
    recurrence: ir.Value
    scales: ir.Value | None
    """The scales of the columns of a recurrence of i8."""
    initial: Sequence[ir.Value]
    extra_vectors: Sequence[tuple[ir.Value, int]]
    """Additional vectors: a buffer, and the index of the vector in it."""
    lengths: ir.Value | None
    outputs: ir.Value
    last: Sequence[ir.Value]
    scratch: ir.Value


@dataclass(frozen=True)
class _Step:
    """The time step, and the halves of scratch that are read (`before`) and written (`after`)."""

    time: ir.Value
    before: ir.Value
    after: ir.Value


@dataclass(frozen=True)
class _Panel:
    """A panel: its number, its first element, and the mask of each of its vectors, None for all
    lanes."""

    number: ir.Value
    element: ir.Value
    masks: Sequence[ir.Value | None]


class RecurrentEmitter(VectorEmitter):
    """Emits the kernel. Indices count elements from the start of a buffer."""

    def __init__(
        self,
        shape: Recurrence,
        counts: tuple[ir.Value, ir.Value],
        memory: RecurrentMemory,
        cell: Cell,
        early: Cell | None = None,
    ):
        """`counts` are the numbers of steps and of sequences."""
        super().__init__(LANES)
        self.shape, self.memory, self.cell, self.early = shape, memory, cell, early
        self.steps, self.batch = counts
        self.size = self.times(self.batch, shape.hidden)
        """Elements of a state of all sequences."""

    # The kernel, from the outside in

    def sequences(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`: all steps of `ROWS` sequences, or of the remaining
        ones."""
        first = self.times(workgroup_id, ROWS)
        end = arith.minui(self.add(first, ROWS), self.batch)
        self._run(Alone(self, self.shape.panels), first, end)

    def as_team(self, workgroup_id: ir.Value, threads: int, counters: ir.Value) -> None:
        """Emit workgroup `workgroup_id` of `threads`: a seat in the team that runs all steps of all
        sequences."""
        panels = self.shape.panels
        first = arith.divui(self.times(workgroup_id, panels), self.index(threads))
        self._run(Team(self, panels, counters, first), self.index(0), self.batch)

    def _run(self, team: Alone | Team, first: ir.Value, end: ir.Value) -> None:
        """Emit all steps of the sequences in [`first`, `end`), whose panels `team` shares."""
        phases = self.shape.phases

        def phase(number: ir.Value, body: Callable[[Sequence[ir.Value], _Panel], None]) -> None:
            def task(panel: ir.Value) -> None:
                self._panel(panel, lambda p: self._rows(first, end, lambda rows: body(rows, p)))

            team.phase(number, task)

        def step(index: ir.Value) -> None:
            now, number = self._at(index), self.add(self.times(index, phases), 1)
            if self.early is not None:
                phase(number, lambda rows, panel: self._early(now, rows, panel))
            phase(self.add(number, phases - 1), lambda rows, panel: self._late(now, rows, panel))

        phase(self.index(0), self._start)
        begun = arith.maxui(team.begun(), self.index(1))
        first_step = arith.divui(self.add(begun, -1), self.index(phases))
        self.repeat(first_step, self.steps, step)

    def _at(self, index: ir.Value) -> _Step:
        before = arith.muli(arith.remui(index, self.index(2)), self.size)
        after = arith.subi(self.size, before)
        time = index
        if self.shape.reverse:
            time = arith.subi(arith.subi(self.steps, self.index(1)), index)
        return _Step(time, before, after)

    def _panel(self, number: ir.Value, body: Callable[[_Panel], None]) -> None:
        """Emit `body` for a full panel, and once more for the last one if it is narrower."""
        shape, element = self.shape, self.times(number, self.shape.width)
        left = shape.hidden - (shape.panels - 1) * shape.width
        starts = range(0, shape.width, self.lanes)

        def last() -> None:
            masks = [self.first_lanes(left - start) for start in starts if start < left]
            body(_Panel(number, element, masks))

        def whole() -> None:
            body(_Panel(number, element, [None] * len(starts)))

        if left == shape.width:
            return whole()
        if shape.panels == 1:
            return last()
        is_last = self.compare(arith.CmpIPredicate.eq, number, shape.panels - 1)
        return self.choose(is_last, last, whole)

    def _rows(
        self, first: ir.Value, end: ir.Value, body: Callable[[Sequence[ir.Value]], None]
    ) -> None:
        """Emit `body` for `ROWS` sequences together, and for the remaining ones one by one."""
        pairs = arith.divui(arith.subi(end, first), self.index(ROWS))
        alone = arith.addi(first, self.times(pairs, ROWS))

        def group(number: ir.Value) -> None:
            row = arith.addi(first, self.times(number, ROWS))
            body([self.add(row, n) for n in range(ROWS)])

        self.repeat(self.index(0), pairs, group)
        self.repeat(alone, end, lambda row: body([row]))

    def _start(self, rows: Sequence[ir.Value], panel: _Panel) -> None:
        """Copy the initial states to scratch, for the first step, and to the last states."""
        memory = self.memory
        for row in rows:
            for part, mask in enumerate(panel.masks):
                at = self.add(arith.addi(self._row(row), panel.element), part * self.lanes)
                values = [self.load(source, at, mask) for source in memory.initial]
                self.store(values[0], memory.scratch, at, mask)
                for value, target in zip(values, memory.last, strict=True):
                    self.store(value, target, at, mask)

    def _early(self, step: _Step, rows: Sequence[ir.Value], panel: _Panel) -> None:
        """Compute the early gates of a panel, and store the kept values."""
        assert self.early is not None
        gates = range(self.shape.early)
        sources = [arith.addi(step.before, self._row(row)) for row in rows]
        for position in self._products(rows, sources, gates, panel):
            for number, value in enumerate(self.early(*self._given(step, gates, position), [])):
                self.store(
                    value, self.memory.scratch, self._kept(number, position.at), position.mask
                )

    def _late(self, step: _Step, rows: Sequence[ir.Value], panel: _Panel) -> None:
        """Compute the next state of a panel."""
        shape, memory, kept = self.shape, self.memory, range(self.shape.kept)
        gates = range(shape.early, shape.gates)
        if kept:
            sources = [self._kept(kept[-1], self._row(row)) for row in rows]
        else:
            sources = [arith.addi(step.before, self._row(row)) for row in rows]
        for position in self._products(rows, sources, gates, panel):
            extra_vectors = [
                self.load(memory.scratch, self._kept(number, position.at), position.mask)
                for number in kept[:-1]
            ]
            extra_vectors += [
                self.load(buffer, self.add(position.element, part * shape.hidden), position.mask)
                for buffer, part in memory.extra_vectors
            ]
            given, products, states = self._given(step, gates, position)
            self._store(step, position, self.cell(given, products, states, extra_vectors), states)

    def _kept(self, number: int, at: ir.Value) -> ir.Value:
        """The offset of a kept value in scratch."""
        return arith.addi(self.times(self.size, 2 + number), at)

    def _row(self, row: ir.Value) -> ir.Value:
        """The offset of a sequence in a state."""
        return self.times(row, self.shape.hidden)

    def _given(
        self, step: _Step, gates: range, position: "_Position"
    ) -> tuple[Registers, Registers, Registers]:
        """The gate inputs of a vector, its products, and its previous states."""
        shape, memory, mask = self.shape, self.memory, position.mask
        line = arith.addi(arith.muli(step.time, self.batch), position.row)
        start = self.add(self.times(line, shape.gates * shape.hidden), position.element)
        given = [self.load(memory.gates, self.add(start, g * shape.hidden), mask) for g in gates]
        states = [self.load(memory.scratch, arith.addi(step.before, position.at), mask)]
        states += [self.load(buffer, position.at, mask) for buffer in memory.last[1:]]
        return given, position.products, states

    def _store(
        self, step: _Step, position: "_Position", after: Registers, before: Registers
    ) -> None:
        """Store the next states of a vector, and the output."""
        memory, mask, output = self.memory, position.mask, after[0]
        if memory.lengths is not None:
            length = memref.load(memory.lengths, [position.row])
            number = arith.index_cast(length.type, step.time)
            runs = arith.cmpi(arith.CmpIPredicate.slt, number, length)
            output = arith.select(runs, output, self.splat(0))
            after = [arith.select(runs, a, b) for a, b in zip(after, before, strict=True)]
        line = arith.addi(arith.muli(step.time, self.batch), position.row)
        at = self.add(self.times(line, self.shape.hidden), position.element)
        self.store(output, memory.outputs, at, mask)
        self.store(after[0], memory.scratch, arith.addi(step.after, position.at), mask)
        for value, buffer in zip(after, memory.last, strict=True):
            self.store(value, buffer, position.at, mask)

    def _products(
        self, rows: Sequence[ir.Value], sources: Sequence[ir.Value], gates: range, panel: _Panel
    ) -> list["_Position"]:
        """Multiply the rows of scratch at `sources` by the recurrence of `gates`."""
        shape, memory = self.shape, self.memory
        columns = [(gate, part) for gate in gates for part in range(len(panel.masks))]
        start = self._weights(panel)

        def line(index: ir.Value, registers: Registers) -> Registers:
            at = arith.addi(start, self.times(index, shape.line))
            factors = [
                vector.broadcast(
                    self.vector_type, memref.load(memory.scratch, [arith.addi(source, index)])
                )
                for source in sources
            ]
            totals = list(registers)
            for number, (gate, part) in enumerate(columns):  # one column in registers at a time
                column = self._column(
                    self.add(at, gate * shape.gate + part * self.lanes),
                    None if shape.packed else panel.masks[part],
                )
                for row, factor in enumerate(factors):
                    place = row * len(columns) + number
                    totals[place] = vector.fma(factor, column, totals[place])
            return totals

        zeros = [self.splat(0)] * (len(sources) * len(columns))
        accumulators = iter(self.loop((self.index(0), self.index(shape.hidden)), zeros, line))
        positions = []
        for row in rows:
            totals = {column: next(accumulators) for column in columns}
            for part, mask in enumerate(panel.masks):
                element = self.add(panel.element, part * self.lanes)
                at = arith.addi(self._row(row), element)
                products = [self._scaled(totals[gate, part], gate, element, mask) for gate in gates]
                positions.append(_Position(row, element, at, mask, products))
        return positions

    def _column(self, at: ir.Value, mask: ir.Value | None) -> ir.Value:
        """The vector of the recurrence from the element `at` on, as floats."""
        loaded = self.load(self.memory.recurrence, at, mask)
        if self.memory.scales is None:
            return loaded
        return arith.sitofp(self.vector_type, loaded)

    def _scaled(
        self, total: ir.Value, gate: int, element: ir.Value, mask: ir.Value | None
    ) -> ir.Value:
        """The products with the recurrence from those with its integers, if it has such."""
        scales = self.memory.scales
        if scales is None:
            return total
        at = self.add(element, gate * self.shape.hidden)
        return arith.mulf(total, self.load(scales, at, mask))

    def _weights(self, panel: _Panel) -> ir.Value:
        """The start of a panel's recurrence."""
        if not self.shape.packed:
            return panel.element
        return self.times(panel.number, self.shape.hidden * self.shape.line)


@dataclass(frozen=True)
class _Position:
    """A vector of a sequence's state: its first element, its offset in the state of all sequences
    (`at`), its mask, None for all lanes, and its products with the recurrence, by gate."""

    row: ir.Value
    element: ir.Value
    at: ir.Value
    mask: ir.Value | None
    products: Registers
