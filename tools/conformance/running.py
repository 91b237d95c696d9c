"""Running cases, each where it cannot harm the others."""

import gc
import logging
import multiprocessing
import os
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import TimeoutError, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from onnx.backend.test.runner import Runner
from pebble import ProcessExpired, ProcessPool

from ...backend import GraphcBackend, GraphcBackendRep
from ...driver import make_options, to_module
from ...errors import BackendTimeoutError, GraphcError, UnsupportedModelError
from .cases import Case
from .outcome import Outcome, Status

_cases: dict[str, Case] = {}
"""What the processes of the pool, which are forked, find by name."""

MEMORY_BYTES = 8 << 30
"""Of address space, for each process of a case: some compiles of the backend know no end."""
_ONE_THREAD = ("--mlir-disable-threading",)
"""For the backend: there is a case for each processor already."""
GRACE = 5.0
"""Seconds that a case has beyond the backend's time, which ends its compiler with it."""


def run_cases(
    cases: Iterable[Case],
    *,
    jobs: int,
    timeout: float,
    target: str = "cpu",
    host: bool = True,
    execute: bool = True,
    cache: str | None = None,
    bounded: bool = True,
    keep: Path | None = None,
) -> Iterator[Outcome]:
    """Run `cases`, `jobs` at a time, each within `timeout` seconds; outcomes as they come.

    What a case starts ends with it. Without `host`, what would not be compiled is unsupported;
    without `execute`, a case passes when it is compiled, and what it is compiled to is left in the
    folder `keep` under its name. Cases with one program, of which there are many, have it compiled
    once; with `cache`, a folder, once for all runs. Each has `MEMORY_BYTES` of address space where
    it is `bounded`: graphics processors' drivers reserve more than that.
    """
    with tempfile.TemporaryDirectory(prefix="graphc-conformance-") as temporary:
        options: dict[str, Any] = {"target": target, "host": host, "cache": cache or temporary}
        run = run_case if execute else partial(compile_case, keep=keep)
        pool = _pool(jobs, _bound_memory if bounded else None)
        yield from _run_cases(cases, pool, timeout, run, options)


def _run_cases(
    cases: Iterable[Case],
    pool: ProcessPool,
    timeout: float,
    run: Callable[..., Outcome],
    options: Mapping[str, Any],
) -> Iterator[Outcome]:
    given = {case.name: case for case in cases}
    _cases.update(given)
    gc.freeze()  # or the processes would look through all cases, and copy them, at every collection
    try:
        futures: dict[Any, str] = {
            pool.schedule(
                _run_named, args=[run, name, timeout, options], timeout=timeout + GRACE
            ): name
            for name in given
        }
        for future in as_completed(futures):
            yield _outcome(futures[future], future.result, timeout)
    finally:  # where all is done there is nothing to stop
        pool.stop()
        pool.join()
        gc.unfreeze()


def in_child(function: Callable[..., Any], *args: Any) -> Any:
    """What `function` gives in a process of its own, so that this one never opens a device: what
    drivers hold does not survive the forks that follow."""
    pool = _pool(1, None)
    try:
        return pool.schedule(function, args=args).result()
    finally:
        pool.stop()
        pool.join()


def _pool(jobs: int, initializer: Callable[[], None] | None) -> ProcessPool:
    context: Any = multiprocessing.get_context("fork")
    return ProcessPool(max_workers=jobs, context=context, initializer=initializer)  # type: ignore[arg-type]


def _outcome(name: str, result: Callable[[], Outcome], timeout: float) -> Outcome:
    try:
        return result()
    except TimeoutError:
        return Outcome(name, Status.HANG, f"not done after {timeout:g} s")
    except ProcessExpired as error:
        return Outcome(name, Status.CRASH, f"the process ended with code {error.exitcode}")


def _bound_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _run_named(
    run: Callable[..., Outcome], name: str, timeout: float, options: Mapping[str, Any]
) -> Outcome:
    warnings.simplefilter("ignore")
    logging.getLogger("graphc").setLevel(logging.ERROR)  # the summary counts what the host ran
    start = time.perf_counter()
    outcome = run(_cases[name], timeout, **options)
    gc.collect()
    return Outcome(
        name, outcome.status, outcome.detail, outcome.native, time.perf_counter() - start
    )


def run_case(case: Case, timeout: float, **options: Any) -> Outcome:
    """Compile `case` within `timeout` seconds, with `options` of the backend, run and compare."""

    def run() -> bool:
        settings = {"cache": False, **options}
        prepared = GraphcBackend.prepare(
            case.model(), threads=1, timeout=timeout, extra_flags=_ONE_THREAD, **settings
        )
        assert isinstance(prepared, GraphcBackendRep)
        for inputs, expected in case.data_sets():
            _compare(expected, list(prepared.run(inputs)), case)
        return prepared.model.native

    return _outcome_of(case, timeout, run)


def compile_case(
    case: Case,
    timeout: float,
    *,
    target: str,
    host: bool,
    keep: Path | None = None,
    **options: Any,
) -> Outcome:
    """Compile `case` within `timeout` seconds, for a target that need not be here.

    With `keep`, a folder, what it is compiled to is written there under the name of the case.
    """

    def run() -> bool:
        kept = {"cache": False, **options}
        settings = make_options(
            target, None, 1, None, timeout=timeout, extra_flags=_ONE_THREAD, **kept
        )
        contents, report = to_module(case.model(), settings, host)
        if keep is not None:
            (keep / case.name).write_bytes(contents)
        return all(part.native for part in report.parts)

    return _outcome_of(case, timeout, run)


def _outcome_of(case: Case, timeout: float, run: Callable[[], bool]) -> Outcome:
    """What becomes of `case` when `run`, which says whether all of it is compiled, is called."""
    try:
        native = run()
    except UnsupportedModelError as error:
        return Outcome(case.name, Status.UNSUPPORTED, _one_line(error))
    except AssertionError as error:
        return Outcome(case.name, Status.WRONG, _one_line(error))
    except BackendTimeoutError:
        return Outcome(case.name, Status.HANG, f"not compiled after {timeout:g} s")
    except GraphcError as error:
        return Outcome(case.name, Status.ERROR, f"{type(error).__name__}: {_one_line(error)}")
    except Exception as error:  # a case must not end the others
        return Outcome(case.name, Status.ERROR, f"{type(error).__name__}: {_one_line(error)}")
    return Outcome(case.name, Status.PASS, native=native)


def _compare(expected: Any, given: Any, case: Case) -> None:
    """AssertionError where `given` is something else. Sequences are compared item by item, which
    ONNX's own comparison does only where their items are no scalars."""
    if isinstance(expected, list):
        assert isinstance(given, list), f"a {type(given).__name__} instead of a sequence"
        assert len(given) == len(expected), f"{len(given)} values instead of {len(expected)}"
        for wanted, value in zip(expected, given, strict=True):
            _compare(wanted, value, case)
    elif expected is None:
        assert given is None, f"{given} instead of an empty optional"
    else:
        Runner.assert_similar_outputs([expected], [given], rtol=case.rtol, atol=case.atol)


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text.partition(" reproducer: ")[0][:300]  # which is a folder of this machine


def default_jobs() -> int:
    """A process for each processor."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
