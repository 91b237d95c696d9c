"""The code by which threads claim workgroups; see `work_stealing`."""

from collections.abc import Callable, Sequence

from ...dialects.iree.dispatches import count_calls
from ...mlir import arith, ir, llvm, memref, scf

_BACK = 32
"""Bits of a counter below those that count claims from the back of a share."""
_CPU_BITS = (1 << 12) - 1
"""The bits of x86-64's processor ID (TSC_AUX) that hold the CPU number, on Linux; the NUMA node
follows."""


_APART = 16
"""Elements between two counters. CPUs fetch pairs of cache lines, and a core that claims from its
own share must not wait for a line that another core holds (false sharing)."""


def counters_type(threads: int) -> ir.MemRefType:
    """The type of the counters: claims from each thread's share, then the number of finished calls.
    All are zero between kernels."""
    return ir.MemRefType.get([(threads + 1) * _APART], ir.IntegerType.get_signless(64))


def each_claimed(
    counters: ir.Value, workgroups: ir.Value, threads: int, body: Callable[[ir.Value], None]
) -> None:
    """Emit a loop that claims workgroups and runs `body` on their numbers until all `workgroups`
    are claimed: from the share of the current core first, then from the others.

    Each of the `count_calls()` calls of a kernel runs it. The last one to finish resets the
    counters to zero for the next kernel.
    """
    index = ir.IndexType.get()
    home = arith.remui(_current_cpu(), _index(threads))
    loop = scf.WhileOp([index], [])
    with ir.InsertionPoint(loop.before.blocks.append()):
        workgroup = _search(counters, workgroups, home, threads)
        found = arith.cmpi(arith.CmpIPredicate.sge, workgroup, _index(0))
        scf.ConditionOp(found, [workgroup])
    location = [ir.Location.current]
    with ir.InsertionPoint(loop.after.blocks.append(index, arg_locs=location)) as point:
        body(point.block.arguments[0])
        scf.YieldOp([])
    left = _to_index(_add(counters, _index(threads), _i64(1)))
    last = arith.cmpi(arith.CmpIPredicate.eq, left, arith.addi(count_calls(), _index(-1)))
    with ir.InsertionPoint(scf.IfOp(last).then_block):
        for share in range(threads + 1):
            memref.store(_i64(0), counters, [_index(share * _APART)])
        scf.YieldOp([])


class Stages:
    """Stages of a kernel that `threads` calls of it run together: workgroups of a stage go to the
    calls that claim them, and the next stage begins when all are done (a barrier).

    No call waits for one that has not begun anything: a late or missing one costs time and nothing
    else. `stages_type` is the type of `counters`, all of which are zero between kernels.
    """

    def __init__(self, counters: ir.Value, threads: int):
        self._counters, self._threads = counters, threads
        self._home = arith.remui(_current_cpu(), _index(threads))
        self._used = 0

    def run(self, parts: Sequence[tuple[int, Callable[[ir.Value], None]]]) -> None:
        """Emit a stage: for each of `parts`, so many workgroups and what one of them computes."""
        done = self._take_counters(1)
        total = sum(workgroups for workgroups, _ in parts)
        with ir.InsertionPoint(scf.IfOp(self._is_less(done, total)).then_block):
            for workgroups, body in parts:
                self._claim(workgroups, body, done)
            loop = scf.WhileOp([], [])
            with ir.InsertionPoint(loop.before.blocks.append()):
                scf.ConditionOp(self._is_less(done, total), [])
            with ir.InsertionPoint(loop.after.blocks.append()):
                llvm.inline_asm(None, [], "pause", "~{memory}", has_side_effects=True)
                scf.YieldOp([])
            scf.YieldOp([])

    def _claim(self, workgroups: int, body: Callable[[ir.Value], None], done: int) -> None:
        """Emit a loop that claims workgroups until none is left, and counts what it has done."""
        index, threads = ir.IndexType.get(), self._threads
        first = self._take_counters(threads)
        loop = scf.WhileOp([index, index], [_index(0)])
        locations = [ir.Location.current] * 2
        with ir.InsertionPoint(loop.before.blocks.append(index, arg_locs=locations[:1])) as ip:
            workgroup = _search(self._counters, _index(workgroups), self._home, threads, first)
            found = arith.cmpi(arith.CmpIPredicate.sge, workgroup, _index(0))
            scf.ConditionOp(found, [workgroup, ip.block.arguments[0]])
        with ir.InsertionPoint(loop.after.blocks.append(index, index, arg_locs=locations)) as ip:
            workgroup, count = ip.block.arguments
            body(workgroup)
            scf.YieldOp([arith.addi(count, _index(1))])
        count = arith.index_cast(ir.IntegerType.get_signless(64), loop.results[1])
        _add(self._counters, _index(done), count)

    def end(self) -> None:
        """Emit the end of the kernel: the last call to leave resets the counters."""
        left = self._take_counters(1)
        before = _to_index(_add(self._counters, _index(left), _i64(1)))
        last = arith.cmpi(arith.CmpIPredicate.eq, before, arith.addi(count_calls(), _index(-1)))
        with ir.InsertionPoint(scf.IfOp(last).then_block):
            for number in range(self._used):
                memref.store(_i64(0), self._counters, [_index(number * _APART)])
            scf.YieldOp([])

    def _take_counters(self, count: int) -> int:
        self._used += count
        return self._used - count

    def _is_less(self, counter: int, total: int) -> ir.Value:
        """True if a counter is less than `total`, by a plain load, which x86-64 orders."""
        value = memref.load(self._counters, [_index(counter * _APART)])
        return arith.cmpi(arith.CmpIPredicate.slt, value, _i64(total))


