"""Builders for loops that build a tensor element by element, for use in a dispatch region."""

from collections.abc import Callable, Sequence
from typing import Any

from ...mlir import arith, ir, scf


def for_each(
    extents: Sequence[ir.Value],
    state: ir.Value,
    body: Callable[[list[ir.Value], ir.Value], ir.Value],
) -> ir.Value:
    """Nested loops over `extents`: ``state = body(positions, state)`` in row-major order."""
    if not extents:
        return body([], state)
    return for_range(
        extents[0],
        state,
        lambda outer, now: for_each(extents[1:], now, lambda inner, s: body([outer, *inner], s)),
    )


def for_range(
    count: ir.Value,
    state: ir.Value,
    body: Callable[[ir.Value, ir.Value], ir.Value],
    start: ir.Value | None = None,
) -> ir.Value:
    """``state = body(i, state)`` for ``i`` from `start` (0) to ``count - 1``."""
    index = ir.IndexType.get()
    first = arith.constant(index, 0) if start is None else start
    loop = scf.ForOp(first, count, arith.constant(index, 1), [state])
    with ir.InsertionPoint(loop.body):
        scf.YieldOp([body(loop.induction_variable, loop.inner_iter_args[0])])
    return loop.results[0]


def while_(
    state: Sequence[ir.Value],
    condition: Callable[..., ir.Value],
    body: Callable[..., Sequence[ir.Value]],
    owned: Sequence[int] = (),
) -> list[ir.Value]:
    """``state = body(*state)`` while ``condition(*state)`` holds.

    `owned` lists the tensors of the state to whose memory no other value refers, neither before the
    loop nor within it; outside of kernels, they are updated in place.
    """
    types = [value.type for value in state]
    locations = [ir.Location.current] * len(types)
    loop = scf.WhileOp(types, list(state))
    _mark_owned(loop, owned)
    before = loop.before.blocks.append(*types, arg_locs=locations)
    after = loop.after.blocks.append(*types, arg_locs=locations)
    with ir.InsertionPoint(before):
        scf.ConditionOp(condition(*before.arguments), list(before.arguments))
    with ir.InsertionPoint(after):
        scf.YieldOp(list(body(*after.arguments)))
    return list(loop.results)


OWNED = "graph.owned"
"""The attribute of a loop or branch that lists its owned results."""


def _mark_owned(op: Any, owned: Sequence[int]) -> None:
    if owned:
        op.operation.attributes[OWNED] = ir.DenseI64ArrayAttr.get(list(owned))


def owned_results(op: ir.Operation) -> set[int]:
    """The numbers of the results of a loop or branch that are owned, as in `while_`."""
    if OWNED not in op.attributes:
        return set()
    return set(ir.DenseI64ArrayAttr(op.attributes[OWNED]))


def if_(
    condition: ir.Value, state: ir.Value, body: Callable[[], ir.Value], owned: bool = False
) -> ir.Value:
    """``body()`` if `condition` holds, else `state`. `owned` is that of `while_`."""
    branch = scf.IfOp(condition, [state.type], has_else=True)
    _mark_owned(branch, [0] if owned else [])
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([body()])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([state])
    return branch.results[0]
