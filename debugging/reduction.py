"""Reduction of a model to a minimal test case, and a folder that reproduces the problem."""

import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..compiler.driver import compile_with, make_options
from ..compiler.options import Options
from ..errors import OutputError, ReductionError, ReferenceRunError
from ..runtime.targets.interpret import INTERPRET
from .bisection_result import Log
from .checks import Command, compare, describe_error, error_kind
from .ddmin import ddmin
from .onnx.reference import default_reference, reference_values
from .onnx.shrinking import fewer_attributes, plainer_constants, smaller_sizes
from .onnx.test_case import ReductionCase, reduction_case


@dataclass(frozen=True)
class Reduced:
    """A reduced model for which the problem occurs."""

    subject: ReductionCase
    problem: str
    nodes_before: int
    trials: int
    kind: str
    """``numbers``, ``error`` or ``command``."""

    def __str__(self) -> str:
        ops = ", ".join(node.op_type for node in self.subject.model.graph.node)
        return (
            f"{self.nodes_before} nodes became {self.subject.nodes} ({ops}) in {self.trials} trials"
            f"\n{self.problem}"
        )

    def save(
        self,
        folder: Path,
        arguments: Sequence[str] = (),
        comparison: Sequence[str] = (),
        command: str = "",
    ) -> Path:
        """Write the model, its inputs, and ``reproduce.sh``; return the path of the script.

        `arguments` are the flags of the compilation, `comparison` those of gc-verify, and `command`
        is the user's own. The script exits with 1 if the problem occurs, or like the user's
        command. Raises OutputError.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files = self.subject.save(folder)
            given = [f"--input={name}=@{file}" for name, file in files.items()]
            line = {
                "numbers": ["gc-verify", "model.onnx", "--no-layers", *given, *comparison],
                "error": ["gc-run", "model.onnx", "--no-host", *given],
            }
            text = shlex.join([*line[self.kind], *arguments]) if self.kind in line else command
            text = text.replace("{}", "model.onnx")
            script = folder / "reproduce.sh"
            note = "\n".join(f"# {each}" for each in str(self).splitlines())
            script.write_text(f'#!/bin/sh\n{note}\ncd "$(dirname "$0")" || exit\n{text}\n')
            script.chmod(0o755)
        except OSError as error:
            raise OutputError(f"cannot write to '{folder}': {error.strerror}") from error
        return script


class Oracle:
    """Determines whether the problem of the original model occurs in a smaller one."""

    def __init__(
        self, options: Options, reference: str, tolerance: float | None, command: Command | None
    ):
        self._options = options
        self._reference = reference
        self._tolerance = tolerance
        self._command = command
        self._error: tuple[str, ...] | None = None
        self._known: dict[bytes, str | None] = {}
        self.trials = 0
        self.kind = "numbers" if command is None else "command"
        self.problem = ""

    def begin(self, subject: ReductionCase) -> None:
        """Record the problem of the whole model. Raises ReductionError if there is none."""
        problem = self._problem(subject)
        if problem is None:
            raise ReductionError("there is nothing to reduce: the model does not show it")
        self.problem = problem

    def shows(self, subject: ReductionCase | None) -> bool:
        """Return whether the problem occurs in `subject`, too."""
        if subject is None:
            return False
        digest = subject.digest()
        if digest not in self._known:
            self.trials += 1
            self._known[digest] = self._problem(subject)
        problem = self._known[digest]
        self.problem = problem or self.problem
        return problem is not None

    def _problem(self, subject: ReductionCase) -> str | None:
        if self._command is not None:
            with tempfile.TemporaryDirectory(prefix="graphc-") as folder:
                subject.save(Path(folder))
                return self._command.on(Path(folder, "model.onnx"))
        if self._error is None:
            try:
                expected = reference_values(
                    subject.model, subject.feeds, _outputs(subject), self._reference
                )
            except ReferenceRunError:
                if self.trials:
                    return None
                raise
            if not all(np.isfinite(a).all() for a in expected.values() if a.dtype.kind == "f"):
                return None if self.trials else "the reference is not finite"
        else:
            expected = {}
        try:
            with closing(compile_with(subject.model, self._options)) as compiled:
                if self._error is not None:
                    return None
                results = compiled.run(None, dict(subject.feeds))
        except Exception as error:  # includes internal errors of graphc
            return self._same(error)
        return compare(results, [expected[name] for name in _outputs(subject)], self._tolerance)

    def _same(self, error: Exception) -> str | None:
        """The description of `error` if it is of the kind that the whole model failed with."""
        kind = error_kind(error)
        if not self.trials:
            self._error, self.kind = kind, "error"
        return describe_error(error) if kind == self._error else None


def reduce(
    model: Any,
    feeds: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]],
    target: str = "cpu",
    *,
    reference: str | None = None,
    tolerance: float | None = None,
    command: Command | None = None,
    log: Log = lambda line: None,
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
    pipeline: str | None = None,
    **options: Any,
) -> Reduced:
    """Reduce `model` as far as its problem still occurs.

    The problem is that of the original model: results beyond the tolerance, an error of the
    compiler, or success of `command`. Nodes are removed first, then outputs; then sizes are
    reduced, constants simplified, and attributes removed. Arguments are those of `verify`. Raises
    ReductionError if there is no problem.
    """
    chosen = make_options(target, dims=dims, threads=threads, pipeline=pipeline, **options)
    plain = replace(chosen, target=INTERPRET, pipeline="")
    with closing(compile_with(model, plain)) as interpreted:
        given = feeds(interpreted) if callable(feeds) else feeds
        names = [spec.name for spec in interpreted.inputs]
        arrays = dict(zip(names, interpreted.bind(given), strict=True))
    by = reference or default_reference()
    oracle = Oracle(replace(chosen, dims={}, host=False), by, tolerance, command)
    subject = reduction_case(model, arrays)
    oracle.begin(subject)
    log(f"{subject.nodes} nodes: {oracle.problem}")
    values = reference_values(subject.model, subject.feeds, subject.names, by)
    subject, before = replace(subject, values=values), subject.nodes
    if not oracle.shows(subject.part(range(before))):  # the same model with static sizes
        subject = subject.with_sizes_as_stated()
    subject = _fewer_nodes(subject, oracle, log)
    subject = _fewer_outputs(subject, oracle, log)
    for name, simpler in (
        ("sizes", smaller_sizes),
        ("constants", plainer_constants),
        ("attributes", fewer_attributes),
    ):
        subject = _simpler(subject, simpler, oracle)
        log(f"simpler {name}: {oracle.problem}")
    oracle.shows(subject)
    return Reduced(subject, oracle.problem, before, oracle.trials, oracle.kind)


def _fewer_nodes(subject: ReductionCase, oracle: Oracle, log: Log) -> ReductionCase:
    def shows(kept: Sequence[int]) -> bool:
        found = oracle.shows(subject.part(kept))
        log(f"{len(kept)} nodes: {'shows it' if found else 'does not show it'}")
        return found

    part = subject.part(ddmin(range(subject.nodes), shows))
    return part if part is not None and oracle.shows(part) else subject


def _fewer_outputs(subject: ReductionCase, oracle: Oracle, log: Log) -> ReductionCase:
    names = ddmin(_outputs(subject), lambda names: oracle.shows(subject.with_outputs(names)))
    log(f"outputs: {', '.join(names)}")
    return subject.with_outputs(names)


def _simpler(
    subject: ReductionCase,
    simpler: Callable[[ReductionCase], Iterator[ReductionCase]],
    oracle: Oracle,
) -> ReductionCase:
    """Apply the first simplification for which the problem still occurs, until there is none."""
    while True:
        found = next((each for each in simpler(subject) if oracle.shows(each)), None)
        if found is None:
            return subject
        subject = found


def _outputs(subject: ReductionCase) -> list[str]:
    return [info.name for info in subject.model.graph.output]
