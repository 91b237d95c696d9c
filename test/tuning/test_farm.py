"""Trials on other processes, of which some are killed or have other CPUs."""

import os
import platform
import signal
import sys
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from multiprocessing import get_context
from types import ModuleType, SimpleNamespace

import numpy as np
import onnx
import pytest
import trial_substitutes as substitutes
from onnx import TensorProto, helper

import graphc
from graphc import tuning
from graphc.benchmarks.measure import Timing
from graphc.errors import ClusterError, UsageError, WorkerError
from graphc.profiling.machine import this_machine
from graphc.tuning import trials
from graphc.tuning.database import read_database
from graphc.tuning.executors import InlineExecutor, RayExecutor, WorkerProcesses, is_lost
from graphc.tuning.farm import LOST

pytest.importorskip("optuna")
X = np.random.default_rng(0).standard_normal((1, 16, 24, 24)).astype(np.float32)
TARGET = {"target": "cpu:x86-64-v3", "threads": 1}
"""For which the changes below are programs of their own, on every machine."""
needs_x86 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="compiles for x86-64"
)


@pytest.fixture(scope="module")
def two() -> onnx.ModelProto:
    """Two convolutions: one by Winograd's algorithm, one by the direct kernel."""
    random = np.random.default_rng(1)
    weights = [
        onnx.numpy_helper.from_array(random.standard_normal((16, 16, 3, 3), np.float32), name)
        for name in ("w0", "w1")
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1] * 4),
        helper.make_node("Conv", ["a", "w1"], ["y"], pads=[1] * 4, strides=[2, 2]),
    ]
    infos = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in {"x": X.shape, "y": (1, 16, 12, 12)}.items()
    ]
    graph = helper.make_graph(nodes, "two", infos[:1], infos[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _substituted(executor, measure=substitutes.measure, **functions):
    """`executor` with a clock that is made up."""
    return substitutes.SubstitutingExecutor(
        executor,
        {
            trials.measure_candidate: measure,
            trials.confirm_candidate: substitutes.confirm,
            **{getattr(trials, name): function for name, function in functions.items()},
        },
    )


def _outcomes(result) -> dict[str, str]:
    return {",".join(f"{k}={v}" for k, v in t.changes.items()): t.outcome for t in result.trials}


def _require_winner(result):
    assert substitutes.WINNER in result.pipeline
    assert result.ratio == 0.8


@needs_x86
@pytest.mark.long
def test_a_worker_killed_while_it_measures_costs_its_trial_alone(two):
    with WorkerProcesses(1) as workers:
        measuring = _substituted(workers, substitutes.measure_or_die)
        result = tuning.tune(two, {"x": X}, measuring=measuring, **TARGET)
    outcomes = _outcomes(result)
    assert outcomes["graph-direct-conv.run=false"] == LOST
    assert list(outcomes.values()).count(LOST) == 1
    _require_winner(result)


@needs_x86
def test_a_worker_killed_while_it_compiles_costs_its_trial_alone(two):
    with WorkerProcesses(2) as workers:
        compiling = _substituted(workers, compile_candidate=substitutes.compile_or_die)
        measuring = _substituted(InlineExecutor())
        result = tuning.tune(
            two, {"x": X}, executor=compiling, measuring=measuring, workers=2, **TARGET
        )
    assert _outcomes(result)["graph-direct-conv.run=false"] == LOST
    _require_winner(result)


@needs_x86
def test_results_of_other_cpus_are_kept_apart(two, tmp_path):
    database = tmp_path / "tuning.jsonl"
    measuring = _substituted(InlineExecutor(), substitutes.measure_elsewhere)
    result = tuning.tune(two, {"x": X}, measuring=measuring, database=database, **TARGET)
    assert _outcomes(result)["graph-direct-conv.run=false"] == "measured on other machines"
    _require_winner(result)
    here, there = this_machine(1), {**this_machine(1), "processor": "Z 80"}
    kept = read_database(database)
    (ours,), (theirs,) = kept.records_on(here), kept.records_on(there)
    assert {ratio for _, ratio in ours.tried} == {0.8}
    assert {ratio for _, ratio in theirs.tried} == {0.1}
    assert (theirs.changes, theirs.ratio, theirs.seconds) == ({}, 1.0, 0.0)
    assert ours.changes == {"graph-winograd.tile": "0"}


def test_code_is_not_measured_on_a_cpu_that_it_was_not_compiled_for(two):
    measuring = substitutes.SubstitutingExecutor(
        InlineExecutor(), {this_machine: substitutes.other_machine}
    )
    with pytest.raises(WorkerError, match="those that measure 'Z 80': name the target"):
        tuning.tune(two, {"x": X}, threads=1, measuring=measuring)


def test_processes_compile_and_measure(two, tmp_path):
    """With a clock, until the first trial ends."""
    onnx.save(two, tmp_path / "m.onnx")

    def stop(event):
        if event.stage.startswith("1 trials"):
            raise KeyboardInterrupt

    result = tuning.tune(
        tmp_path / "m.onnx", executor="processes", workers=2, threads=1, progress=stop
    )
    (trial,) = result.trials
    assert 0 < trial.ratio < 10
    assert result.record.machine == this_machine(1)
    (expected,) = graphc.compile(two, "interpret").run(None, {"x": X})
    with graphc.compile(two, pipeline=result.pipeline, threads=1) as tuned:
        np.testing.assert_allclose(tuned(X), expected, atol=1e-4 * np.abs(expected).max())


def test_a_process_that_is_killed_is_replaced():
    with WorkerProcesses(2) as workers:
        alive, killed = workers.submit(os.getpid), workers.submit(os.kill, os.getpid(), 0)
        assert killed.result() is None
        pid = alive.result()
        sleeping = [workers.submit(time.sleep, 0.5) for _ in range(2)]
        os.kill(pid, signal.SIGKILL)
        errors = [each.exception() for each in sleeping]
        assert [error is None for error in errors].count(True) == 1
        (error,) = filter(None, errors)
        assert isinstance(error, BrokenExecutor)
        assert is_lost(error)
        pids = {each.result() for each in [workers.submit(os.getpid) for _ in range(8)]}
        assert pid not in pids
        assert os.getpid() not in pids


def test_an_error_of_a_call_is_no_loss():
    with WorkerProcesses(1) as workers:
        error = workers.submit(int, "x").exception()
        assert isinstance(error, ValueError)
        assert not is_lost(error)
        assert workers.submit(int, "7").result() == 7


def test_an_executor_that_is_broken_is_named(two):
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        with pytest.raises(BrokenExecutor):
            pool.submit(os._exit, 1).result()
        with pytest.raises(ClusterError, match="takes no more trials"):
            tuning.tune(two, {"x": X}, executor=pool, threads=1)


@pytest.mark.parametrize("executor", ["threads", 7])
def test_executors_that_are_none(two, executor):
    with pytest.raises(UsageError, match="'processes' or an Executor"):
        tuning.tune(two, {"x": X}, executor=executor)


def test_numbers_of_workers_that_are_none(two):
    with pytest.raises(UsageError, match="workers must be a positive number, not 0"):
        tuning.tune(two, {"x": X}, executor="processes", workers=0)


def test_tasks_of_ray_are_not_repeated(monkeypatch):
    """By a module that stands for Ray: `RayExecutor` uses its public API only."""
    given = {}

    class Remote:
        def __init__(self, function):
            self._function = function

        def options(self, **options):
            given.update(options)
            return self

        def remote(self, *args):
            return SimpleNamespace(future=lambda: InlineExecutor().submit(self._function, *args))

    ray = ModuleType("ray")
    ray.remote = Remote
    monkeypatch.setitem(sys.modules, "ray", ray)
    executor = RayExecutor(resources={"zen3": 1})
    assert executor.submit(int, "7").result() == 7
    assert given == {"max_retries": 0, "resources": {"zen3": 1}}
    lost = type("WorkerCrashedError", (Exception,), {"__module__": "ray.exceptions"})
    assert is_lost(lost())


def test_a_farm_of_dask(two):
    """Two worker processes, which compile; this process measures."""
    pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        executor = client.get_executor(pure=False)
        result = tuning.tune(
            two, {"x": X}, executor=executor, measuring=_substituted(InlineExecutor()), workers=2,
            threads=1,
        )  # fmt: skip
    assert result.trials


def test_the_last_measurement_is_of_models_that_are_loaded_anew(monkeypatch):
    events = []

    def time_programs(programs, contest, plan):
        events.append("measured")
        made = {"candidate": 0.9, "default": 1.0}
        return {name: Timing(((ratio,),) * plan.rounds) for name, ratio in made.items()}

    monkeypatch.setattr(trials, "time_programs", time_programs)
    monkeypatch.setattr(trials, "close_models", lambda: events.append("closed"))
    default, candidate = (trials.CompiledProgram("cse", {}, digest) for digest in "dc")
    measured = trials.confirm_candidate(trials.Contest(candidate, default, default, {}, 1))
    assert events == ["closed", "measured"] * trials.CONFIRMATIONS
    assert measured.is_better


def test_a_candidate_that_may_owe_its_lead_to_chance_is_measured_again(monkeypatch):
    rounds = iter([[0.9] * 6 + [1.2] * 2, [0.9] * 8])
    asked = []

    def time_programs(programs, contest, plan):
        asked.append(plan)
        ratios = [0.95] * plan.rounds if plan is trials.SCREEN else next(rounds)
        made = {"candidate": ratios, "default": [1.0] * plan.rounds}
        return {name: Timing(tuple((each,) for each in times)) for name, times in made.items()}

    monkeypatch.setattr(trials, "time_programs", time_programs)
    monkeypatch.setattr(trials, "check_results", lambda contest: None)
    default, candidate = (trials.CompiledProgram("cse", {}, digest) for digest in "dc")
    measured = trials.measure_candidate(trials.Contest(candidate, default, default, {}, 1))
    assert asked == [trials.SCREEN, trials.PLAN, trials.PLAN]
    assert measured.is_better
    assert measured.ratio == pytest.approx(0.9)
