"""Compilation of cases in batches, so that the per-module work of the backend is done once for
many."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import onnx

from graphc.compiler.driver import Compilation, begin, compiled_parts, make_options, plan_parts
from graphc.compiler.options import Options
from graphc.errors import BackendError, UnsupportedModelError
from graphc.passes.infra.report import Report
from graphc.runtime import compile_module
from harness.isolation import Lost, call_each
from harness.joint_program import join

from .case_outcome import CaseOutcome
from .cases import SuiteCase
from .run_cases import GRACE, ONE_THREAD, compile_case, outcome_of, run_cases

SIZE = 40
"""Number of cases in a batch. It halves the time of compiling them one by one; larger batches gain
nothing."""

_batches: list[Sequence[SuiteCase]] = []
"""The batches by number, as the forked processes of the pool find them."""


def in_batches(cases: Sequence[SuiteCase], size: int) -> list[Sequence[SuiteCase]]:
    """`cases` in order, in batches of `size`. Neighbouring cases share kernels, which are compiled
    once."""
    return [cases[first : first + size] for first in range(0, len(cases), size)]


def compile_cases(
    cases: Sequence[SuiteCase], *, jobs: int, timeout: float, target: str, host: bool
) -> Iterator[CaseOutcome]:
    """Compile `cases` in batches, `jobs` of these at a time; yield outcomes as they arrive.

    A batch that crashes, hangs or does not compile is compiled case by case, each within `timeout`
    seconds.
    """
    _batches[:] = in_batches(cases, SIZE)
    call = partial(_compile_numbered, timeout, target, host)
    limit = SIZE * (timeout + GRACE)
    lost: list[SuiteCase] = []
    for number, ended in call_each(call, range(len(_batches)), jobs=jobs, timeout=limit):
        if isinstance(ended, Lost):
            lost += _batches[number]
        else:
            yield from ended
    yield from run_cases(lost, jobs=jobs, timeout=timeout, target=target, host=host, execute=False)


def _compile_numbered(timeout: float, target: str, host: bool, number: int) -> list[CaseOutcome]:
    return compile_batched(_batches[number], timeout, target=target, host=host)


def compile_batched(
    cases: Sequence[SuiteCase], timeout: float, *, target: str, host: bool, keep: Path | None = None
) -> list[CaseOutcome]:
    """Compile all `cases` as one module within `timeout` seconds; return their outcomes.

    If that fails, each case is compiled by itself. With `keep`, a folder, the compiled module is
    written there.
    """
    start = time.perf_counter()
    options = make_options(
        target, threads=1, cache=False, extra_flags=ONE_THREAD, host=host
    )  # fmt: skip
    programs: list[bytes] = []
    outcomes = [
        outcome_of(case, timeout, partial(_lower, case, options, programs)) for case in cases
    ]
    try:
        contents = compile_module(
            join(programs),
            target=replace(options.target, fallback=()),  # fallbacks apply to single cases only
            threads=options.threads,
            extra_flags=options.extra_flags,
            timeout=timeout,
        )
    except BackendError:
        alone = partial(compile_case, timeout=timeout, target=target, host=host, keep=keep)
        return [
            alone(case) if outcome.passed else outcome
            for case, outcome in zip(cases, outcomes, strict=True)
        ]
    if keep is not None:
        (keep / cases[0].name).write_bytes(contents)
    seconds = (time.perf_counter() - start) / len(cases)
    return [replace(outcome, seconds=seconds) for outcome in outcomes]


def _lower(case: SuiteCase, options: Options, programs: list[bytes]) -> bool:
    """Add the program of `case` for the backend to `programs`; return whether it covers the whole
    case."""
    whole = True
    for each in _compiled_pieces(case.model(), options):
        if isinstance(each, bytes):
            whole = False
            continue
        each.graph_passes()
        each.lower()
        with each.handed_over() as path:
            programs.append(path.read_bytes())
    return whole


def _compiled_pieces(model: onnx.ModelProto, options: Options) -> Iterable[Compilation | bytes]:
    try:
        return [begin(model, options)]
    except UnsupportedModelError:
        if not options.host:
            raise
    report = Report()
    return compiled_parts(plan_parts(model, options, report), options, report)
