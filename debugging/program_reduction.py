"""Reduction of a program of graph ops to a minimal test case for a pipeline."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..compiler.driver import main_function
from ..dialects import graph
from ..dialects.graph.interpreter import evaluate_function
from ..dialects.graph.random_inputs import random_inputs
from ..dialects.symbolic import Dim
from ..errors import GraphcError, OutputError, ReductionError
from ..mlir import func, ir
from ..passes.infra.pipeline import run_pipeline, verify
from .bisection_result import Log
from .checks import Check, compare, describe_error, error_kind
from .ddmin import ddmin
from .programs import body, clone, operations, subprogram


@dataclass
class PipelineCheck:
    """Checks whether `pipeline` fails, always with the same kind of error, or changes results.

    Results are compared on random inputs.
    """

    pipeline: str
    tolerance: float | None = None
    error: tuple[str, ...] | None = field(default=None, init=False)

    def __call__(self, module: Any) -> str | None:
        changed = clone(module)
        try:
            run_pipeline(changed, self.pipeline)
        except GraphcError as error:
            kind = error_kind(error)
            self.error = self.error or kind
            return describe_error(error) if kind == self.error else None
        if self.error is not None:
            return None
        inputs = random_inputs(graph.type_of(argument) for argument in body(module).arguments)
        try:
            before = evaluate_function(main_function(module), inputs)
            after = evaluate_function(main_function(changed), inputs)
        except GraphcError:
            return None
        return compare(after, before, self.tolerance)


@dataclass(frozen=True)
class ReducedProgram:
    """A reduced program for which the problem occurs."""

    module: Any
    problem: str
    ops_before: int
    trials: int

    def __str__(self) -> str:
        names = _names(self.module)
        became = f"{len(names)} ({', '.join(names)})"
        return f"{self.ops_before} ops became {became} in {self.trials} trials\n{self.problem}"

    def save(self, folder: Path, command: str) -> Path:
        """Write ``program.mlir`` and ``reproduce.sh``, which runs `command`; returns the script.

        ``{}`` in the command stands for the program. Raises OutputError.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            text = self.module.operation.get_asm(enable_debug_info=True)
            (folder / "program.mlir").write_text(text + "\n")
            script = folder / "reproduce.sh"
            note = "\n".join(f"# {each}" for each in str(self).splitlines())
            line = command.replace("{}", "program.mlir")
            script.write_text(f'#!/bin/sh\n{note}\ncd "$(dirname "$0")" || exit\n{line}\n')
            script.chmod(0o755)
        except OSError as error:
            raise OutputError(f"cannot write to '{folder}': {error.strerror}") from error
        return script


def pipeline_command(pipeline: str, plugins: Sequence[str]) -> str:
    """The command that runs `pipeline` on a program and checks its rewrites."""
    words = ["gc-opt", "--check-rewrites", f"--pass-pipeline={pipeline}"]
    return shlex.join([*words, *(f"--load-plugin={plugin}" for plugin in plugins)]) + " {}"


def reduce_program(module: Any, check: Check, log: Log = lambda line: None) -> ReducedProgram:
    """Reduce the function ``@main`` of `module` as far as `check` still finds a problem.

    Ops are removed first, then sizes are reduced, then constants simplified. Raises ReductionError
    if `check` finds no problem.
    """
    search = _Search(check, log)
    before = len(_names(module))
    if not search.shows(module):
        raise ReductionError("there is nothing to reduce: the program does not show it")
    log(f"{before} ops: {search.problem}")
    ops = operations(module)
    computing = [i for i, op in enumerate(ops) if op.operation.name != "graph.constant"]
    kept = ddmin(computing, lambda kept: search.shows_part(module, kept))
    module = subprogram(module, kept).module if search.shows_part(module, kept) else module
    for simpler in (_smaller_sizes, _plainer_constants):
        module = search.simplest(module, simpler)
    search.shows(module)
    return ReducedProgram(module, search.problem, before, search.trials)


