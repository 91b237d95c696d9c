"""Checks of a program for a problem: by its results in numpy, compiled, or by a user's command."""

import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..compiler.driver import Compilation, main_function
from ..compiler.options import Options
from ..dialects.graph.interpreter import evaluate_function
from ..errors import GraphcError, UsageError
from ..passes.infra.reproducer import Reproducer
from ..runtime import load
from .difference import difference, tolerance_of
from .programs import clone

Check = Callable[[Any], str | None]
"""Returns the problem of a program (a module of graph ops), or None."""


def describe_error(error: Exception) -> str:
    """The first line of `error`, with its class."""
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def error_kind(error: Exception) -> tuple[str, ...]:
    """The kind of a failure, independent of the program: class, pass and rewrite."""
    return (
        type(error).__name__,
        getattr(error, "pass_name", ""),
        getattr(error, "rewrite", ""),
    )


@dataclass(frozen=True)
class Interpreted:
    """Checks the results in numpy against `expected`, on `inputs` in the order of arguments."""

    inputs: Sequence[np.ndarray]
    expected: Sequence[np.ndarray]
    tolerance: float | None = None

    def __call__(self, module: Any) -> str | None:
        try:
            results = evaluate_function(main_function(module), self.inputs)
        except GraphcError as error:
            return describe_error(error)
        return compare(results, self.expected, self.tolerance)


@dataclass(frozen=True)
class Compiled:
    """Checks that a program compiles, and that its results agree with those in numpy."""

    options: Options
    inputs: Sequence[np.ndarray]
    tolerance: float | None = None

    def __call__(self, module: Any) -> str | None:
        return self.on(module, self.inputs)

    def on(self, module: Any, inputs: Sequence[np.ndarray]) -> str | None:
        """Check `module` on the given inputs."""
        expected = evaluate_function(main_function(module), inputs)
        try:
            results = run_compiled(clone(module), self.options, inputs)
        except GraphcError as error:
            return describe_error(error)
        return compare(results, expected, self.tolerance)


@dataclass(frozen=True)
class Command:
    """Checks whether a user's command exits with 0, as an interestingness test of llvm-reduce or
    C-Reduce does.

    ``{}`` in the command stands for the file.
    """

    command: str
    timeout: float | None = None

    def __post_init__(self) -> None:
        if "{}" not in self.command:
            raise UsageError("--predicate takes a command in which {} stands for the file")

    def __call__(self, module: Any) -> str | None:
        with tempfile.TemporaryDirectory(prefix="graphc-") as folder:
            Reproducer(module, "builtin.module()").save(Path(folder, "program"))
            (path,) = Path(folder).iterdir()
            return self.on(path)

    def on(self, path: Path) -> str | None:
        """Check a file."""
        command = self.command.replace("{}", str(path))
        try:
            done = subprocess.run(
                command, shell=True, capture_output=True, timeout=self.timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return None
        return f"'{self.command}' exits with 0" if done.returncode == 0 else None


def run_compiled(module: Any, options: Options, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Lower, compile and run a program of graph ops; return its results. Consumes `module`."""
    compilation = Compilation(module, "program", replace(options, progress=None, save_temps=None))
    compilation.lower()
    with closing(load(compilation.backend(), threads=options.threads)) as model:
        names = [spec.name for spec in model.inputs]
        return model.run(None, dict(zip(names, inputs, strict=True)))


def compare(
    results: Sequence[np.ndarray], expected: Sequence[np.ndarray], tolerance: float | None
) -> str | None:
    """The description of the largest difference beyond the tolerance, or None."""
    worst: tuple[float, str] | None = None
    for index, (have, want) in enumerate(zip(results, expected, strict=True)):
        found = difference(np.asarray(have), np.asarray(want))
        allowed = tolerance_of(np.asarray(have).dtype, tolerance)
        if found.relative > allowed and (worst is None or found.relative > worst[0]):
            text = f"result {index} is off by {found.relative:.2e} of its largest value"
            worst = (found.relative, f"{text} (allowed: {allowed:g})")
    return None if worst is None else worst[1]


def in_order(feeds: Mapping[str, Any], names: Sequence[str]) -> list[np.ndarray]:
    """The arrays of `feeds` in the order of `names`."""
    return [np.asarray(feeds[name]) for name in names]
