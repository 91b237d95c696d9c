"""Search for the fastest pipeline of a model."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from ..benchmarks.measure import MeasurementPlan, in_turns
from ..compiler.driver import make_options, require_compiled
from ..compiler.options import Options
from ..errors import (
    BackendError,
    PassError,
    UnsupportedModelError,
    UsageError,
    VerificationError,
)
from ..frontend.onnx.importing.loading import load_model
from ..frontend.onnx.model_features import model_features
from ..profiling.machine import this_machine
from ..runtime import CompiledModel, ProgressEvent
from ..runtime.metadata import model_name
from .candidate import Candidate, make_candidate, require_equal_results
from .cost_model import learn_cost_model
from .database import TuningDatabase, TuningRecord, read_database, write_database
from .lookup import model_key
from .measured_feeds import Feeds, feeds_of
from .paired_test import is_faster, round_ratios
from .search import Search
from .search_space import Point, SearchSpace
from .surrogate import no_prior

PLAN = MeasurementPlan(rounds=8, burst_seconds=0.05)
"""The measurement of a candidate beside the incumbent."""

SCREEN = MeasurementPlan(rounds=3, burst_seconds=0.02)
"""A first, shorter one, which drops what is clearly slower."""

SCREENED = 1.1
"""Ratio in the first measurement beyond which a candidate is dropped."""

CONFIRMATION = MeasurementPlan(rounds=16, burst_seconds=0.1)
"""The last measurement: the best candidate beside the default pipeline."""

Progress = Callable[[ProgressEvent], None]


@dataclass(frozen=True)
class TuningTrial:
    """A point that was tried: what differs from the default, and its time over the default's.

    The ratio is None for a candidate that was refused, with the reason in `outcome`.
    """

    changes: Mapping[str, str]
    ratio: float | None
    outcome: str


@dataclass(frozen=True)
class TuningResult:
    """The fastest pipeline that was found, and what was tried.

    `ratio` is the time of a call over that with the default pipeline; 1.0 if nothing was faster.
    """

    record: TuningRecord
    trials: Sequence[TuningTrial] = field(default_factory=tuple[TuningTrial, ...])

    @property
    def pipeline(self) -> str:
        """The pipeline, for ``graphc.compile(model, pipeline=...)`` and gc-opt."""
        return self.record.pipeline

    @property
    def ratio(self) -> float:
        """The time of a call over that with the default pipeline."""
        return self.record.ratio

    def __str__(self) -> str:
        lines = [f"{self.record.name}: {self.ratio:.3f} of the default's time"]
        lines += [f"  {name} = {value}" for name, value in self.record.changes.items()]
        lines.append(f"{len(self.trials)} trials:")
        for trial in sorted(self.trials, key=lambda each: each.ratio or float("inf")):
            changes = ", ".join(f"{n} = {v}" for n, v in trial.changes.items())
            ratio = "   -  " if trial.ratio is None else f"{trial.ratio:6.3f}"
            lines.append(f"  {ratio}  {changes}: {trial.outcome}")
        return "\n".join(lines)


def tune(
    model: "str | os.PathLike[str] | bytes | Any",
    feeds: Feeds | None = None,
    *,
    target: str = "cpu",
    budget: float = 600.0,
    database: str | os.PathLike[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> TuningResult:
    """Find the fastest pipeline for an ONNX model within `budget` seconds.

    Varied are the options that passes declare as `tunable`, and the presence of optional passes;
    nothing rounds more than the precision allows. Candidates run on `feeds` in turns with the
    fastest pipeline so far. One takes its place if its results are equal up to rounding and the
    sign test says that it is faster; the last one is measured beside the default pipeline once
    more, so that the result is never slower than that. KeyboardInterrupt ends the search and keeps
    its result.

    `feeds` is an array for each input, or a function that makes them from the specs of the inputs;
    without it they are random, with `seed`, and sizes with a name are 1. `database` names a file of
    records, which gets the result; changes that paid for other models on this CPU are tried first.
    `options` are those of `graphc.compile`. Raises `UsageError` for a damaged file, and what
    compiling raises.
    """
    path = None if database is None else Path(database)
    known = TuningDatabase() if path is None else read_database(path)
    made = make_options(target, **options)
    result = search_pipeline(model, made, feeds, budget, known, seed, progress)
    if path is not None:
        known.add(result.record)
        write_database(known, path)
    return result


def search_pipeline(
    model: Any,
    options: Options,
    feeds: Feeds | None,
    budget: float,
    known: TuningDatabase,
    seed: int = 0,
    progress: Progress | None = None,
) -> TuningResult:
    """`tune` for `options`, with what is `known` of other models."""
    quiet = replace(options, progress=None, save_temps=None)
    tuner = _Tuner(model, quiet, feeds, seed, progress or (lambda _: None))
    try:
        record = tuner.run(budget, known, seed)
    finally:
        tuner.close()
    return TuningResult(record, tuple(tuner.trials))


class _Tuner:
    """The search for one model."""

    def __init__(
        self, model: Any, options: Options, feeds: Feeds | None, seed: int, progress: Progress
    ):
        self._model, self._options = model, options
        self._progress, self._started = progress, time.monotonic()
        self._space = SearchSpace(options.pipeline)
        self._machine = this_machine(options.threads)
        self._features = model_features(load_model(model)[0])
        base = _whole(model, options)
        self._programs = [base.fingerprint]
        self._default = base.compile()
        self._feeds = feeds_of(self._default.inputs, feeds, seed)
        self._expected = self._default.run(None, self._feeds)
        self._best: tuple[Point, CompiledModel] = self._space.default, self._default
        self.trials: list[TuningTrial] = []

    def run(self, budget: float, known: TuningDatabase, seed: int) -> TuningRecord:
        search = self._search(known, seed)
        self._searched = budget
        try:
            for point in search.points():
                if time.monotonic() - self._started >= budget:
                    break
                self._try(point, search)
        except KeyboardInterrupt:
            self._searched = min(budget, time.monotonic() - self._started)
            self._notify("interrupted")
        return self._record(self._confirmed_ratio())

    def _search(self, known: TuningDatabase, seed: int) -> Search:
        """The search, which begins with what the records of this CPU say."""
        first = [self._space.point(each) for each in known.changes_of(self._machine)]
        cost_model = learn_cost_model(known.records_on(self._machine))
        prior = no_prior if cost_model is None else partial(cost_model.predict, self._features)
        return Search(self._space, first, seed, prior)

    def close(self) -> None:
        self._default.close()
        self._best[1].close()

    def _try(self, point: Point, search: Search) -> None:
        """Measure `point`, and tell `search` its ratio to the default; 1.0 if it was refused."""
        try:
            candidate = make_candidate(self._model, self._options, self._space.pipeline(point))
            if candidate.fingerprint == self._programs[0]:
                search.tell_same(point)
                return
            if candidate.fingerprint in self._programs:
                search.tell(point, 1.0)
                return
            self._programs.append(candidate.fingerprint)
            compiled = candidate.compile()
        except (BackendError, PassError) as error:
            search.tell(point, self._note(point, None, f"does not compile: {error}"))
            return
        try:
            require_equal_results(compiled, self._expected, self._feeds)
        except VerificationError as error:
            compiled.close()
            search.tell(point, self._note(point, None, f"wrong: {error}"))
            return
        search.tell(point, self._compete(point, compiled))

    def _compete(self, point: Point, compiled: CompiledModel) -> float:
        """The ratio of `point`, which takes the place of the best one if it is faster."""
        ratio, better = self._measure(compiled)
        if not better:
            compiled.close()
            return self._note(point, ratio, "not faster than the best")
        _, replaced = self._best
        self._best = point, compiled
        if replaced is not self._default:
            replaced.close()
        return self._note(point, ratio, "the best so far")

    def _note(self, point: Point, ratio: float | None, outcome: str) -> float:
        line = outcome.splitlines()[0]
        self.trials.append(TuningTrial(self._space.changes(point), ratio, line))
        best = min((t.ratio for t in self.trials if t.ratio is not None), default=1.0)
        self._notify(f"{len(self.trials)} trials, best {min(best, 1.0):.3f}")
        return 1.0 if ratio is None else ratio

    def _measure(self, compiled: CompiledModel) -> tuple[float, bool]:
        """The candidate's time over the default's, and whether it beats the best so far."""
        calls = self._calls({"candidate": compiled, "default": self._default})
        screened = in_turns(calls, SCREEN)
        ratio = screened["candidate"].ratio(screened["default"])
        if ratio > SCREENED:
            return ratio, False
        if self._best[1] is not self._default:
            calls |= self._calls({"best": self._best[1]})
        timings = in_turns(calls, PLAN)
        rivals = round_ratios(timings["candidate"], timings.get("best", timings["default"]))
        return timings["candidate"].ratio(timings["default"]), is_faster(rivals)

    def _confirmed_ratio(self) -> float:
        """The ratio of the best point in a last measurement; 1.0 if it does not hold."""
        _, compiled = self._best
        if compiled is self._default:
            return 1.0
        timings = in_turns(self._calls({"best": compiled, "default": self._default}), CONFIRMATION)
        ratios = round_ratios(timings["best"], timings["default"])
        if is_faster(ratios):
            return median(ratios)
        compiled.close()
        self._best = self._space.default, self._default
        return 1.0

    def _calls(self, models: Mapping[str, CompiledModel]) -> dict[str, Callable[[], Any]]:
        return {name: partial(each.run, None, self._feeds) for name, each in models.items()}

    def _record(self, ratio: float) -> TuningRecord:
        point, _ = self._best
        return TuningRecord(
            model_key(self._model, self._options),
            model_name(self._model),
            self._machine,
            self._options.precision,
            self._space.pipeline(point),
            self._space.changes(point),
            ratio,
            len(self.trials),
            self._searched,
            self._features,
            [(trial.changes, round(trial.ratio, 4)) for trial in self.trials if trial.ratio],
        )

    def _notify(self, stage: str) -> None:
        self._progress(ProgressEvent(stage, time.monotonic() - self._started))


def _whole(model: Any, options: Options) -> Candidate:
    """`model` with the default pipeline. Raises `UsageError` if it is not compiled as a whole."""
    require_compiled(options)
    try:
        return make_candidate(model, options, options.pipeline)
    except UnsupportedModelError as error:
        raise UsageError(f"models with parts on the host are not tuned: {error}") from error