class _Search:
    def __init__(self, check: Check, log: Log):
        self._check = check
        self._log = log
        self.problem = ""
        self.trials = 0

    def shows(self, module: Any) -> bool:
        try:
            verify(module)
        except GraphcError:
            return False
        self.trials += 1
        problem = self._check(module)
        self.problem = problem or self.problem
        return problem is not None

    def shows_part(self, module: Any, kept: Sequence[int]) -> bool:
        found = self.shows(subprogram(module, kept).module)
        self._log(f"{len(kept)} ops: {'shows it' if found else 'does not show it'}")
        return found

    def simplest(self, module: Any, simpler: Callable[[Any], Iterator[Any]]) -> Any:
        while True:
            found = next((each for each in simpler(module) if self.shows(each)), None)
            if found is None:
                return module
            module = found


def _names(module: Any) -> list[str]:
    names = (op.operation.name for op in operations(module))
    return [name for name in names if name != "graph.constant"]


def _smaller_sizes(module: Any) -> Iterator[Any]:
    """The variants of the program with one size replaced by a smaller one."""
    values = [
        *body(module).arguments,
        *(r for o in operations(module) for r in o.operation.results),
    ]
    shapes = (graph.type_of(value).shape for value in values)
    sizes = {size for shape in shapes for size in shape if isinstance(size, int) and size > 1}
    for size in sorted(sizes, reverse=True):
        for smaller in dict.fromkeys((1, 2, size // 2, size - 1)):
            if 0 < smaller < size:
                resized = _rebuilt(module, lambda n, old=size, new=smaller: new if n == old else n)
                if resized is not None:
                    yield resized


def _plainer_constants(module: Any) -> Iterator[Any]:
    """The variants of the program with one constant set to zeros or ones."""
    for index, op in enumerate(operations(module)):
        if op.operation.name != "graph.constant":
            continue
        array = op.operation.opview.attrs["value"]
        for value in (0, 1):
            plain = np.full_like(array, value)
            if np.array_equal(plain, array):
                break
            made = _rebuilt(module, lambda n: n, {index: plain})
            if made is not None:
                yield made


def _rebuilt(
    module: Any, resize: Callable[[int], int], constants: dict[int, np.ndarray] | None = None
) -> Any:
    """The program with other sizes, and with inferred types; None if that is impossible."""
    ops = operations(module)
    if any(len(op.operation.regions) for op in ops):
        return None
    arguments = list(body(module).arguments)
    try:
        with module.context, ir.Location.unknown():
            made = ir.Module.create()
            types = [_resized_type(argument, resize) for argument in arguments]
            with ir.InsertionPoint(made.body):
                function = func.FuncOp("main", (types, []))
                block = function.add_entry_block()
            values: dict[ir.Value, ir.Value] = dict(zip(arguments, block.arguments, strict=True))
            with ir.InsertionPoint(block):
                for index, op in enumerate(ops):
                    given = (constants or {}).get(index)
                    with op.operation.location:
                        results = _build(op.operation.opview, values, resize, given)
                    values.update(zip(op.operation.results, results, strict=True))
                *_, terminator = body(module).operations
                returned = [values[value] for value in terminator.operation.operands]
                func.ReturnOp(returned)
            kinds = [value.type for value in returned]
            signature = ir.FunctionType.get(types, kinds)
            function.attributes["function_type"] = ir.TypeAttr.get(signature)
            return made
    except (GraphcError, ValueError, TypeError, KeyError, IndexError, ir.MLIRError):
        return None


def _build(
    op: Any, values: dict[ir.Value, ir.Value], resize: Callable[[int], int], given: Any
) -> list[ir.Value]:
    attrs = {name: _resized(value, resize) for name, value in op.attrs.items()}
    if isinstance(op, graph.ConstantOp):
        attrs["value"] = _cut(op.attrs["value"], resize) if given is None else given
    groups = [graph.map_group(values.__getitem__, group) for group in op.operand_groups.values()]
    built = graph.build(type(op), groups, attrs)
    return [built] if isinstance(built, ir.Value) else list(built or ())


def _resized(value: Any, resize: Callable[[int], int]) -> Any:
    if isinstance(value, tuple):
        return tuple(_resized(each, resize) for each in value)
    return resize(value) if type(value) is int else value


def _resized_type(value: ir.Value, resize: Callable[[int], int]) -> ir.Type:
    type_ = graph.type_of(value)
    shape = tuple(size if isinstance(size, Dim) else resize(size) for size in type_.shape)
    return graph.to_mlir(graph.TensorType(shape, type_.dtype))


def _cut(array: np.ndarray, resize: Callable[[int], int]) -> np.ndarray:
    return np.ascontiguousarray(array[tuple(slice(resize(size)) for size in array.shape)])
