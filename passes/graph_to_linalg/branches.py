"""Loops and conditions outside of kernels, as branches between blocks.

The backend places what an iteration computes in one piece of memory. Where in it a tensor lies it
hands on right between blocks, and not always between iterations of ``scf.while``. MLIR's own
``convert-scf-to-cf`` would take the loops within kernels too, which are to stay as they are.
"""

from collections.abc import Sequence
from typing import Any

from ...mlir import cf, ir


def branches_from_loops(function: Any) -> None:
    """Turn the ``scf.if`` and ``scf.while`` ops of `function` into branches, except in kernels.

    Only blocks of the function itself are looked at: a kernel is a region of an op there, and the
    regions of what is turned become such blocks in their turn, in the order in which they run.
    """
    waiting = list(function.operation.regions[0].blocks)
    while waiting:
        block = waiting.pop()
        for op in list(block.operations):
            convert = CONVERSIONS.get(op.operation.name)
            if convert is not None:
                waiting += convert(op.operation)
                break


def _convert_if(op: ir.Operation) -> list[ir.Block]:
    (condition,) = op.operands
    block, after = op.block, _split_after(op)
    targets = [
        _moved(*region.blocks, before=after) if len(region.blocks) else after
        for region in op.regions
    ]
    for target in targets:
        if target != after:
            _branch_instead(_terminator(target), after)
    with ir.InsertionPoint(block), op.location:
        cf.cond_br(condition, [], [], *targets)
    op.erase()
    return [*(target for target in targets if target != after), after]


def _convert_while(op: ir.Operation) -> list[ir.Block]:
    block, after = op.block, _split_after(op)
    decide, body = (_moved(*region.blocks, before=after) for region in op.regions)
    with ir.InsertionPoint(block), op.location:
        cf.br(list(op.operands), decide)
    decision = _terminator(decide)
    goes_on, *state = decision.operands
    with ir.InsertionPoint(decision), decision.location:
        cf.cond_br(goes_on, state, state, body, after)
    decision.erase()
    _branch_instead(_terminator(body), decide)
    op.erase()
    return [decide, body, after]


CONVERSIONS = {"scf.if": _convert_if, "scf.while": _convert_while}


def _split_after(op: ir.Operation) -> ir.Block:
    """Move what follows `op` to a block of its own, whose arguments stand for its results."""
    types = [result.type for result in op.results]
    after = op.block.create_after(*types, arg_locs=[op.location] * len(types))
    operations = list(op.block.operations)
    position = next(at for at, each in enumerate(operations) if each.operation == op)
    _fill(after, operations[position + 1 :], op.results)
    return after


def _moved(block: ir.Block, *, before: ir.Block) -> ir.Block:
    """A block with the operations of `block`, the only one of a region, in front of another."""
    types = [argument.type for argument in block.arguments]
    locations = [argument.location for argument in block.arguments]
    moved = before.create_before(*types, arg_locs=locations)
    _fill(moved, list(block.operations), block.arguments)
    return moved


def _fill(block: ir.Block, operations: Sequence[Any], values: Sequence[ir.Value]) -> None:
    """Move `operations` to the empty `block`, whose arguments stand for `values`."""
    for operation in operations:
        block.append(operation)
    for value, argument in zip(values, block.arguments, strict=True):
        value.replace_all_uses_with(argument)


def _branch_instead(terminator: ir.Operation, target: ir.Block) -> None:
    """Go to `target`, with what `terminator` hands on, in its place."""
    with ir.InsertionPoint(terminator), terminator.location:
        cf.br(list(terminator.operands), target)
    terminator.erase()


def _terminator(block: ir.Block) -> ir.Operation:
    return block.operations[len(block.operations) - 1].operation
