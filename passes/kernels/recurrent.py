"""Recurrent cells over time: a kernel that runs all steps of some sequences of the batch.

In each step the panels of the state are computed, one after the other by one thread or shared by a
team of threads. The accumulators of all gates stay in registers while the previous state is
multiplied by their columns of the recurrence; the cell turns them into the panel's next state.
Between steps the states are in memory; the output state is double-buffered. Gates that other gates
depend on come first, in a phase of their own, and so does the quantization of the output, where it
is multiplied with 8 bits (`quantized_state`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ...mlir import arith, ir, memref, vector
from .emitter import Registers, VectorEmitter
from .group_dot import GroupDot, add_all_products
from .quantized_state import StateQuantizer
from .recurrent_shape import LANES, Recurrence, RecurrentMemory
from .thread_team import Alone, Team

Cell = Callable[[Registers, Registers, Registers, Registers], Registers]
"""Computes one vector: from the gate inputs, the products of the state, the previous states (the
output first) and the additional vectors to the next states. For early gates: to the kept values, of
which the last is multiplied by the recurrence of the other gates."""


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
        quantized = memory.quantized
        self.quantizer = quantized and StateQuantizer(self, shape.panels, shape.stride, quantized)

    # The kernel, from the outside in

    def sequences(self, workgroup_id: ir.Value) -> None:
        """Emit workgroup `workgroup_id`: all steps of the sequences that are computed together, or
        of the remaining ones."""
        rows = self.shape.rows
        first = self.times(workgroup_id, rows)
        end = arith.minui(self.add(first, rows), self.batch)
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
        bodies = [self._late]
        if self.early is not None:
            bodies.insert(0, self._early)
        if self.quantizer is not None:
            bodies.insert(0, self._quantize)

        def phase(number: ir.Value, body: Callable[[Sequence[ir.Value], _Panel], None]) -> None:
            def task(panel: ir.Value) -> None:
                self._panel(panel, lambda p: self._rows(first, end, lambda rows: body(rows, p)))

            team.phase(number, task)

        def step(index: ir.Value) -> None:
            now, number = self._at(index), self.add(self.times(index, phases), 1)
            for offset, body in enumerate(bodies):
                phase(self.add(number, offset), partial(body, now))

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
        """Emit `body` for groups of sequences together, and for the remaining ones one by one."""
        rows, alone = self.shape.rows, first
        if rows > 1:
            groups = arith.divui(arith.subi(end, first), self.index(rows))
            alone = arith.addi(first, self.times(groups, rows))

            def group(number: ir.Value) -> None:
                row = arith.addi(first, self.times(number, rows))
                body([self.add(row, n) for n in range(rows)])

            self.repeat(self.index(0), groups, group)
        self.repeat(alone, end, lambda row: body([row]))

    def _start(self, rows: Sequence[ir.Value], panel: _Panel) -> None:
        """Copy the initial states to scratch, for the first step, and to the last states."""
        memory = self.memory
        for row in rows:
            outputs = []
            for part, mask in enumerate(panel.masks):
                at = self.add(arith.addi(self._row(row), panel.element), part * self.lanes)
                values = [self.load(source, at, mask) for source in memory.initial]
                self.store(values[0], memory.scratch, at, mask)
                for value, target in zip(values, memory.last, strict=True):
                    self.store(value, target, at, mask)
                outputs.append(values[0])
            self._note_range(row, panel, outputs)

    def _quantize(self, step: _Step, rows: Sequence[ir.Value], panel: _Panel) -> None:
        """Quantize the previous output of a panel."""
        assert self.quantizer is not None
        for row in rows:
            at = arith.addi(arith.addi(step.before, self._row(row)), panel.element)
            state = [
                self.load(self.memory.scratch, self.add(at, part * self.lanes), mask)
                for part, mask in enumerate(panel.masks)
            ]
            self.quantizer.quantize(row, panel.number, panel.element, state, panel.masks)

    def _note_range(self, row: ir.Value, panel: _Panel, output: Registers) -> None:
        if self.quantizer is not None:
            self.quantizer.note_range(row, panel.number, output, panel.masks)

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
        outputs = list[ir.Value]()
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
            after = self.cell(given, products, states, extra_vectors)
            outputs.append(self._store(step, position, after, states))
        parts = len(panel.masks)
        for number, row in enumerate(rows):
            self._note_range(row, panel, outputs[number * parts : (number + 1) * parts])

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
    ) -> ir.Value:
        """Store the next states of a vector, the first of which is returned, and the output."""
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
        return after[0]

    def _products(
        self, rows: Sequence[ir.Value], sources: Sequence[ir.Value], gates: range, panel: _Panel
    ) -> list["_Position"]:
        """Multiply the rows of scratch at `sources`, or the quantized outputs, by the recurrence of
        `gates`."""
        columns = [(gate, part) for gate in gates for part in range(len(panel.masks))]
        if self.shape.dot is not None:
            found = self._sums_of_integers(rows, columns, panel, self.shape.dot)
        elif self.quantizer is not None:
            values = self.quantizer.memory.values
            found = self._sums(values, [self._row(row) for row in rows], columns, panel)
        else:
            found = self._sums(self.memory.scratch, sources, columns, panel)
        accumulators = iter(found)
        positions = []
        for row in rows:
            totals = {column: next(accumulators) for column in columns}
            for part, mask in enumerate(panel.masks):
                element = self.add(panel.element, part * self.lanes)
                at = arith.addi(self._row(row), element)
                products = [
                    self._scaled(totals[gate, part], row, gate, element, mask) for gate in gates
                ]
                positions.append(_Position(row, element, at, mask, products))
        return positions

    def _sums(
        self,
        memory: ir.Value,
        sources: Sequence[ir.Value],
        columns: Sequence[tuple[int, int]],
        panel: _Panel,
    ) -> Registers:
        """The products of the rows of `memory` at `sources` by vectors of `columns`, each part of a
        gate."""
        shape, start = self.shape, self._weights(panel)

        def line(index: ir.Value, registers: Registers) -> Registers:
            at = arith.addi(start, self.times(index, shape.line))
            factors = [
                vector.broadcast(self.vector_type, memref.load(memory, [arith.addi(source, index)]))
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
        return self.loop((self.index(0), self.index(shape.hidden)), zeros, line)

    def _sums_of_integers(
        self,
        rows: Sequence[ir.Value],
        columns: Sequence[tuple[int, int]],
        panel: _Panel,
        dot: GroupDot,
    ) -> Registers:
        """The products of the quantized outputs of `rows` by vectors of `columns`, integers."""
        shape, memory = self.shape, self.memory
        assert memory.quantized is not None
        assert memory.integers is not None
        exact = memory.integers.exact
        values, first = memory.quantized.values, self.times(panel.number, shape.groups)
        sources = [self.times(row, shape.stride) for row in rows]
        offsets = [
            gate * shape.gate + part * self.lanes + lane
            for gate, part in columns
            for lane in range(0, self.lanes, dot.lanes)
        ]

        def group(index: ir.Value, registers: Registers) -> Registers:
            number = arith.addi(first, index)
            at = self.times(number, shape.line * dot.size)
            weights = [
                dot.load(memory.recurrence, self.add(at, offset * dot.size)) for offset in offsets
            ]
            place = self.times(index, dot.size)
            factors = [
                partial(dot.broadcast, values, arith.addi(source, place)) for source in sources
            ]
            flag = None if exact is None else memref.load(exact, [number])
            return add_all_products(self, dot, registers, factors, weights, flag)

        zero = self.splat(0, dot.lanes, dot.accumulator)
        zeros = [zero] * (len(rows) * len(offsets))
        found = self.loop((self.index(0), self.index(shape.groups)), zeros, group)
        per_column = self.lanes // dot.lanes
        return [
            self._joined(found[start : start + per_column])
            for start in range(0, len(found), per_column)
        ]

    def _joined(self, parts: Registers) -> ir.Value:
        """The elements of one vector, or of two, in one."""
        if len(parts) == 1:
            return parts[0]
        low, high = parts
        return vector.shuffle(low, high, list(range(self.lanes)))

    def _column(self, at: ir.Value, mask: ir.Value | None) -> ir.Value:
        """The vector of the recurrence from the element `at` on, as floats."""
        loaded = self.load(self.memory.recurrence, at, mask)
        if self.memory.integers is None:
            return loaded
        return arith.sitofp(self.vector_type, loaded)

    def _scaled(
        self,
        total: ir.Value,
        row: ir.Value,
        gate: int,
        element: ir.Value,
        mask: ir.Value | None,
    ) -> ir.Value:
        """The products with the recurrence from those with its integers, if it has such."""
        integers, at = self.memory.integers, self.add(element, gate * self.shape.hidden)
        if integers is None:
            return total
        scales = self.load(integers.scales, at, mask)
        if integers.sums is not None:
            assert self.quantizer is not None
            scale, zero = self.quantizer.scale_of(row)
            sums = self.load(integers.sums, at, mask)
            beyond = arith.muli(vector.broadcast(sums.type, zero), sums)
            total = arith.sitofp(self.vector_type, arith.subi(total, beyond))
            scales = arith.mulf(vector.broadcast(scales.type, scale), scales)
        return arith.mulf(total, scales)

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
