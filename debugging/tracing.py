"""Tracing of a model, op by op: all values by name, and breakpoints."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..compiler.driver import begin, describe, main_function, make_options
from ..dialects.graph import GraphOp
from ..dialects.graph.interpreter import evaluate_function
from ..dialects.locations import location_names
from ..errors import UsageError
from ..frontend.onnx import list_nodes
from ..mlir import ir
from ..runtime.feeds import FeedBinder
from ..runtime.metadata import require_tensors
from .surviving_values import find_surviving, result_names, results


@dataclass(frozen=True)
class Step:
    """One op that has just been evaluated."""

    op: GraphOp
    nodes: tuple[str, ...]
    """The nodes of the model that the op computes."""
    names: tuple[str, ...]
    """The model's names of the results; empty if they have none."""
    operands: tuple[np.ndarray, ...]
    results: tuple[np.ndarray, ...]
    values: Mapping[str, np.ndarray]
    """The values computed so far, by the model's names."""

    def __str__(self) -> str:
        shown = ", ".join(f"{r.dtype}{list(r.shape)}" for r in self.results)
        return f"{self.op.operation.name} at {' + '.join(self.nodes)}: {shown}"


Breakpoint = str | Callable[[Step], bool]


class Trace(Mapping[str, np.ndarray]):
    """The values of one run by the model's names, in order of computation."""

    def __init__(self, values: Mapping[str, np.ndarray], outputs: Sequence[str]):
        self._values = dict(values)
        self.outputs = tuple(outputs)
        """The names of the model's outputs."""

    def __getitem__(self, name: str) -> np.ndarray:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<Trace of {len(self)} values>"


def trace(
    model: Any,
    feeds: Mapping[str, Any],
    *,
    at: Breakpoint | Sequence[Breakpoint] = (),
    stop: Callable[[Step], None] | None = None,
    pipeline: str | None = None,
    dims: Mapping[str, int] | None = None,
) -> Trace:
    """Interpret `model` on `feeds` and keep every value that has a name in the model.

    The program runs as imported, or after the passes of `pipeline`: then the values are those that
    survive the passes. `at` lists breakpoints: names of nodes or values, or predicates of a `Step`,
    such as ``lambda step: np.isnan(step.results[0]).any()``. At a breakpoint, `stop` is called, by
    default Python's debugger, with the step in the variable ``step``.

    Raises `UsageError` for a breakpoint with an unknown name, and the errors of `graphc.compile`
    and `CompiledModel.run`.
    """
    chosen = [at] if isinstance(at, str) or callable(at) else list(at)
    options = make_options("interpret", dims=dims, pipeline=pipeline)
    nodes = list_nodes(model)
    outputs, values = _names(model, options, [n for node in nodes for n in node.outputs])
    compilation = begin(model, replace(options, outputs=[*outputs, *values]))
    compilation.graph_passes()
    tracer = _Tracer(main_function(compilation.module), chosen, stop or _debug)
    tracer.check()
    inputs = describe(compilation.module, compilation.name, options).inputs
    bound = FeedBinder(require_tensors(inputs)).bind(feeds)
    return tracer.run([np.asarray(each) for each in bound], outputs)


def _names(model: Any, options: Any, values: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    if options.pipeline:
        found = find_surviving(model, options)
        return found.outputs, found.surviving
    outputs = result_names(main_function(module := begin(model, options).module))
    del module
    return outputs, [name for name in values if name not in outputs]


class _Tracer:
    def __init__(self, function: Any, at: Sequence[Breakpoint], stop: Callable[[Step], None]):
        self._function = function
        self._stop = stop
        self._named: dict[ir.Value, list[str]] = {}
        for name, value in zip(result_names(function), results(function), strict=True):
            self._named.setdefault(value, []).append(name)
        self._at = {each for each in at if isinstance(each, str)}
        self._tests = [each for each in at if not isinstance(each, str)]
        self._values: dict[str, np.ndarray] = {}

    def check(self) -> None:
        """Raise UsageError for breakpoints with unknown names."""
        known = {name for names in self._named.values() for name in names}
        self._function.operation.walk(
            lambda op: known.update(location_names(op.location)) or ir.WalkResult.ADVANCE
        )
        for name in sorted(self._at - known):
            near = difflib.get_close_matches(name, sorted(known), n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise UsageError(f"nothing in the program is called '{name}' that could stop it{hint}")

    def run(self, arrays: Sequence[np.ndarray], outputs: Sequence[str]) -> Trace:
        """Run the program on `arrays`; return the values."""
        for value, array in zip(self._function.regions[0].blocks[0].arguments, arrays, strict=True):
            self._keep(value, array)
        evaluate_function(self._function, arrays, self._see)
        return Trace(self._values, outputs)

    def _keep(self, value: ir.Value, array: np.ndarray) -> None:
        self._values.update(dict.fromkeys(self._named.get(value, ()), array))

    def _see(
        self, op: GraphOp, operands: tuple[np.ndarray, ...], found: tuple[np.ndarray, ...]
    ) -> None:
        values = list(op.operation.results)
        for value, array in zip(values, found, strict=True):
            self._keep(value, array)
        if not self._at and not self._tests:
            return
        nodes = location_names(op.operation.location)
        names = tuple(name for value in values for name in self._named.get(value, ()))
        step = Step(op, nodes, names, operands, found, self._values)
        if self._at.intersection((*nodes, *names)) or any(test(step) for test in self._tests):
            self._stop(step)


def _debug(step: Step) -> None:
    print(step)
    breakpoint()  # inspect `step`
