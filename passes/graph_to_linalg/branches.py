"""Loops and conditions outside of kernels, as branches between blocks.

The backend places what an iteration computes in one piece of memory. Where in it a tensor lies it
hands on right between blocks, and not always between iterations of ``scf.while``. MLIR's own
``convert-scf-to-cf`` would take the loops within kernels too, which are to stay as they are.
"""

from typing import Any

from ...mlir import cf, ir


def branches_from_loops(function: Any) -> None:
    """Turn the ``scf.if`` and ``scf.while`` ops of `function` into branches, except in kernels.

    Only blocks of the function itself are looked at: a kernel is a region of an op there, and the
    regions of what is turned become such blocks in their turn.
    """
    region = function.operation.regions[0]
    waiting = list(region.blocks)
    while waiting:
        block = waiting.pop()
        for op in list(block.operations):
            convert = CONVERSIONS.get(op.operation.name)
            if convert is not None:
                waiting += convert(op.operation, region)
                break


def _convert_if(op: ir.Operation, region: ir.Region) -> list[ir.Block]:
    (condition,) = op.operands
    block, after = op.block, _split_after(op)
    targets = [
        _moved(*branch.blocks, to=region) if len(branch.blocks) else after for branch in op.regions
    ]
    for target in targets:
        if target != after:
            _branch_instead(_terminator(target), after)
    with ir.InsertionPoint(block), op.location:
        cf.cond_br(condition, [], [], *targets)
    op.erase()
    return [*(target for target in targets if target != after), after]


def _convert_while(op: ir.Operation, region: ir.Region) -> list[ir.Block]:
    block, after = op.block, _split_after(op)
    before, body = (_moved(*part.blocks, to=region) for part in op.regions)
    with ir.InsertionPoint(block), op.location:
        cf.br(list(op.operands), before)
    decision = _terminator(before)
    goes_on, *state = decision.operands
    with ir.InsertionPoint(decision), decision.location:
        cf.cond_br(goes_on, state, state, body, after)
    decision.erase()
    _branch_instead(_terminator(body), before)
    op.erase()
    return [before, body, after]


CONVERSIONS = {"scf.if": _convert_if, "scf.while": _convert_while}


def _split_after(op: ir.Operation) -> ir.Block:
    """Move what follows `op` to a block of its own, whose arguments stand for its results."""
    operations = list(op.block.operations)
    types = [result.type for result in op.results]
    after = op.block.create_after(*types, arg_locs=[op.location] * len(types))
    for result, argument in zip(op.results, after.arguments, strict=True):
        result.replace_all_uses_with(argument)
    position = next(at for at, each in enumerate(operations) if each.operation == op)
    for following in operations[position + 1 :]:
        after.append(following)
    return after


def _moved(block: ir.Block, *, to: ir.Region) -> ir.Block:
    """The only `block` of a region, as the last one of another."""
    block.append_to(to)
    return to.blocks[len(to.blocks) - 1]


def _branch_instead(terminator: ir.Operation, target: ir.Block) -> None:
    """Go to `target`, with what `terminator` hands on, in its place."""
    with ir.InsertionPoint(terminator), terminator.location:
        cf.br(list(terminator.operands), target)
    terminator.erase()


def _terminator(block: ir.Block) -> ir.Operation:
    return block.operations[len(block.operations) - 1].operation
