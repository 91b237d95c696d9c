"""Loops and conditions outside of kernels, as branches between blocks.

The backend allocates the tensors of an iteration in one buffer. Between iterations of
``scf.while``, it does not always pass on their offsets in it correctly. Between blocks it does, but
its virtual machine loses one of two operands that are in the same register, as tensors in one
buffer are, and a 32-bit operand, as conditions are, in half of a 64-bit register that the branch
writes. So a branch passes one list of all tensors, and scalars of 64 bits.

MLIR's own ``convert-scf-to-cf`` would convert the loops within kernels too, which must stay.
"""

from collections.abc import Container, Sequence
from typing import Any

from ...dialects import iree
from ...mlir import arith, cf, ir
from .aliasing import captured, copy, is_within, is_written
from .loops import owned_results


def branches_from_loops(function: Any) -> None:
    """Turn the ``scf.if`` and ``scf.while`` ops of `function` into branches, except in kernels.

    Only blocks of the function itself are visited: a kernel is a region of an op there, and the
    regions of converted ops become blocks of the function, in the order in which they run.
    """
    waiting = list(function.operation.regions[0].blocks)
    while waiting:
        block = waiting.pop()
        for op in list(block.operations):
            convert = CONVERSIONS.get(op.operation.name)
            if convert is not None:
                with op.operation.location:
                    waiting += convert(op.operation)
                break


def _convert_if(op: ir.Operation) -> list[ir.Block]:
    (condition,) = op.operands
    block, after = op.block, _split_after(op)
    _receive(after, op.results, owned_results(op))
    targets = [
        _moved(*region.blocks, before=after) if len(region.blocks) else after
        for region in op.regions
    ]
    for target in targets:
        if target != after:
            _branch_instead(_terminator(target), after)
    with ir.InsertionPoint(block):
        cf.cond_br(condition, [], [], *targets)
    op.erase()
    return [*(target for target in targets if target != after), after]


def _convert_while(op: ir.Operation) -> list[ir.Block]:
    block, after = op.block, _split_after(op)
    decide, body = (region.blocks[0] for region in op.regions)
    for repeated in (decide, body):
        _keep_captured(repeated)
    head = after.create_before()
    _fill(head, list(decide.operations))
    inside = after.create_before()
    _fill(inside, list(body.operations))
    decision = _terminator(head)
    _, *state = decision.operands
    for values in (body.arguments, op.results):
        for value, now in zip(values, state, strict=True):
            value.replace_all_uses_with(now)
    _receive(head, decide.arguments, owned_results(op))
    with ir.InsertionPoint(block):
        cf.br(_handed_on(op.operands), head)
    with ir.InsertionPoint(decision), decision.location:
        cf.cond_br(decision.operands[0], [], [], inside, after)  # what was received, maybe
    decision.erase()
    _branch_instead(_terminator(inside), head)
    op.erase()
    return [head, inside, after]


def _keep_captured(block: ir.Block) -> None:
    """Copy the captured tensors that `block` updates, so that its next run finds them unchanged."""
    for x in captured(block):
        if is_written(x, block):
            uses = [use for use in x.uses if is_within(use.owner.operation, block)]
            with ir.InsertionPoint.at_block_begin(block):
                own = copy(x)
            for use in uses:
                use.owner.operation.operands[use.operand_number] = own


CONVERSIONS = {"scf.if": _convert_if, "scf.while": _convert_while}


def _split_after(op: ir.Operation) -> ir.Block:
    """Move the ops after `op` to a block of their own."""
    operations = list(op.block.operations)
    position = next(at for at, each in enumerate(operations) if each.operation == op)
    after = op.block.create_after()
    _fill(after, operations[position + 1 :])
    return after


def _moved(block: ir.Block, *, before: ir.Block) -> ir.Block:
    """Move the operations of `block`, which takes no arguments, to a new block before another."""
    moved = before.create_before()
    _fill(moved, list(block.operations))
    return moved


def _fill(block: ir.Block, operations: Sequence[Any]) -> None:
    for operation in operations:
        block.append(operation)


def _handed_on(values: Sequence[ir.Value]) -> list[ir.Value]:
    """The operands that pass `values` to another block: 64-bit scalars, and a list of tensors."""
    tensors, scalars = _apart(values)
    return [*map(_widened, scalars), *([iree.tensor_list(tensors)] if tensors else [])]


def _receive(block: ir.Block, values: Sequence[ir.Value], owned: Container[int]) -> None:
    """Add the arguments for `values` to `block`, which has none, and replace `values` by them.

    A tensor that is written is copied, unless its number is among `owned`.
    """
    tensors, scalars = _apart(values)
    in_place = [value for number, value in enumerate(values) if number in owned]
    with ir.InsertionPoint.at_block_begin(block):
        index, location = ir.IndexType.get(), ir.Location.current
        for scalar in scalars:
            scalar.replace_all_uses_with(
                _narrowed(block.add_argument(index, location), scalar.type)
            )
        if tensors:
            items = block.add_argument(iree.tensor_list_type(), location)
            now = iree.tensors_of(items, [x.type for x in tensors])
            for x, received in zip(tensors, now, strict=True):
                copies = is_written(x) and x not in in_place
                x.replace_all_uses_with(copy(received) if copies else received)


def _apart(values: Sequence[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
    tensors = [value for value in values if isinstance(value.type, ir.RankedTensorType)]
    return tensors, [value for value in values if value not in tensors]


def _widened(value: ir.Value) -> ir.Value:
    """Convert a condition or a number of the host to ``index``."""
    index = ir.IndexType.get()
    return value if value.type == index else arith.index_castui(index, value)


def _narrowed(value: ir.Value, type_: ir.Type) -> ir.Value:
    return value if value.type == type_ else arith.index_castui(type_, value)


def _branch_instead(terminator: ir.Operation, target: ir.Block) -> None:
    """Replace `terminator` by a branch to `target` with its operands."""
    with ir.InsertionPoint(terminator), terminator.location:
        cf.br(_handed_on(terminator.operands), target)
    terminator.erase()


def _terminator(block: ir.Block) -> ir.Operation:
    return block.operations[len(block.operations) - 1].operation
