"""Builders for loops that build a tensor element by element, for use in a dispatch region."""

from collections.abc import Callable, Sequence

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
) -> list[ir.Value]:
    """``state = body(*state)`` while ``condition(*state)`` holds."""
    types = [value.type for value in state]
    locations = [ir.Location.current] * len(types)
    loop = scf.WhileOp(types, list(state))
    before = loop.before.blocks.append(*types, arg_locs=locations)
    after = loop.after.blocks.append(*types, arg_locs=locations)
    with ir.InsertionPoint(before):
        scf.ConditionOp(condition(*before.arguments), list(before.arguments))
    with ir.InsertionPoint(after):
        scf.YieldOp(list(body(*after.arguments)))
    return list(loop.results)


def if_(condition: ir.Value, state: ir.Value, body: Callable[[], ir.Value]) -> ir.Value:
    """``body()`` if `condition` holds, else `state`."""
    branch = scf.IfOp(condition, [state.type], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([body()])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([state])
    return branch.results[0]
