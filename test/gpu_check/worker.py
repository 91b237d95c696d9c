"""A process that runs cases and models. A new one replaces it when it crashes or hangs."""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from conformance.case_outcome import CaseOutcome, CaseStatus
from graphc.benchmarks.measure import MeasurementPlan, in_turns, largest_difference
from graphc.errors import DeviceError, GraphcError
from graphc.runtime import CompiledModel, load, resolve_target
from graphc.runtime.device.device import open_device

from .array_comparison import assert_similar
from .check_archive import Archive, PackedCase, PackedModel, unpack_arrays

START_SECONDS = 300.0
"""Time limit for the start of a process; the first start of a driver may be slow."""
KILL_SECONDS = 10.0
"""Time limit for the end of a killed process. A process that waits for a hung device cannot be
ended at all."""

TIMING_SECONDS = 60.0
"""Time budget for all bursts of a model; one burst may take longer."""

Reply = dict[str, Any]


class Worker:
    """A client of a process that is started on demand."""

    def __init__(self, archive: Path, serve: Callable[[Path, Any], None] | None = None):
        self._archive = archive
        self._serve = serve or _serve
        self._process: Any = None
        self._pipe: Any = None
        self.fresh = True
        """True if the process that answers next has not run anything yet."""

    def ask(self, kind: str, name: str, timeout: float, **options: Any) -> Reply:
        """Run the ``case`` or ``model`` `name`; return its status, detail and more.

        Raises `DeviceError` if the device cannot be opened.
        """
        if self._process is None:
            self._start()
        self.fresh = False
        self._pipe.send((kind, name, options))
        return self._reply(timeout)

    def stop(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join(KILL_SECONDS)
            self._pipe.close()
        self._process, self.fresh = None, True

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=self._serve, args=(self._archive, theirs), daemon=True
        )
        self._process.start()
        theirs.close()  # otherwise the end of the process would go unnoticed
        ready = self._reply(START_SECONDS)
        if ready["status"] != CaseStatus.PASS:
            self.stop()
            raise DeviceError(f"the process that is to run the cases: {ready['detail']}")

    def _reply(self, timeout: float) -> Reply:
        try:
            if self._pipe.poll(timeout):
                return self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            self.stop()
            return {"status": CaseStatus.CRASH, "detail": f"the process ended: {_how(code)}"}
        self.stop()
        return {"status": CaseStatus.HANG, "detail": f"not done after {timeout:g} s"}


def run_case(worker: Worker, name: str, timeout: float) -> CaseOutcome:
    """Run a case and return its outcome.

    A case that does not pass runs once more in a new process, because an earlier case may have left
    the old one in a bad state.
    """
    fresh = worker.fresh
    reply = worker.ask("case", name, timeout)
    if reply["status"] != CaseStatus.PASS:
        worker.stop()
        if not fresh:
            return run_case(worker, name, timeout)
    return CaseOutcome(name, CaseStatus(reply["status"]), reply["detail"])


def run_cases(
    workers: Sequence[Worker], names: Sequence[str], timeout: float
) -> Iterator[CaseOutcome]:
    """Run each case by one of `workers`; yield outcomes as they arrive."""
    if len(workers) == 1:
        yield from (run_case(workers[0], name, timeout) for name in names)
        return
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def run(name: str) -> CaseOutcome:
        worker = idle.get()
        try:
            return run_case(worker, name, timeout)
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(len(workers)) as pool:
        futures = [pool.submit(run, name) for name in names]
        try:
            yield from (future.result() for future in as_completed(futures))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _how(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"code {code}"


def _serve(path: Path, pipe: Any) -> None:
    """Serve in the child process: open the device, report it, and answer until killed."""
    archive = Archive(path)
    cases = {case.info.name: case for case in archive.manifest.cases}
    models = {model.name: model for model in archive.manifest.models}
    driver = resolve_target(archive.manifest.variant).driver
    pipe.send(_guarded(lambda: _open(driver)))
    while True:
        try:
            kind, name, options = pipe.recv()
        except EOFError:  # the parent process is gone
            return
        if kind == "case":
            pipe.send(_guarded(lambda case=cases[name]: _run_case(archive, case)))
        else:
            pipe.send(_guarded(lambda m=models[name], o=options: _run_model(archive, m, **o)))


def _guarded(work: Callable[[], Reply]) -> Reply:
    try:
        return {"status": CaseStatus.PASS, "detail": "", **work()}
    except AssertionError as error:
        return {"status": CaseStatus.WRONG, "detail": _one_line(error)}
    except Exception as error:  # any exception is the outcome of the case
        kind = "" if isinstance(error, GraphcError) else f"{type(error).__name__}: "
        return {"status": CaseStatus.ERROR, "detail": kind + _one_line(error)}


def _open(driver: str) -> Reply:
    open_device(driver)
    return {}


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def _run_case(archive: Archive, case: PackedCase) -> Reply:
    data, offset = archive.read(case.data), 0
    with load(archive.read(case.module), threads=1) as model:
        for inputs, outputs in case.sets:
            given, offset = unpack_arrays(inputs, data, offset)
            expected, offset = unpack_arrays(outputs, data, offset)
            assert_similar(expected, _outputs(model, given), case.rtol, case.atol)
    return {}


def _outputs(model: CompiledModel, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    names = [spec.name for spec in model.inputs]
    return model.run(None, dict(zip(names, inputs, strict=True)))


def _run_model(archive: Archive, packed: PackedModel, rounds: int) -> Reply:
    data = archive.read(packed.data)
    inputs, offset = unpack_arrays(list(packed.inputs.values()), data)
    feeds: Mapping[str, np.ndarray] = dict(zip(packed.inputs, inputs, strict=True))
    expected, _ = unpack_arrays(packed.outputs, data, offset)
    with load(archive.read(packed.module)) as model:
        start = time.perf_counter()
        given = model.run(None, feeds)
        seconds = time.perf_counter() - start
        difference = max(map(largest_difference, given, expected), default=0.0)
        reply: Reply = {"difference": difference}
        if difference > packed.tolerance:
            reply |= {
                "status": CaseStatus.WRONG,
                "detail": f"{difference:.2g} > {packed.tolerance:g}",
            }
        plan = plan_for(rounds, seconds)
        timing = in_turns({"run": lambda: model.run(None, feeds)}, plan)["run"]
    low, high = timing.spread
    times = {"median": timing.median, "best": timing.best, "p10": low, "p90": high}
    return {**reply, "milliseconds": {name: round(time, 4) for name, time in times.items()}}


def plan_for(rounds: int, seconds: float) -> MeasurementPlan:
    """The timing plan for a model whose first run takes `seconds`: a slow model gets fewer
    bursts."""
    plan = MeasurementPlan()
    affordable = int(TIMING_SECONDS / ((plan.burst_runs + 1) * seconds))
    return replace(plan, rounds=max(1, min(rounds, affordable)))
