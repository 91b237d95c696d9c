"""Fewer carried values for a loop that is being built.

A value that no iteration changes is used where it is, so that it may be a constant in the loop. A
value to which each iteration only appends is not read in the loop: what is appended is collected,
and joined once behind the loop. An induction variable follows from the number of the iteration.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...mlir import ir
from ..symbolic import Dim
from .base import create, graph_op
from .control_flow import YieldAllOp, terminator
from .movement import ConcatOp, concat, reshape, transpose
from .size_names import names_in, names_of
from .trip_count import InductionVariable
from .types import TensorType, type_of


@dataclass(frozen=True)
class Unchanged:
    """A value that no iteration changes."""

    value: ir.Value


@dataclass(frozen=True)
class Appended:
    """A value that begins with `first`; an iteration appends a value of `type_` along `axis`."""

    first: ir.Value
    type_: TensorType
    axis: int

    def joined(self, stack: ir.Value) -> ir.Value:
        """The value after the loop, which has collected the `stack`."""
        count, *shape = type_of(stack).shape
        inner = range(1, len(shape) + 1)
        perm = [*inner[: self.axis], 0, *inner[self.axis :]]
        shape[self.axis] = count * shape[self.axis]
        rows = reshape(transpose(stack, perm=perm), shape=shape)
        return concat([self.first, rows], axis=self.axis)


State = ir.Value | Unchanged | Appended | InductionVariable


def use_unchanged(block: ir.Block, initial: Sequence[ir.Value], leading: int) -> None:
    """Use the `initial` carried values that no iteration changes in `block`, the body of a loop."""
    yielded = list(terminator(block).operands)[leading:]
    for argument, first, after in zip(block.arguments, initial, yielded, strict=False):
        if after in (argument, first) and argument.type == first.type:
            argument.replace_all_uses_with(first)


def reduce_state(
    block: ir.Block,
    initial: Sequence[ir.Value],
    leading: int,
    inner: Collection[str],
    variables: Mapping[int, InductionVariable],
) -> list[State]:
    """Drop arguments of `block`, the body of a loop, that it need not carry.

    `initial` are the first carried values, which the block uses where they are unchanged,
    `leading` is the number of values that the block yields before the next ones, and `inner` are
    the names of sizes that mean nothing outside. `variables` are arguments, by number, that nothing
    uses any more. Returns what becomes of each carried value; those that stay are the elements of
    `initial`. The block yields what is appended behind all else.
    """
    states = [
        variables.get(number) or _state_of(block, number, first, leading, inner)
        for number, first in enumerate(initial)
    ]
    if all(isinstance(state, ir.Value) for state in states):
        return states
    end = terminator(block)
    yielded = list(end.operands)
    appended: list[ir.Value] = []
    with ir.InsertionPoint(end), end.location:
        for number, state in enumerate(states):
            if isinstance(state, Appended):
                _, *parts = yielded[leading + number].owner.operation.operands
                appended.append(parts[0] if len(parts) == 1 else concat(parts, axis=state.axis))
        dropped = [not isinstance(state, ir.Value) for state in states]
        kept = [
            value
            for number, value in enumerate(yielded)
            if not (leading <= number < leading + len(states) and dropped[number - leading])
        ]
        create(YieldAllOp, [[*kept, *appended]], {}, [])
    end.erase()
    for number, state in reversed(list(enumerate(states))):
        if isinstance(state, Appended):
            yielded[leading + number].owner.operation.erase()
        if not isinstance(state, ir.Value):
            block.erase_argument(number)
    return states


def _state_of(
    block: ir.Block, number: int, first: ir.Value, leading: int, inner: Collection[str]
) -> State:
    argument, after = block.arguments[number], terminator(block).operands[leading + number]
    if after in (argument, first):
        return Unchanged(first) if argument.type == first.type else first
    op = None if isinstance(after.owner, ir.Block) else graph_op(after.owner)
    if not isinstance(op, ConcatOp) or op.xs[0] != argument or len(op.xs) == 1:
        return first
    if len(list(argument.uses)) > 1 or len(list(after.uses)) > 1:
        return first
    sizes = [size for x in op.xs[1:] for size in type_of(x).shape]
    varies = any(isinstance(size, Dim) and not size.symbols().isdisjoint(inner) for size in sizes)
    axis = op.axis
    if varies or _uses_size(block, type_of(argument).shape[axis], op.operation):
        return first
    appended = type_of(op.xs[1])
    for x in op.xs[2:]:
        appended = ConcatOp.infer([appended, type_of(x)], axis=axis)
    return Appended(first, appended, axis)


def _uses_size(block: ir.Block, size: int | Dim, but: ir.Operation) -> bool:
    """Return whether an op of `block`, but for `but` and the last one, depends on `size`, if it has
    a name."""
    names = names_of([size])
    others = [op for op in block.operations if op.operation != but]
    return any(names & names_in(op) for op in others[:-1])
