"""The trip count of a loop that its induction variables end, for a loop that is being built.

Exporters write loops over the steps of a sequence with a counter and a condition::

    while i < n:
        x[i] ...
        i = i + 1

Such a loop is one of known length: the host need not wait for its condition, and reads rows at
positions that it knows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...mlir import ir
from ..symbolic import Dim, at_least, ceildiv, maximum, minimum
from .base import GraphOp, graph_op
from .casts import CastOp, cast
from .elementwise import less_or_equal
from .movement import ReshapeOp, reshape
from .shapes import ConstantOp, constant, require, sizes
from .symbolic_values import EXACT, known_sizes
from .types import is_float, type_of

_MOST = {dtype: most - (1 << 10) for dtype, most in EXACT.items()}
"""Magnitudes up to which loops may count in floats: positions somewhat further are exact, too."""

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
class Bound:
    """A condition ``low < high``, or ``low <= high``, with 1 for `more`; `dtype` is the float type
    in which these, or positions that depend on them, are computed, if any."""

    low: Size
    high: Size
    more: int
    dtype: np.dtype | None

    @property
    def rest(self) -> Size:
        """This is more than 0 if the condition holds."""
        return self.high - self.low + self.more

    def computed_in(self, dtype: np.dtype | None) -> "Bound":
        """The condition, with positions in `dtype`."""
        return self if dtype is None or self.dtype is not None else replace(self, dtype=dtype)

    def at(self, iteration: Dim, number: Size) -> "Bound":
        """The condition in which `iteration` is `number`."""
        low, high = (
            size.evaluate({str(iteration): number}) if isinstance(size, Dim) else size
            for size in (self.low, self.high)
        )
        return replace(self, low=low, high=high)

    def facts(self, step: int, iteration: Dim) -> list[Size]:
        """Sizes that are 0 at least in each iteration of a loop that this, of its first one,
        and the same with a `rest` less by `step` in each later one, keeps running."""
        found = [self.rest - step * iteration - 1]
        return found if self.dtype is None else [*found, _MOST[self.dtype] - self.high]


@dataclass(frozen=True)
class TripCount:
    """The number of iterations of a loop, and the conditions that decide it: those of the first
    iteration, and by how much the `rest` of each falls in an iteration.

    `always` lists the numbers of conditions that hold in the first iteration, whatever the sizes
    are."""

    count: Size
    bounds: tuple[Bound, ...]
    steps: tuple[int, ...]
    always: frozenset[int]

    def facts(self, iteration: Dim) -> list[Size]:
        """Sizes that are 0 at least in an iteration."""
        return [
            fact
            for number, (bound, step) in enumerate(zip(self.bounds, self.steps, strict=True))
            if number not in self.always
            for fact in bound.facts(step, iteration)
        ]

    def require_exact(self) -> None:
        """Emit checks that integers which are compared as floats are exact."""
        for bound in self.bounds:
            if bound.dtype is not None and not at_least(_MOST[bound.dtype], bound.high):
                most = constant(value=np.array(_MOST[bound.dtype], np.int64))
                message = f"a loop counts in {bound.dtype}, further than that is exact"
                require(less_or_equal(as_value(bound.high, most), most), message=message)


def _count(bound: Bound, step: int, holds: bool) -> Size:
    return maximum(ceildiv(bound.rest, step), 1 if holds else 0)


def trip_count(
    first: ir.Value | None,
    condition: ir.Value,
    iteration: Dim,
    inner: Collection[str],
    limit: Size,
    unlimited: int,
    dtype: np.dtype | None = None,
) -> TripCount | None:
    """The number of iterations of a loop that runs while conditions on induction variables hold,
    and `limit` of them at most; None if it is not known.

    `first` is the condition of the first iteration (None: it holds), `condition` that of the next
    one after `iteration`. `inner` are the names of sizes that mean nothing outside, `iteration`
    among them. `dtype` is the float type in which positions are computed, if there is one.
    """
    conditions = bounds_of(condition)
    before = first_bounds(first)
    if conditions is None or before is None:
        return None
    bounds, steps = list[Bound](), list[int]()
    for bound in conditions:
        in_floats = bound.computed_in(dtype)
        if _step_of(in_floats, iteration) is not None:
            bound = in_floats
        start, step = bound.at(iteration, -1), _step_of(bound, iteration)
        symbols = (size.symbols() for size in (start.low, start.high) if isinstance(size, Dim))
        if step is None or any(not names.isdisjoint(inner) for names in symbols):
            return None
        bounds.append(start)
        steps.append(step)
    required = [bound.rest for bound in before]
    always = {number for number, bound in enumerate(bounds) if bound.rest not in required}
    if not set(required) <= {bound.rest for bound in bounds}:
        return None
    for number, (bound, step) in enumerate(zip(bounds, steps, strict=True)):
        count = _count(bound, step, number in always)
        limit = count if limit == unlimited else minimum(limit, count)
    return TripCount(limit, tuple(bounds), tuple(steps), frozenset(always))


def _step_of(bound: Bound, iteration: Dim) -> int | None:
    """By how much the rest of `bound` falls in an iteration; None if that differs or it does not
    fall, or if checks of its first iteration do not show that floats hold its sides."""
    after = bound.at(iteration, iteration + 1)
    step, rise, fall = bound.rest - after.rest, after.low - bound.low, bound.high - after.high
    if not isinstance(step, int) or step <= 0:
        return None
    if bound.dtype is not None:
        start = bound.at(iteration, -1)
        if not (at_least(rise, 0) and at_least(fall, 0)):
            return None
        if not at_least(start.low, -EXACT[bound.dtype]):
            return None
    return step


def first_bounds(condition: ir.Value | None) -> list[Bound] | None:
    """The conditions of the first iteration (None: it runs); None if one is of others."""
    return [] if condition is None or known_sizes(condition) == (1,) else bounds_of(condition)


def bounds_of(condition: ir.Value) -> list[Bound] | None:
    """The conditions that must all hold for `condition` to; None if one is of others."""
    waiting, found = [condition], list[Bound]()
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


def _bound(op: GraphOp) -> Bound | None:
    """The condition of the comparison `op`; None if it is none, or of others."""
    comparison = _COMPARISONS.get(op.operation.name)
    if comparison is None:
        return None
    is_greater, more = comparison
    a, b = reversed(list(op.operation.operands)) if is_greater else op.operation.operands
    low, high, dtype = _size(a), _size(b), type_of(a).dtype
    if low is None or high is None or (is_float(dtype) and dtype not in EXACT):
        return None
    return Bound(low, high, more, dtype if is_float(dtype) else None)


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
