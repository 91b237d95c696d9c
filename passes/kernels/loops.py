"""Loops in kernels, beside those that `VectorEmitter` has."""

from collections.abc import Callable, Sequence

from ...mlir import ir, scf
from .emitter import Registers


def while_(
    state: Sequence[ir.Value],
    condition: Callable[..., ir.Value],
    body: Callable[..., Registers],
) -> Registers:
    """``state = body(*state)`` while ``condition(*state)`` holds."""
    types = [value.type for value in state]
    locations = [ir.Location.current] * len(types)
    loop = scf.WhileOp(types, list(state))
    before = loop.before.blocks.append(*types, arg_locs=locations)
    after = loop.after.blocks.append(*types, arg_locs=locations)
    with ir.InsertionPoint(before):
        scf.ConditionOp(condition(*before.arguments), list(before.arguments))
    with ir.InsertionPoint(after):
        scf.YieldOp(body(*after.arguments))
    return list(loop.results)
