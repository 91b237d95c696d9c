"""The trip count of a loop that its induction variables end, for a loop that is being built.

Exporters write loops over the steps of a sequence with a counter and a condition::

    while i < n:
        x[i] ...
        i = i + 1

Such a loop is one of known length: the host need not wait for its condition, and reads rows at
positions that it knows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ...mlir import ir
from ..symbolic import Dim, maximum, minimum
from .base import GraphOp, graph_op
from .casts import CastOp, cast
from .elementwise import less_or_equal
from .movement import ReshapeOp, reshape
from .shapes import ConstantOp, constant, require, sizes
from .symbolic_values import known_sizes
from .types import is_float, type_of

EXACT = {np.dtype(np.float32): 1 << 24, np.dtype(np.float64): 1 << 53}
"""Magnitudes up to which floats hold every integer: induction variables are compared as such."""

_COUNTING = (np.dtype(np.int32), np.dtype(np.int64))

_COMPARISONS = {
    "graph.less": (False, 0),
    "graph.less_or_equal": (False, 1),
    "graph.greater": (True, 0),
    "graph.greater_or_equal": (True, 1),
}
"""By name: true if the first operand is the greater one, and 1 if they may be equal."""

Size = int | Dim


@dataclass(frozen=True)
class InductionVariable:
    """A carried integer that is `first` in the first iteration, and grows by `step` in each."""

    first: Size
    step: int

    def at(self, iteration: Size) -> Size:
        """The value in an iteration, counted from 0."""
        return self.first + self.step * iteration


def induction_variables(
    block: ir.Block, initial: Sequence[ir.Value], yielded: Sequence[ir.Value]
) -> dict[int, InductionVariable]:
    """The arguments of `block`, the body of a loop, that are induction variables, by number."""
    found: dict[int, InductionVariable] = {}
    for number, (argument, first, after) in enumerate(
        zip(block.arguments, initial, yielded, strict=False)
    ):
        type_, step = type_of(argument), _step(argument, after)
        is_scalar = type_.dtype in _COUNTING and all(size == 1 for size in type_.shape)
        start = known_sizes(first) if is_scalar and step is not None else None
        if start is not None and step is not None:
            found[number] = InductionVariable(start[0], step)
    return found


def _step(argument: ir.Value, after: ir.Value) -> int | None:
    """The constant that an iteration adds to `argument`, if there is one."""
    op = graph_op(after.owner)
    name = None if op is None else op.operation.name
    if op is None or name not in ("graph.add", "graph.sub"):
        return None
    a, b = op.operation.operands
    if name == "graph.add" and b == argument:
        a, b = b, a
    step = known_sizes(b) if a == argument else None
    if step is None or not isinstance(step[0], int):
        return None
    return step[0] if name == "graph.add" else -step[0]


def use_iteration(block: ir.Block, found: dict[int, InductionVariable], iteration: Dim) -> None:
    """Compute the induction variables in `block` from the number of the iteration."""
    with ir.InsertionPoint.at_block_begin(block):
        for number, variable in found.items():
            argument = block.arguments[number]
            argument.replace_all_uses_with(as_value(variable.at(iteration), argument))


def as_value(size: Size, like: ir.Value) -> ir.Value:
    """`size` as a tensor of the type of `like`."""
    type_ = type_of(like)
    value = reshape(sizes(sizes=[size]), shape=type_.shape)
    return value if type_.dtype == np.int64 else cast(value, to=type_.dtype)


@dataclass(frozen=True)
class _Bound:
    """A condition ``0 < rest``; `dtype` is the float type that it was computed in, if any."""

    rest: Size
    dtype: np.dtype | None


def trip_count(
    first: ir.Value | None,
    condition: ir.Value,
    iteration: Dim,
    inner: Collection[str],
    limit: Size,
    unlimited: int,
) -> Size | None:
    """The number of iterations of a loop that runs while conditions on induction variables hold,
    and `limit` of them at most; None if it is not known.

    `first` is the condition of the first iteration (None: it holds), `condition` that of the next
    one after `iteration`. `inner` are the names of sizes that mean nothing outside, `iteration`
    among them. Emits checks that integers which are compared as floats are exact.
    """
    bounds = _bounds(condition)
    before = [] if first is None or known_sizes(first) == (1,) else _bounds(first)
    if bounds is None or before is None:
        return None
    of_first = [bound.rest for bound in before]
    counts: list[Size] = []
    for bound in bounds:
        count = bound.rest + iteration + 1
        if isinstance(count, Dim) and not count.symbols().isdisjoint(inner):
            return None
        holds = count not in of_first  # in the first iteration, whatever the sizes are
        counts.append(maximum(count, 1 if holds else 0))
        of_first = [rest for rest in of_first if rest != count]
    if of_first:
        return None
    for count, bound in zip(counts, bounds, strict=True):
        _require_exact(count, bound)
    for count in counts:
        limit = count if limit == unlimited else minimum(limit, count)
    return limit


def _require_exact(count: Size, bound: _Bound) -> None:
    if bound.dtype is not None:
        most = constant(value=np.array(EXACT[bound.dtype], np.int64))
        message = f"a loop counts in {bound.dtype}, further than that is exact"
        require(less_or_equal(as_value(count, most), most), message=message)


def _bounds(condition: ir.Value) -> list[_Bound] | None:
    """The conditions that must all hold for `condition` to; None if one is of others."""
    waiting, found = [condition], list[_Bound]()
    while waiting:
        op = graph_op(waiting.pop().owner)
        if isinstance(op, ReshapeOp | CastOp) and type_of(op.x).dtype == np.bool_:
            waiting.append(op.x)
        elif op is not None and op.operation.name == "graph.and":
            waiting += reversed(list(op.operation.operands))
        else:
            bound = None if op is None else _bound(op)
            if bound is None:
                return None
            found.append(bound)
    return found


def _bound(op: GraphOp) -> _Bound | None:
    """The condition of the comparison `op`; None if it is none, or of others."""
    comparison = _COMPARISONS.get(op.operation.name)
    if comparison is None:
        return None
    is_greater, more = comparison
    a, b = reversed(list(op.operation.operands)) if is_greater else op.operation.operands
    low, high, dtype = _size(a), _size(b), type_of(a).dtype
    if low is None or high is None or (is_float(dtype) and dtype not in EXACT):
        return None
    return _Bound(high - low + more, dtype if is_float(dtype) else None)


def _size(value: ir.Value) -> Size | None:
    """The integer that `value`, one number of any type, holds; None if it is not known."""
    if any(size != 1 for size in type_of(value).shape):
        return None
    while is_float(type_of(value).dtype):
        op = graph_op(value.owner)
        if isinstance(op, ConstantOp):
            number = float(op.attrs["value"].reshape(())[()])
            return int(number) if number.is_integer() else None
        if not isinstance(op, CastOp | ReshapeOp) or type_of(op.x).dtype.itemsize < 4:
            return None
        value = op.x
    known = known_sizes(value)
    return None if known is None else known[0]
