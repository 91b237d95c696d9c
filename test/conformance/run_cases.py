"""Run cases, each in a process of its own so that it cannot harm the others."""

import gc
import logging
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from graphc.compiler.driver import make_options, to_module
from graphc.errors import BackendTimeoutError, GraphcError, UnsupportedModelError
from graphc.onnx_backend import GraphcBackend, GraphcBackendRep
from harness.isolation import Lost, call_each
from harness.variation import ROUNDS

from .calls import check_calls
from .case_outcome import CaseOutcome, CaseStatus
from .cases import SuiteCase

_cases: dict[str, SuiteCase] = {}
"""The cases by name, as the forked processes of the pool find them."""

ONE_THREAD = ("--mlir-disable-threading",)
"""Backend flags: one thread, because each core already compiles a case of its own."""
GRACE = 5.0
"""Seconds that a case has beyond the backend timeout, which also ends its compiler."""


def run_cases(
    cases: Iterable[SuiteCase],
    *,
    jobs: int,
    timeout: float,
    target: str = "cpu",
    host: bool = True,
    execute: bool = True,
    cache: str | None = None,
    bounded: bool = True,
    keep: Path | None = None,
) -> Iterator[CaseOutcome]:
    """Run `cases`, `jobs` at a time, each within `timeout` seconds; yield outcomes as they arrive.

    Processes that a case starts end with it. Without `host`, parts that cannot be compiled make a
    case unsupported. Without `execute`, a case passes when it compiles, and the compiled file is
    kept in the folder `keep` under the name of the case. Many cases share a program; it is compiled
    once, or with `cache`, a folder, once for all runs. Each process has `MEMORY_BYTES` of address
    space if it is `bounded`; GPU drivers reserve more than that.
    """
    with tempfile.TemporaryDirectory(prefix="graphc-conformance-") as temporary:
        options: dict[str, Any] = {"target": target, "host": host, "cache": cache or temporary}
        run = run_case if execute else partial(compile_case, keep=keep)
        yield from _run_cases(cases, run, timeout, options, jobs=jobs, bounded=bounded)


def _run_cases(
    cases: Iterable[SuiteCase],
    run: Callable[..., CaseOutcome],
    timeout: float,
    options: Mapping[str, Any],
    *,
    jobs: int,
    bounded: bool,
) -> Iterator[CaseOutcome]:
    given = {case.name: case for case in cases}
    _cases.update(given)
    call = partial(_run_named, run, timeout, options)
    for name, ended in call_each(call, given, jobs=jobs, timeout=timeout + GRACE, bounded=bounded):
        yield _outcome(name, ended, timeout)


def _outcome(name: str, ended: CaseOutcome | Lost, timeout: float) -> CaseOutcome:
    if isinstance(ended, CaseOutcome):
        return ended
    if ended.crashed:
        return CaseOutcome(name, CaseStatus.CRASH, ended.detail)
    return CaseOutcome(name, CaseStatus.HANG, f"not done after {timeout:g} s")


def _run_named(
    run: Callable[..., CaseOutcome], timeout: float, options: Mapping[str, Any], name: str
) -> CaseOutcome:
    warnings.simplefilter("ignore")
    logging.getLogger("graphc").setLevel(logging.ERROR)  # the summary counts what the host ran
    start = time.perf_counter()
    outcome = run(_cases[name], timeout, **options)
    gc.collect()
    return CaseOutcome(
        name, outcome.status, outcome.detail, outcome.native, time.perf_counter() - start
    )


def run_case(case: SuiteCase, timeout: float, rounds: int = ROUNDS, **options: Any) -> CaseOutcome:
    """Compile `case` within `timeout` seconds with `options` of the backend, run it in `rounds`
    (see `check_calls`), and compare."""

    def run() -> bool:
        settings = {"cache": False, **options}
        prepared = GraphcBackend.prepare(
            case.model(), threads=1, timeout=timeout, extra_flags=ONE_THREAD, **settings
        )
        assert isinstance(prepared, GraphcBackendRep)
        for inputs, expected in case.data_sets():
            check_calls(case, prepared, inputs, expected, rounds)
        return prepared.model.native

    return outcome_of(case, timeout, run)


def compile_case(
    case: SuiteCase,
    timeout: float,
    *,
    target: str,
    host: bool,
    keep: Path | None = None,
    **options: Any,
) -> CaseOutcome:
    """Compile `case` within `timeout` seconds for a target that this machine need not have.

    With `keep`, a folder, the compiled file is written there under the name of the case.
    """

    def run() -> bool:
        kept = {"cache": False, **options}
        settings = make_options(
            target, threads=1, timeout=timeout, extra_flags=ONE_THREAD, host=host, **kept
        )
        contents, report = to_module(case.model(), settings)
        if keep is not None:
            (keep / case.name).write_bytes(contents)
        return all(part.native for part in report.parts)

    return outcome_of(case, timeout, run)


def outcome_of(case: SuiteCase, timeout: float, run: Callable[[], bool]) -> CaseOutcome:
    """The outcome of `case` when `run` is called. `run` returns whether the whole case is
    compiled."""
    try:
        native = run()
    except UnsupportedModelError as error:
        return CaseOutcome(case.name, CaseStatus.UNSUPPORTED, _one_line(error))
    except AssertionError as error:
        return CaseOutcome(case.name, CaseStatus.WRONG, _one_line(error))
    except BackendTimeoutError:
        return CaseOutcome(case.name, CaseStatus.HANG, f"not compiled after {timeout:g} s")
    except GraphcError as error:
        return CaseOutcome(
            case.name, CaseStatus.ERROR, f"{type(error).__name__}: {_one_line(error)}"
        )
    except Exception as error:  # a case must not end the others
        return CaseOutcome(
            case.name, CaseStatus.ERROR, f"{type(error).__name__}: {_one_line(error)}"
        )
    return CaseOutcome(case.name, CaseStatus.PASS, native=native)


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text.partition(" reproducer: ")[0][:300]  # a folder of this machine follows
