"""A team of threads that runs the phases of one kernel together.

The tasks of a phase go to the first thread that takes them, and the next phase begins after all
tasks are done (a barrier): a phase reads what the one before wrote. A thread prefers the same
tasks in every phase, whose data is then in its cache, and steals those of late threads.

No thread waits for one that has not begun anything: a late or missing thread costs time and nothing
else. The backend may run its workgroups one after the other on one thread. So a workgroup is a seat
in the team, and the first one to run may have to do everything.
"""

from collections.abc import Callable

from ...cpu_model import CACHE_LINE_BYTES
from ...mlir import arith, ir, memref, scf
from .emitter import VectorEmitter

Body = Callable[[ir.Value], None]
"""Emits the computation of a task, given its number."""

_LINE = CACHE_LINE_BYTES // 8
"""Counters in a cache line."""


class Alone:
    """A team of one thread, which runs all `tasks`."""

    def __init__(self, emitter: VectorEmitter, tasks: int):
        self.emitter, self.tasks = emitter, tasks

    def begun(self) -> ir.Value:
        """The number of phases that the team has completed."""
        return self.emitter.index(0)

    def phase(self, number: ir.Value, body: Body) -> None:
        """Emit phase `number`: `body` for each task."""
        del number
        self.emitter.repeat(0, self.tasks, body)


class Team:
    """A team that synchronizes on `counters`, of `counters_type` and initially zero.

    This thread prefers the tasks from `first` on.
    """

    def __init__(self, emitter: VectorEmitter, tasks: int, counters: ir.Value, first: ir.Value):
        self.emitter, self.tasks = emitter, tasks
        self.counters, self.first = counters, first

    def begun(self) -> ir.Value:
        """The number of phases that the team has completed."""
        return arith.divui(self._done(), self.emitter.index(self.tasks))

    def phase(self, number: ir.Value, body: Body) -> None:
        """Emit phase `number`: `body` for each task, each by one thread, and the barrier."""
        end = self.emitter.times(self.emitter.add(number, 1), self.tasks)

        def search(tried: ir.Value) -> None:
            at = arith.addi(self.first, tried)
            task = arith.remui(at, self.emitter.index(self.tasks))
            with ir.InsertionPoint(scf.IfOp(self._is_free(task, number)).then_block):
                with ir.InsertionPoint(scf.IfOp(self._take(task, number)).then_block):
                    body(task)
                    self._add(self._done_counter, 1)
                    scf.YieldOp([])
                scf.YieldOp([])

        self.emitter.repeat(0, self.tasks, search)
        self._wait(end)

    def _is_free(self, task: ir.Value, phase: ir.Value) -> ir.Value:
        """True (an i1) if `task` seems untaken: a plain load, cheaper than an attempt to take."""
        taken = arith.index_cast(ir.IndexType.get(), memref.load(self.counters, [task]))
        return arith.cmpi(arith.CmpIPredicate.ule, taken, phase)

    def _take(self, task: ir.Value, phase: ir.Value) -> ir.Value:
        """Try to take `task`, whose counter says how often it was taken; true on success."""
        after = arith.index_cast(_counter(), self.emitter.add(phase, 1))
        before = self._update(arith.AtomicRMWKind.maxu, after, task)
        return arith.cmpi(arith.CmpIPredicate.ule, before, phase)

    def _wait(self, end: ir.Value) -> None:
        """Wait until `end` tasks, counted over all phases, are done."""
        loop = scf.WhileOp([], [])
        with ir.InsertionPoint(loop.before.blocks.append()):
            left = arith.cmpi(arith.CmpIPredicate.ult, self._done(), end)
            scf.ConditionOp(left, [])
        with ir.InsertionPoint(loop.after.blocks.append()):
            scf.YieldOp([])

    def _done(self) -> ir.Value:
        return self._add(self._done_counter, 0)

    @property
    def _done_counter(self) -> ir.Value:
        """The counter of tasks that are done, in a cache line of its own."""
        return self.emitter.index(self.tasks + _LINE)

    def _add(self, counter: ir.Value, value: int) -> ir.Value:
        return self._update(arith.AtomicRMWKind.addi, arith.constant(_counter(), value), counter)

    def _update(self, kind: arith.AtomicRMWKind, value: ir.Value, counter: ir.Value) -> ir.Value:
        """Update a counter atomically; returns its old value, as an index. Writes that other
        threads made before their last update are visible afterwards."""
        how = ir.IntegerAttr.get(_counter(), int(kind))
        before = memref.AtomicRMWOp(how, value, self.counters, [counter]).result
        return arith.index_cast(ir.IndexType.get(), before)


def counters_type(tasks: int) -> ir.RankedTensorType:
    """The type of the counters: the times each task was taken, and the number of tasks done."""
    return ir.RankedTensorType.get([tasks + 2 * _LINE], _counter())


def _counter() -> ir.Type:
    return ir.IntegerType.get_signless(64)
