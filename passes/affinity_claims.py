"""The code by which threads claim pieces of work: see `schedule_affinity`."""

from ..mlir import arith, ir, llvm, memref, scf

_BACK = 32
"""Bits of a counter below those that count claims from the back of a share."""
_PROCESSOR = (1 << 12) - 1
"""The bits of what x86-64 knows of a processor that are its number, on Linux; its node follows."""


def counters_type(threads: int) -> ir.MemRefType:
    """What has been claimed of each thread's share, and how much of all; zero between kernels."""
    return ir.MemRefType.get([threads + 1], ir.IntegerType.get_signless(64))


def claim(counters: ir.Value, pieces: ir.Value, threads: int) -> ir.Value:
    """The number of a piece that nobody has claimed: of the share of the processor that this runs
    on, else of the next processor that has any left.

    Every one of so many `pieces` must claim one. The one that claims the last sets the counters to
    zero again, for the next kernel.
    """
    home = arith.remui(_processor(), _index(threads))
    piece = _search(counters, pieces, home, threads)
    claimed = _to_index(_add(counters, _index(threads), _i64(1)))
    last = arith.cmpi(arith.CmpIPredicate.eq, claimed, arith.addi(pieces, _index(-1)))
    with ir.InsertionPoint(scf.IfOp(last).then_block):
        for place in range(threads + 1):
            memref.store(_i64(0), counters, [_index(place)])
        scf.YieldOp([])
    return piece


def _search(counters: ir.Value, pieces: ir.Value, home: ir.Value, threads: int) -> ir.Value:
    """A piece of the share `home`, or of the first one after it that has any left."""
    index = ir.IndexType.get()
    loop = scf.WhileOp([index, index], [_index(0), _index(-1)])
    places = [ir.Location.current] * 2
    with ir.InsertionPoint(loop.before.blocks.append(index, index, arg_locs=places)) as ip:
        tried, piece = ip.block.arguments
        none = arith.cmpi(arith.CmpIPredicate.slt, piece, _index(0))
        scf.ConditionOp(none, [tried, piece])
    with ir.InsertionPoint(loop.after.blocks.append(index, index, arg_locs=places)) as ip:
        tried, _ = ip.block.arguments
        share = arith.remui(arith.addi(home, tried), _index(threads))
        own = arith.cmpi(arith.CmpIPredicate.eq, tried, _index(0))
        low = _part(share, pieces, threads)
        high = _part(arith.addi(share, _index(1)), pieces, threads)
        scf.YieldOp([arith.addi(tried, _index(1)), _take(counters, share, own, low, high)])
    return loop.results[1]


def _part(share: ir.Value, pieces: ir.Value, threads: int) -> ir.Value:
    """Where a share begins."""
    return arith.divui(arith.muli(share, pieces), _index(threads))


def _take(
    counters: ir.Value, share: ir.Value, own: ir.Value, low: ir.Value, high: ir.Value
) -> ir.Value:
    """A piece of a share, from `low` to `high`; -1 where none is left.

    Owners come from one end and helpers from the other: that next to the helper's own share, where
    there are two.
    """
    old = _add(counters, share, arith.select(own, _i64(1), _i64(1 << _BACK)))
    by_owner = _to_index(arith.andi(old, _i64((1 << _BACK) - 1)))
    by_helpers = _to_index(arith.shrui(old, _i64(_BACK)))
    taken = arith.select(own, by_owner, by_helpers)
    odd = arith.trunci(ir.IntegerType.get_signless(1), arith.index_cast(old.type, share))
    from_high = arith.cmpi(arith.CmpIPredicate.eq, own, odd)
    backward = arith.subi(arith.addi(high, _index(-1)), taken)
    piece = arith.select(from_high, backward, arith.addi(low, taken))
    left = arith.cmpi(
        arith.CmpIPredicate.ult, arith.addi(by_owner, by_helpers), arith.subi(high, low)
    )
    return arith.select(left, piece, _index(-1))


def _processor() -> ir.Value:
    """The number of the processor that this runs on; another one a moment later."""
    i64 = ir.IntegerType.get_signless(64)
    known = llvm.inline_asm(
        i64, [], "rdtscp", "={rcx},~{rax},~{rdx}", has_side_effects=True
    )  # fmt: skip
    return _to_index(arith.andi(known, _i64(_PROCESSOR)))


def _add(counters: ir.Value, place: ir.Value, value: ir.Value) -> ir.Value:
    """What a counter was; `value` is added to it."""
    kind = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(arith.AtomicRMWKind.addi))
    return memref.AtomicRMWOp(kind, value, counters, [place]).result


def _to_index(value: ir.Value) -> ir.Value:
    return arith.index_cast(ir.IndexType.get(), value)


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def _i64(value: int) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(64), value)
