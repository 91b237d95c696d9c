"""A team of threads that runs the phases of one kernel together.

The pieces of a phase go to the first thread that takes them, and the next phase begins after all
pieces are done (a barrier): a phase reads what the one before wrote. A thread prefers the same
pieces in every phase, whose data is then in its cache, and steals those of late threads.

No thread waits for one that has not begun anything: a late or missing thread costs time and nothing
else. The backend may run its workgroups one after the other on one thread. So a workgroup is a seat
in the team, and the first one to run may have to do everything.
"""

from collections.abc import Callable

from ...cpu_model import CACHE_LINE_BYTES
from ...mlir import arith, ir, memref, scf
from .emitter import VectorEmitter

Body = Callable[[ir.Value], None]
"""Emits the computation of a piece, given its number."""

_LINE = CACHE_LINE_BYTES // 8
"""Counters in a cache line."""


class Alone:
    """A team of one thread, which runs all `pieces`."""

    def __init__(self, emitter: VectorEmitter, pieces: int):
        self.emitter, self.pieces = emitter, pieces

    def begun(self) -> ir.Value:
        """The number of phases that the team has completed."""
        return self.emitter.index(0)

    def phase(self, number: ir.Value, body: Body) -> None:
        """Emit phase `number`: `body` for each piece."""
        del number
        self.emitter.repeat(0, self.pieces, body)


class Team:
    """A team that synchronizes on `counters`, of `counters_type` and initially zero.

    This thread prefers the pieces from `first` on.
    """

    def __init__(self, emitter: VectorEmitter, pieces: int, counters: ir.Value, first: ir.Value):
        self.emitter, self.pieces = emitter, pieces
        self.counters, self.first = counters, first

    def begun(self) -> ir.Value:
        """The number of phases that the team has completed."""
        return arith.divui(self._done(), self.emitter.index(self.pieces))

    def phase(self, number: ir.Value, body: Body) -> None:
        """Emit phase `number`: `body` for each piece, each by one thread, and the barrier."""
        end = self.emitter.times(self.emitter.add(number, 1), self.pieces)

        def search(tried: ir.Value) -> None:
            at = arith.addi(self.first, tried)
            piece = arith.remui(at, self.emitter.index(self.pieces))
            with ir.InsertionPoint(scf.IfOp(self._is_free(piece, number)).then_block):
                with ir.InsertionPoint(scf.IfOp(self._take(piece, number)).then_block):
                    body(piece)
                    self._add(self._place_of_all, 1)
                    scf.YieldOp([])
                scf.YieldOp([])

        self.emitter.repeat(0, self.pieces, search)
        self._wait(end)

    def _is_free(self, piece: ir.Value, phase: ir.Value) -> ir.Value:
        """True (an i1) if `piece` seems untaken: a plain load, cheaper than an attempt to take."""
        taken = arith.index_cast(ir.IndexType.get(), memref.load(self.counters, [piece]))
        return arith.cmpi(arith.CmpIPredicate.ule, taken, phase)

    def _take(self, piece: ir.Value, phase: ir.Value) -> ir.Value:
        """Try to take `piece`, whose counter says how often it was taken; true on success."""
        after = arith.index_cast(_counter(), self.emitter.add(phase, 1))
        before = self._update(arith.AtomicRMWKind.maxu, after, piece)
        return arith.cmpi(arith.CmpIPredicate.ule, before, phase)

    def _wait(self, end: ir.Value) -> None:
        """Wait until `end` pieces, counted over all phases, are done."""
        loop = scf.WhileOp([], [])
        with ir.InsertionPoint(loop.before.blocks.append()):
            left = arith.cmpi(arith.CmpIPredicate.ult, self._done(), end)
            scf.ConditionOp(left, [])
        with ir.InsertionPoint(loop.after.blocks.append()):
            scf.YieldOp([])

    def _done(self) -> ir.Value:
        return self._add(self._place_of_all, 0)

    @property
    def _place_of_all(self) -> ir.Value:
        """The counter of pieces that are done, in a cache line of its own."""
        return self.emitter.index(self.pieces + _LINE)

    def _add(self, place: ir.Value, value: int) -> ir.Value:
        return self._update(arith.AtomicRMWKind.addi, arith.constant(_counter(), value), place)

    def _update(self, kind: arith.AtomicRMWKind, value: ir.Value, place: ir.Value) -> ir.Value:
        """Update a counter atomically; returns its old value, as an index. Writes that other
        threads made before their last update are visible afterwards."""
        how = ir.IntegerAttr.get(_counter(), int(kind))
        before = memref.AtomicRMWOp(how, value, self.counters, [place]).result
        return arith.index_cast(ir.IndexType.get(), before)


def counters_type(pieces: int) -> ir.RankedTensorType:
    """The type of the counters: the times each piece was taken, and the number of pieces done."""
    return ir.RankedTensorType.get([pieces + 2 * _LINE], _counter())


def _counter() -> ir.Type:
    return ir.IntegerType.get_signless(64)
