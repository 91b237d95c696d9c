"""Segments: what a rank computes between collectives, as programs of their own."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..dialects import graph
from ..dialects.graph.subprogram import outer_uses, program_of
from ..dialects.locations import node_name
from ..dialects.symbolic import Dim
from ..errors import UsageError
from ..mlir import ir
from .model_signature import NAME, main_function


@dataclass(frozen=True)
class Segment:
    """Ops between collectives. Values are passed by name."""

    module: ir.Module
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class CollectiveStep:
    """A collective between segments: the kind of the op, its attributes and values."""

    kind: type[graph.Collective]
    attrs: Mapping[str, Any]
    input: str
    output: str
    node: str


@dataclass(frozen=True)
class SegmentedProgram:
    """The steps of a rank, in order, and the names of the values that it takes and returns."""

    steps: tuple[Segment | CollectiveStep, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def segment_program(module: ir.Module) -> SegmentedProgram:
    """Cut the program of a rank at its collectives.

    Each op is computed as early as the collectives before it allow. Ops that need no input, such as
    those on weights alone, are computed wherever they are used. Raises `UsageError` if a
    segment depends on a size that is computed in another one and that no value has.
    """
    with module.context:
        return _Cutter(module).cut()


@dataclass
class _Level:
    """The ops behind as many collectives in a row, and the collectives that follow."""

    ops: list[Any] = field(default_factory=list[Any])
    collectives: list[graph.Collective] = field(default_factory=list[graph.Collective])
    arguments: list[ir.Value] = field(default_factory=list[ir.Value])
    """Values of other levels that `ops` need, and others that have sizes that they need."""


class _Cutter:
    """The levels of the ops of a program, and the steps that they make."""

    def __init__(self, module: ir.Module):
        function = main_function(module)
        block = function.entry_block
        *self._ops, terminator = block.operations
        self._returned: list[ir.Value] = list(terminator.operation.operands)
        self._producer: dict[ir.Value, Any] = {
            r: op for op in self._ops for r in op.operation.results
        }
        attributes = map(ir.DictAttr, ir.ArrayAttr(function.attributes["arg_attrs"]))
        self._names: dict[ir.Value, str] = {
            value: ir.StringAttr(each[NAME]).value
            for value, each in zip(block.arguments, attributes, strict=True)
        }
        self._inputs = tuple(self._names.values())
        self._numbers = itertools.count()
        self._levels: list[_Level] = [_Level()]
        self._level_of: dict[ir.Value, int] = {}
        self._level_of_size: dict[str, int] = {}
        self._carriers: dict[str, ir.Value] = {}
        """For each named size, the first value of which an axis has it."""
        for value in self._names:
            self._define(value, 0)

    def cut(self) -> SegmentedProgram:
        """The program in steps."""
        for op in self._ops:
            self._place(op)
        for number, level in enumerate(self._levels):
            self._complete(number, level)
        steps = [step for number in range(len(self._levels)) for step in self._steps(number)]
        return SegmentedProgram(
            tuple(steps), self._inputs, tuple(self._name(value) for value in self._returned)
        )

    def _place(self, operation: Any) -> None:
        op = graph.graph_op(operation)
        known = [
            self._level_of[value] for value in outer_uses(operation) if value in self._level_of
        ]
        sizes = [self._level_of_size.get(name, 0) for name in graph.names_in(operation)]
        if not known and not any(sizes) and _is_free(op):
            return  # computed wherever it is used
        number = max([*known, *sizes], default=0)
        if isinstance(op, graph.Collective):
            self._levels[number].collectives.append(op)
            number += 1
        while len(self._levels) <= number:
            self._levels.append(_Level())
        if not isinstance(op, graph.Collective):
            self._levels[number].ops.append(operation)
        if isinstance(op, graph.BindSizesOp):
            self._level_of_size |= dict.fromkeys(op.names, number)
        for value in operation.operation.results:
            self._define(value, number)

    def _define(self, value: ir.Value, number: int) -> None:
        self._level_of[value] = number
        for name in _plain_sizes(value):
            self._level_of_size.setdefault(name, number)
            self._carriers.setdefault(name, value)

    def _complete(self, number: int, level: _Level) -> None:
        """Add the ops on constants that a level uses, and find its arguments."""
        computed = [v for each in level.collectives for v in each.operation.operands]
        computed += self._returned if level is self._levels[-1] else []
        waiting = [*computed, *(value for op in level.ops for value in outer_uses(op))]
        kept = {op.operation for op in level.ops}
        while waiting:
            value = waiting.pop()
            op = None if value in self._level_of else self._producer[value]
            if op is not None and op.operation not in kept:
                kept.add(op.operation)
                waiting += outer_uses(op)
        level.ops = [op for op in self._ops if op.operation in kept]
        made = {value for op in level.ops for value in op.operation.results}
        used = dict.fromkeys(v for op in level.ops for v in outer_uses(op) if v not in made)
        names = {name for op in level.ops for name in graph.names_in(op)}
        names |= {name for value in used for name in _size_names(value)}
        names -= {name for value in used for name in _plain_sizes(value)}
        names -= {name for op in level.ops for name in _bound_names(op)}
        level.arguments = [*used, *self._carriers_of(names, number)]

    def _carriers_of(self, names: set[str], number: int) -> list[ir.Value]:
        """Values of earlier levels that have the sizes `names`."""
        found: list[ir.Value] = []
        for name in sorted(names & self._level_of_size.keys()):
            carrier = self._carriers.get(name)
            if carrier is None or not self._is_known_at(carrier, number):
                raise UsageError(
                    f"size '{name}' is computed before a collective and used behind it, "
                    "where no value has it"
                )
            if carrier not in found:
                found.append(carrier)
        return found

    def _is_known_at(self, value: ir.Value, number: int) -> bool:
        """Return whether a segment can take `value` as an argument."""
        is_gathered = isinstance(graph.graph_op(value.owner), graph.Collective)
        return self._level_of[value] < number + (is_gathered or value not in self._producer)

    def _steps(self, number: int) -> Iterator[Segment | CollectiveStep]:
        level = self._levels[number]
        results = self._results(number)
        if results:
            arguments = {value: self._name(value) for value in level.arguments}
            outputs = [(value, self._name(value)) for value in results]
            module = program_of(arguments, level.ops, outputs)
            nodes = dict.fromkeys(node_name(op) for op in level.ops)
            names = tuple(name for _, name in outputs)
            yield Segment(module, tuple(arguments.values()), names, tuple(nodes))
        for op in level.collectives:
            (x,), (y,) = op.operation.operands, op.operation.results
            yield CollectiveStep(type(op), op.attrs, self._name(x), self._name(y), node_name(op))

    def _results(self, number: int) -> list[ir.Value]:
        """The values of a segment that others need; if none, a condition that it checks."""
        level = self._levels[number]
        needed = dict.fromkeys(v for each in self._levels[number + 1 :] for v in each.arguments)
        needed |= dict.fromkeys(
            v
            for each in self._levels[number:]
            for c in each.collectives
            for v in c.operation.operands
        )
        needed |= dict.fromkeys(self._returned)
        made = {value for op in level.ops for value in op.operation.results}
        found = [value for value in needed if value in made]
        checks = [op for op in level.ops if not _is_free(graph.graph_op(op))]
        return found or [value for op in checks for value in outer_uses(op)]

    def _name(self, value: ir.Value) -> str:
        if value not in self._names:
            fresh = (f"value.{number}" for number in self._numbers)
            self._names[value] = next(name for name in fresh if name not in self._inputs)
        return self._names[value]


def _bound_names(operation: Any) -> tuple[str, ...]:
    """The names of sizes that an op binds."""
    op = graph.graph_op(operation)
    if isinstance(op, graph.RegionOp):
        return tuple(op.own_names)
    return op.names if isinstance(op, graph.BindSizesOp) else ()


def _is_free(op: graph.GraphOp | None) -> bool:
    """Return whether an op without inputs may be computed several times, or never."""
    return op is not None and op.pure and not isinstance(op, graph.Collective)


def _plain_sizes(value: ir.Value) -> set[str]:
    """The named sizes that are sizes of axes of `value`, not terms of them."""
    sizes = graph.type_of(value).shape
    return {str(size) for size in sizes if isinstance(size, Dim) and size.is_symbol}


def _size_names(value: ir.Value) -> set[str]:
    return graph.names_of(graph.type_of(value).shape)
