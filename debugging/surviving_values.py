"""Values of a model that survive the passes, and can be exposed as results of the program.

A value of the model survives a pipeline if the program that computes the model's outputs also
computes it, possibly in another order or shape. Such values can be additional results, without any
other change of the program. Values that were fused or rewritten away cannot.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..compiler.driver import begin, main_function
from ..compiler.options import Options
from ..dialects import graph
from ..dialects.locations import location_names
from ..frontend.onnx import ModelNode, list_nodes
from ..mlir import ir
from ..passes.infra.pipeline import run_pipeline
from .value_numbering import Expressions, behind_moves


@dataclass(frozen=True)
class Exposure:
    """The values of a model that survive, and the ops that compute the nodes of the others."""

    outputs: tuple[str, ...]
    """The model's own outputs."""
    surviving: tuple[str, ...]
    """The other values that the program computes, in the model's order."""
    fused: Mapping[str, str] = field(default_factory=dict)
    """The remaining values, with the op of the program that computes their node."""


Elements = tuple[str, str]
"""Number of elements of a value, possibly a formula of named sizes, and the element type."""


def find_surviving(model: Any, options: Options) -> Exposure:
    """Find the values of `model` that survive the graph pipeline of `options`.

    The pipeline runs several more times: once with all candidates as outputs, and again with halves
    of them if that changed the program.
    """
    nodes = list_nodes(model)

    def processed(names: Sequence[str] | None) -> ir.Module:
        compilation = begin(model, _quiet(options, names))
        run_pipeline(compilation.module, options.pipeline)
        return compilation.module

    every = [name for node in nodes for name in node.outputs]
    imported = main_function(module := begin(model, _quiet(options, every)).module)
    elements = {
        name: _elements(value) for name, value in zip(every, results(imported), strict=True)
    }
    del module
    search = _Search(processed, nodes, elements)
    surviving = search.surviving()
    known = {*surviving, *search.outputs}
    values = [name for node in nodes for name in node.outputs if name not in known]
    return Exposure(search.outputs, surviving, {name: search.origin(name) for name in values})


class _Search:
    def __init__(
        self,
        processed: Callable[[Sequence[str] | None], ir.Module],
        nodes: Sequence[ModelNode],
        elements: Mapping[str, Elements],
    ):
        self._processed = processed
        self._elements = elements
        self._nodes = nodes
        self._expressions = Expressions()
        self._module = processed(None)
        function = main_function(self._module)
        self.outputs = result_names(function)
        self._found = self._expressions.of(function)
        self._wanted = [self._found[value] for value in results(function)]
        self._there = set(self._found.values())
        self._origins = _origins(function, {node.name for node in nodes})

    def surviving(self) -> tuple[str, ...]:
        """The values that survive together."""
        taken: list[str] = []
        pending = [self._likely()]
        while pending:
            names = pending.pop()
            fitting = self._fitting([*taken, *names]) if names else set()
            if fitting is None and len(names) > 1:
                middle = len(names) // 2
                pending += [names[middle:], names[:middle]]
            elif fitting is not None:
                taken = [name for name in (*taken, *names) if name in fitting]
        order = {name: i for i, name in enumerate(n for node in self._nodes for n in node.outputs)}
        return tuple(sorted(taken, key=order.__getitem__))

    def origin(self, name: str) -> str:
        """The op that computes the node of the value `name`; empty if there is none."""
        node = next(node for node in self._nodes if name in node.outputs)
        return self._origins.get(node.name, "")

    def _likely(self) -> list[str]:
        """The candidates: values whose node is last in the location of an op with as many elements
        of the same type."""
        function = main_function(self._module)
        last = {(names[-1], elements) for names, elements in _located(function) if names}
        values = [(name, node.name) for node in self._nodes for name in node.outputs]
        return [
            name
            for name, node in values
            if name not in self.outputs and (node, self._elements.get(name)) in last
        ]

    def _fitting(self, names: Sequence[str]) -> set[str] | None:
        """The subset of `names` that the program computes; None if exposing them changed it."""
        module = self._processed([*self.outputs, *names])
        function = main_function(module)
        found, values = self._expressions.of(function), results(function)
        count = len(self.outputs)
        if [found[value] for value in values[:count]] != self._wanted:
            return None
        return {
            name
            for name, value in zip(names, values[count:], strict=True)
            if any(found[each] in self._there for each in behind_moves(value))
        }


def result_names(function: Any) -> tuple[str, ...]:
    """The names of the results of `function`."""
    attributes = function.attributes["res_attrs"]
    return tuple(ir.StringAttr(ir.DictAttr(each)["graph.name"]).value for each in attributes)


def results(function: Any) -> list[ir.Value]:
    """The values that `function` returns."""
    *_, terminator = function.regions[0].blocks[0].operations
    return list(terminator.operation.operands)


def _quiet(options: Options, names: Sequence[str] | None) -> Options:
    return replace(options, outputs=names, progress=None, save_temps=None, check_rewrites=False)


def _located(function: Any) -> Iterator[tuple[tuple[str, ...], Elements]]:
    """The nodes in the location of each op of the program, with the elements of its results."""
    for op in function.regions[0].blocks[0].operations:
        if op.operation.name != "graph.constant":
            names = location_names(op.operation.location)
            yield from ((names, _elements(result)) for result in op.operation.results)


def _elements(value: ir.Value) -> Elements:
    type_ = graph.type_of(value)
    return str(math.prod(type_.shape)), type_.dtype.name


def _origins(function: Any, nodes: Collection[str]) -> dict[str, str]:
    """The op that computes each of `nodes`, with all nodes that it computes, as text."""
    origins: dict[str, str] = {}
    for op in function.regions[0].blocks[0].operations:
        names = [name for name in location_names(op.operation.location) if name in nodes]
        if op.operation.name != "graph.constant":
            for name in names:
                origins[name] = f"{op.operation.name} at {' + '.join(names)}"
    return origins
