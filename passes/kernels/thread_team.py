"""Threads that go through the phases of one kernel together.

The pieces of a phase are for whoever comes first, and nobody begins the next phase before all
pieces are done: what was written in one is read in the next. A thread prefers the same pieces in
every phase, whose data then lies in its cache, and takes those of others that are late.

Nobody waits for a thread that has not begun anything: one that comes late, or never, costs time
and nothing else. So a piece of the backend's work, which it may run one after the other on one
thread, is a seat in the team, and the first to sit down may have to do everything.
"""

from collections.abc import Callable

from ...cpu_model import CACHE_LINE_BYTES
from ...mlir import arith, ir, memref, scf
from .emitter import VectorEmitter

Body = Callable[[ir.Value], None]
"""Writes the work on a piece, of which it is given the number."""

_LINE = CACHE_LINE_BYTES // 8
"""Counters in a line of the cache."""


class Alone:
    """A team of one, that has all `pieces` for itself."""

    def __init__(self, emitter: VectorEmitter, pieces: int):
        self.emitter, self.pieces = emitter, pieces

    def begun(self) -> ir.Value:
        """How many phases are behind the team."""
        return self.emitter.index(0)

    def phase(self, number: ir.Value, body: Body) -> None:
        """Write phase `number`: `body` for each piece."""
        del number
        self.emitter.repeat(0, self.pieces, body)


class Team:
    """A team that meets at `counters`, zero before and of `counters_type`.

    This thread prefers the pieces from `first` on.
    """

    def __init__(self, emitter: VectorEmitter, pieces: int, counters: ir.Value, first: ir.Value):
        self.emitter, self.pieces = emitter, pieces
        self.counters, self.first = counters, first

    def begun(self) -> ir.Value:
        """How many phases are behind the team."""
        return arith.divui(self._done(), self.emitter.index(self.pieces))

    def phase(self, number: ir.Value, body: Body) -> None:
        """Write phase `number`: `body` for each piece, each by one thread, and the wait for all."""
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
        """Whether nobody seems to have taken `piece`; it costs less than to try."""
        taken = arith.index_cast(ir.IndexType.get(), memref.load(self.counters, [piece]))
        return arith.cmpi(arith.CmpIPredicate.ule, taken, phase)

    def _take(self, piece: ir.Value, phase: ir.Value) -> ir.Value:
        """Whether `piece` is this thread's from now on: its counter says how often it was taken."""
        after = arith.index_cast(_counter(), self.emitter.add(phase, 1))
        before = self._update(arith.AtomicRMWKind.maxu, after, piece)
        return arith.cmpi(arith.CmpIPredicate.ule, before, phase)

    def _wait(self, end: ir.Value) -> None:
        """Until so many pieces of all phases together are done."""
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
        """The counter of pieces that are done, in a line of its own."""
        return self.emitter.index(self.pieces + _LINE)

    def _add(self, place: ir.Value, value: int) -> ir.Value:
        return self._update(arith.AtomicRMWKind.addi, arith.constant(_counter(), value), place)

    def _update(self, kind: arith.AtomicRMWKind, value: ir.Value, place: ir.Value) -> ir.Value:
        """What a counter was, as an index. Memory is as others left it at their last update."""
        how = ir.IntegerAttr.get(_counter(), int(kind))
        before = memref.AtomicRMWOp(how, value, self.counters, [place]).result
        return arith.index_cast(ir.IndexType.get(), before)


def counters_type(pieces: int) -> ir.RankedTensorType:
    """How often each piece was taken, and how many pieces are done."""
    return ir.RankedTensorType.get([pieces + 2 * _LINE], _counter())


def _counter() -> ir.Type:
    return ir.IntegerType.get_signless(64)
