"""A matcher in the language of the graph, for patterns of several ops.

    x = any_("x")
    gelu = op(graph.MulOp, op(graph.MulOp, x, scalar(0.5)), op(graph.AddOp, ..., scalar(1.0)))
    gelu.match(mul_op)          # {"x": value}, or None
    gelu.explain(mul_op)        # where the deepest attempt failed, as text

Operands of commutative ops are tried in both orders. One name stands for one value throughout a
pattern. Captures of `any_`, `constant` and `scalar` are values; those of `op(..., name=...)` are
ops.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.locations import node_name
from ...mlir import ir
from .query import constant_scalar, producer

Captures = dict[str, Any]

_PROGRESS = ""
"""The key, among captures, of the number of nodes that matched so far."""


@dataclass
class MatchTrace:
    """The mismatch before which most of the pattern had matched."""

    progress: float = -1
    text: str = ""

    def fail(self, captures: Captures, where: Any, problem: str, partial: float = 0) -> None:
        """Note a mismatch; `partial` is how much of the node itself is right."""
        progress = captures.get(_PROGRESS, 0) + partial
        if progress > self.progress:
            self.progress, self.text = progress, f"at {_describe(where)}: {problem}"


@dataclass(frozen=True)
class Pattern(ABC):
    """A shape of graph. Build with the functions below; instances are immutable."""

    @abstractmethod
    def solutions(self, value: Any, captures: Captures, trace: MatchTrace) -> Iterator[Captures]:
        """Every way `value` fits, given what is captured already."""

    def match(self, value_or_op: Any) -> Captures | None:
        """The captures of the first way in which a value, or an op, fits; None if there is none."""
        found = next(self.solutions(_plain(value_or_op), {}, MatchTrace()), None)
        return found and {name: what for name, what in found.items() if name != _PROGRESS}

    def explain(self, value_or_op: Any) -> str | None:
        """The deepest mismatch, as text; None when the pattern matches."""
        trace = MatchTrace()
        found = next(self.solutions(_plain(value_or_op), {}, trace), None)
        return trace.text if found is None else None


@dataclass(frozen=True)
class Any_(Pattern):  # noqa: N801 - `Any` is taken
    """Any value."""

    name: str | None = None

    def solutions(self, value: Any, captures: Captures, trace: MatchTrace) -> Iterator[Captures]:
        yield from _captured(self.name, value, captures, trace)


@dataclass(frozen=True)
class Constant(Pattern):
    """The result of a ``graph.constant``, with one element of a given value if `value` is set."""

    name: str | None = None
    accept: Callable[[Any], bool] | None = None
    wanted: str = "a constant"

    def solutions(self, value: Any, captures: Captures, trace: MatchTrace) -> Iterator[Captures]:
        if value is None or producer(value, graph.ConstantOp) is None:
            trace.fail(captures, value, f"expected {self.wanted}")
            return
        if self.accept is not None:
            element = constant_scalar(value)
            if element is None or not self.accept(element):
                found = "a tensor" if element is None else str(element)
                trace.fail(captures, value, f"expected {self.wanted}, found {found}")
                return
        yield from _captured(self.name, value, captures, trace)


@dataclass(frozen=True)
class Absent(Pattern):
    """An optional operand that is left out."""

    def solutions(self, value: Any, captures: Captures, trace: MatchTrace) -> Iterator[Captures]:
        if value is None:
            yield captures
        else:
            trace.fail(captures, value, "expected no operand")


@dataclass(frozen=True)
class Either(Pattern):
    """The first of several patterns that fits."""

    choices: tuple[Pattern, ...]

    def solutions(self, value: Any, captures: Captures, trace: MatchTrace) -> Iterator[Captures]:
        for choice in self.choices:
            yield from choice.solutions(value, captures, trace)


@dataclass(frozen=True)
class OpPattern(Pattern):
    """An op of one of some classes, with patterns for its operands and attributes."""

    classes: tuple[type[graph.GraphOp], ...]
    operands: tuple[Any, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    name: str | None = None
    single_use: bool = False

    def one_use(self) -> "OpPattern":
        """This pattern, for an op whose results have one use in all."""
        return replace(self, single_use=True)

    def named(self, name: str) -> "OpPattern":
        """This pattern, capturing the op as `name`."""
        return replace(self, name=name)

    def solutions(self, value: Any, captures: Captures, trace: MatchTrace) -> Iterator[Captures]:
        op = value if isinstance(value, graph.GraphOp) else _producer(value)
        if op is None or not isinstance(op, self.classes):
            wanted = " or ".join(c.OPERATION_NAME for c in self.classes)
            trace.fail(captures, value, f"expected {wanted}")
            return
        problem = self._mismatch(op)
        if problem is not None:
            trace.fail(captures, value, problem, partial=0.5)
            return
        for found in _captured(self.name, op, captures, trace):
            for groups in self._orders(op):
                yield from _match_groups(self.operands, groups, found, trace)

    def _mismatch(self, op: graph.GraphOp) -> str | None:
        if self.single_use and not _used_once(op):
            return f"{op.operation.name} has several uses, or none"
        attrs = op.attrs if self.attributes else {}
        for key, accepted in self.attributes.items():
            matches = accepted(attrs[key]) if callable(accepted) else attrs[key] == accepted
            if not matches:
                return f"{op.operation.name} has {key} = {attrs[key]}"
        return None

    def _orders(self, op: graph.GraphOp) -> list[tuple[Any, ...]]:
        groups = tuple(op.operand_groups.values())
        if len(groups) != len(self.operands):
            names = ", ".join(op.operand_names)
            raise TypeError(f"{op.OPERATION_NAME} takes ({names}), not {len(self.operands)}")
        commutes = isinstance(op, graph.BinaryOp) and op.commutative
        return [groups, groups[::-1]] if commutes else [groups]


def any_(name: str | None = None) -> Pattern:
    """Any value."""
    return Any_(name)


def constant(name: str | None = None) -> Pattern:
    """Any constant."""
    return Constant(name)


def scalar(
    value: float | Callable[[Any], bool], name: str | None = None, tolerance: float = 1e-6
) -> Pattern:
    """A constant of one element: close to `value` (relatively), or accepted by a predicate."""
    if callable(value):
        return Constant(name, value, "a scalar constant that fits")
    return Constant(name, lambda x: _is_close(x, value, tolerance), f"the scalar constant {value}")


def absent() -> Pattern:
    """An optional operand that is not given."""
    return Absent()


def either(*choices: Pattern) -> Pattern:
    """Whichever of `choices` fits, tried in this order."""
    return Either(choices)


def op(
    op_class: type[graph.GraphOp] | tuple[type[graph.GraphOp], ...],
    *operands: Pattern | Sequence[Pattern],
    name: str | None = None,
    one_use: bool = False,
    **attributes: Any,
) -> OpPattern:
    """An op with these operands, one pattern for each (a list for a variadic one).

    An attribute is given as the value it must have, or as a predicate on it. `one_use` demands
    that nothing but the pattern uses the op.
    """
    classes = op_class if isinstance(op_class, tuple) else (op_class,)
    return OpPattern(classes, operands, attributes, name, one_use)


def _match_groups(
    patterns: Sequence[Any], groups: Sequence[Any], captures: Captures, trace: MatchTrace
) -> Iterator[Captures]:
    """Match operand groups one after the other, with backtracking."""
    if not patterns:
        yield captures
        return
    for found in _match_group(patterns[0], groups[0], captures, trace):
        yield from _match_groups(patterns[1:], groups[1:], found, trace)


def _match_group(
    pattern: Any, group: Any, captures: Captures, trace: MatchTrace
) -> Iterator[Captures]:
    if isinstance(pattern, Pattern):
        yield from pattern.solutions(group, captures, trace)
        return
    values = list(group)
    if len(values) != len(pattern):
        where = values[0] if values else None
        trace.fail(captures, where, f"expected {len(pattern)} operands, found {len(values)}")
        return
    yield from _match_groups(pattern, values, captures, trace)


def _captured(
    name: str | None, found: Any, captures: Captures, trace: MatchTrace
) -> Iterator[Captures]:
    counted = {**captures, _PROGRESS: captures.get(_PROGRESS, 0) + 1}
    if name is None:
        yield counted
    elif name not in captures:
        yield {**counted, name: found}
    elif captures[name] == found:
        yield counted
    else:
        trace.fail(captures, found, f"'{name}' is another value")


def _producer(value: Any) -> graph.GraphOp | None:
    return None if value is None else graph.graph_op(value.owner)


def _used_once(op: graph.GraphOp) -> bool:
    uses = itertools.chain.from_iterable(result.uses for result in op.operation.results)
    return len(list(itertools.islice(uses, 2))) == 1


def _is_close(found: Any, wanted: float, tolerance: float) -> bool:
    if np.issubdtype(np.asarray(found).dtype, np.bool_):
        return bool(found) == wanted
    return abs(float(found) - wanted) <= tolerance * max(abs(wanted), 1e-30)


def _plain(value_or_op: ir.Value | ir.Operation | ir.OpView) -> ir.Value | ir.OpView:
    """A value, or an op as its view."""
    return value_or_op if isinstance(value_or_op, ir.Value) else value_or_op.opview


def _describe(where: ir.Value | ir.OpView | None) -> str:
    if where is None:
        return "a missing operand"
    if isinstance(where, ir.Value):
        owner = where.owner
        if isinstance(owner, ir.Block):
            return f"argument {ir.BlockArgument(where).arg_number}"
    else:
        owner = where
    return f"{owner.operation.name} '{node_name(owner)}'"
