"""The trip count of a loop that its induction variables end, for a loop that is being built.

Exporters write loops over the steps of a sequence with a counter and a condition::

    while i < n:
        x[i] ...
        i = i + 1

Such a loop is one of known length: the host need not wait for its condition, and reads rows at
positions that it knows.
"""

from collections.abc import Callable, Collection, Sequence
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

_MARGIN = 1 << 10
_MOST = {dtype: most - _MARGIN for dtype, most in EXACT.items()}
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
    block: ir.Block,
    initial: Sequence[ir.Value],
    yielded: Sequence[ir.Value],
    count: Size | None,
) -> dict[int, InductionVariable]:
    """The arguments of `block`, the body of a loop of `count` iterations at most (None: any
    number), that are induction variables, by number."""
    found: dict[int, InductionVariable] = {}
    for number, (argument, first, after) in enumerate(
        zip(block.arguments, initial, yielded, strict=False)
    ):
        type_ = type_of(argument)
        is_scalar = type_.dtype in _COUNTING and all(size == 1 for size in type_.shape)
        step = _step(argument, after) if is_scalar else None
        start = None if step is None else known_sizes(first)
        if step is None or start is None:
            continue
        variable = InductionVariable(start[0], step.size)
        if step.dtype is None or _stays_exact(variable, count, _MOST[step.dtype]):
            found[number] = variable
    return found


@dataclass(frozen=True)
class _Step:
    """A constant that an iteration adds, in floats of `dtype` if that is not None."""

    size: int
    dtype: np.dtype | None


def _step(argument: ir.Value, after: ir.Value) -> _Step | None:
    """The constant that an iteration adds to `argument`, if there is one. Exporters add in floats,
    too, and add 0 where they copy."""
    size, reach, dtype, value = 0, 0, None, after
    narrowest = type_of(argument).dtype.itemsize  # fewer bits might not hold it
    while value != argument:
        op, type_ = graph_op(value.owner), type_of(value)
        if op is None or any(extent != 1 for extent in type_.shape):
            return None
        if type_.dtype in EXACT:
            dtype = type_.dtype if dtype is None else min(dtype, type_.dtype, key=EXACT.__getitem__)
        elif type_.dtype not in _COUNTING or type_.dtype.itemsize < narrowest:
            return None
        if isinstance(op, CastOp | ReshapeOp):
            value = op.x
            continue
        added = _added(op)
        if added is None:
            return None
        value, size, reach = added[0], size + added[1], reach + abs(added[1])
    return None if dtype is not None and reach > _MARGIN else _Step(size, dtype)


def _added(op: GraphOp) -> tuple[ir.Value, int] | None:
    """The value to which `op` adds a constant, and the constant; None if it does anything else."""
    name = op.operation.name
    if name not in ("graph.add", "graph.sub"):
        return None
    a, b = op.operation.operands
    constant_ = known_sizes(b)
    if constant_ is None and name == "graph.add":
        a, constant_ = b, known_sizes(a)
    if constant_ is None or not isinstance(constant_[0], int):
        return None
    return a, constant_[0] if name == "graph.add" else -constant_[0]


def _stays_exact(variable: InductionVariable, count: Size | None, most: int) -> bool:
    """Return whether `variable` stays within `most` in `count` iterations."""
    if count is None:
        return False
    ends = (variable.first, variable.at(count))
    return all(at_least(most, end) and at_least(end, -most) for end in ends)


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

    @property
    def is_exact(self) -> bool:
        """True if floats hold what is compared, whatever the sizes."""
        return self.dtype is None or at_least(_MOST[self.dtype], self.high)

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
            if bound.dtype is not None and not bound.is_exact:
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
        start = _start_of(bound, iteration, inner, dtype)
        if start is None:
            return None
        bounds.append(start[0])
        steps.append(start[1])
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


def facts_of_conditions(
    first: ir.Value | None,
    condition: ir.Value,
    iteration: Dim,
    inner: Collection[str],
    dtype: np.dtype | None = None,
) -> Callable[[Dim], list[Size]]:
    """Facts about iterations of a loop that `condition` may end for other reasons, too: what those
    of its conditions say that compare induction variables. See `trip_count`."""
    required = [bound.rest for bound in _conjuncts(first)[0]]
    found = list[tuple[Bound, int]]()
    for bound in _conjuncts(condition)[0]:
        start = _start_of(bound, iteration, inner, dtype)
        if start is None or not start[0].is_exact:
            continue
        if start[0].rest in required or at_least(start[0].rest, 1):
            found.append(start)
    return lambda index: [fact for bound, step in found for fact in bound.facts(step, index)]


def _start_of(
    bound: Bound, iteration: Dim, inner: Collection[str], dtype: np.dtype | None
) -> tuple[Bound, int] | None:
    """The `bound` of the first iteration, from that of the next one after `iteration`, and by how
    much its rest falls in an iteration; None if it does not, or depends on `inner` sizes."""
    in_floats = bound.computed_in(dtype)
    if _step_of(in_floats, iteration) is not None:
        bound = in_floats
    start, step = bound.at(iteration, -1), _step_of(bound, iteration)
    symbols = (size.symbols() for size in (start.low, start.high) if isinstance(size, Dim))
    if step is None or any(not names.isdisjoint(inner) for names in symbols):
        return None
    return start, step


def first_bounds(condition: ir.Value | None) -> list[Bound] | None:
    """The conditions of the first iteration (None: it runs); None if one is of others."""
    return [] if condition is None or known_sizes(condition) == (1,) else bounds_of(condition)


def bounds_of(condition: ir.Value) -> list[Bound] | None:
    """The conditions that must all hold for `condition` to; None if one is of others."""
    found, others = _conjuncts(condition)
    return None if others else found


def _conjuncts(condition: ir.Value | None) -> tuple[list[Bound], bool]:
    """The comparisons of sizes that must all hold for `condition` to, and whether anything else
    must, too. None always holds."""
    waiting = [] if condition is None else [condition]
    found, others = list[Bound](), False
    while waiting:
        op = graph_op(waiting.pop().owner)
        if op is not None and (same := _same_truth(op)) is not None:
            waiting.append(same)
        elif op is not None and op.operation.name == "graph.and":
            waiting += reversed(list(op.operation.operands))
        elif op is not None and (bound := _bound(op)) is not None:
            found.append(bound)
        else:
            others = True
    return found, others


def _same_truth(op: GraphOp) -> ir.Value | None:
    """An operand of `op` that is true, or not 0, exactly if its result is: exporters copy by adding
    0."""
    if isinstance(op, ReshapeOp | CastOp):
        return op.x if _is_truth(op.x) else None
    added = _added(op)
    return added[0] if added is not None and added[1] == 0 and _is_truth(added[0]) else None


def _is_truth(value: ir.Value) -> bool:
    """Return whether `value` is of booleans, or of integers that were."""
    dtype = type_of(value).dtype
    return dtype == np.bool_ or dtype in _COUNTING


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