def stages_type(parts: int, threads: int) -> ir.MemRefType:
    """The type of the counters of stages with so many parts together, at most."""
    counters = parts * (threads + 1) + 1
    return ir.MemRefType.get([counters * _APART], ir.IntegerType.get_signless(64))


def _search(
    counters: ir.Value, workgroups: ir.Value, home: ir.Value, threads: int, first: int = 0
) -> ir.Value:
    """A workgroup of the share `home`, or of the first share after it that has any left; -1 if
    there is none. The counters of the shares are those from `first` on."""
    index = ir.IndexType.get()
    loop = scf.WhileOp([index, index], [_index(0), _index(-1)])
    locations = [ir.Location.current] * 2
    with ir.InsertionPoint(loop.before.blocks.append(index, index, arg_locs=locations)) as ip:
        tried, workgroup = ip.block.arguments
        none = arith.cmpi(arith.CmpIPredicate.slt, workgroup, _index(0))
        more = arith.cmpi(arith.CmpIPredicate.ult, tried, _index(threads))
        scf.ConditionOp(arith.andi(none, more), [tried, workgroup])
    with ir.InsertionPoint(loop.after.blocks.append(index, index, arg_locs=locations)) as ip:
        tried, _ = ip.block.arguments
        share = arith.remui(arith.addi(home, tried), _index(threads))
        own = arith.cmpi(arith.CmpIPredicate.eq, tried, _index(0))
        low = _part(share, workgroups, threads)
        high = _part(arith.addi(share, _index(1)), workgroups, threads)
        taken = _take(counters, (share, first), own, low, high)
        scf.YieldOp([arith.addi(tried, _index(1)), taken])
    return loop.results[1]


def _part(share: ir.Value, workgroups: ir.Value, threads: int) -> ir.Value:
    """The first workgroup of a share."""
    return arith.divui(arith.muli(share, workgroups), _index(threads))


def _take(
    counters: ir.Value,
    numbers: tuple[ir.Value, int],
    own: ir.Value,
    low: ir.Value,
    high: ir.Value,
) -> ir.Value:
    """A workgroup of a share, from `low` to `high`; -1 if none is left. `numbers` are that of the
    share and that of the counter of the first share.

    Owners take from one end and helpers from the other: with two threads, the end next to the
    helper's own share.
    """
    share, first = numbers
    at = arith.addi(share, _index(first)) if first else share
    old = _add(counters, at, arith.select(own, _i64(1), _i64(1 << _BACK)))
    by_owner = _to_index(arith.andi(old, _i64((1 << _BACK) - 1)))
    by_helpers = _to_index(arith.shrui(old, _i64(_BACK)))
    taken = arith.select(own, by_owner, by_helpers)
    odd = arith.trunci(ir.IntegerType.get_signless(1), arith.index_cast(old.type, share))
    from_high = arith.cmpi(arith.CmpIPredicate.eq, own, odd)
    backward = arith.subi(arith.addi(high, _index(-1)), taken)
    workgroup = arith.select(from_high, backward, arith.addi(low, taken))
    left = arith.cmpi(
        arith.CmpIPredicate.ult, arith.addi(by_owner, by_helpers), arith.subi(high, low)
    )
    return arith.select(left, workgroup, _index(-1))


def _current_cpu() -> ir.Value:
    """The number of the current CPU; the thread may migrate at any time."""
    i64 = ir.IntegerType.get_signless(64)
    known = llvm.inline_asm(
        i64, [], "rdtscp", "={rcx},~{rax},~{rdx}", has_side_effects=True
    )  # fmt: skip
    return _to_index(arith.andi(known, _i64(_CPU_BITS)))


def _add(counters: ir.Value, number: ir.Value, value: ir.Value) -> ir.Value:
    """Add `value` to a counter atomically; returns the old value."""
    kind = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(arith.AtomicRMWKind.addi))
    at = arith.muli(number, _index(_APART))
    return memref.AtomicRMWOp(kind, value, counters, [at]).result


def _to_index(value: ir.Value) -> ir.Value:
    return arith.index_cast(ir.IndexType.get(), value)


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def _i64(value: int) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(64), value)
