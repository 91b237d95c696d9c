"""Search for the fastest pipeline of a model."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

from ..compiler.driver import make_options, require_compiled
from ..compiler.options import Options
from ..errors import BackendError, UnsupportedModelError, UsageError
from ..frontend.onnx.importing.loading import load_model
from ..frontend.onnx.model_features import model_features
from ..runtime import ProgressEvent
from ..runtime.metadata import model_name
from .cost_model import learn_cost_model
from .database import TuningDatabase, TuningRecord
from .farm import Farm, FarmSetup
from .lookup import keep_records, known_records, model_key
from .measured_feeds import Feeds, feeds_of
from .result import TuningResult, TuningTrial
from .search import Search
from .search_space import Point, SearchSpace
from .surrogate import no_prior
from .trials import CompiledProgram, Contest, Measurement, TrialModel, confirm_candidate

REFUSED = 1.3
"""Ratio that a search learns for what cannot be measured, so that it leaves it alone."""

_MEASUREMENTS = 3
"""Attempts to have a candidate measured on the machine of the search."""

Progress = Callable[[ProgressEvent], None]
_Measured = tuple[Mapping[str, str], float]


def tune(
    model: "str | os.PathLike[str] | bytes | Any",
    feeds: Feeds | None = None,
    *,
    target: str = "cpu",
    budget: float = 600.0,
    database: str | os.PathLike[str] | None = None,
    seed: int = 0,
    executor: Executor | str | None = None,
    measuring: Executor | str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> TuningResult:
    """Find the fastest pipeline for an ONNX model in a search of `budget` seconds.

    Varied are the options that passes declare as `tunable`, and the presence of optional passes;
    nothing rounds more than the precision allows. Candidates run on `feeds` in turns with the
    fastest pipeline so far. One takes its place if its results are equal up to rounding and the
    sign test says that it is faster; the last one is measured beside the default pipeline once
    more, so that the result is never slower than that. KeyboardInterrupt ends the search and keeps
    its result.

    `feeds` is an array for each input, or a function that makes them from the specs of the inputs;
    without it they are random, with `seed`, and sizes with a name are 1. `database` names a file of
    records, which gets the result; changes that paid for other models on this CPU are tried first.
    `options` are those of `graphc.compile`.

    `executor` compiles `workers` candidates at a time and measures, one at a time; `measuring`
    measures in its place. Each is any `concurrent.futures.Executor`, ``"processes"`` for processes
    of this machine, or None for this one. A worker that is lost costs its trial. The search is for
    the machine of the first measurement; what others measure is kept in records of their own.

    Raises `UsageError` for a damaged file, `ClusterError` for an executor that takes no trials,
    `WorkerError` for workers with different CPUs without a `target` that names one, and what
    compiling raises.
    """
    known = known_records(database)
    made = make_options(target, **options)
    setup = FarmSetup(executor, measuring, workers)
    result = search_pipeline(model, made, feeds, budget, known, seed, setup, progress)
    keep_records(known, result.records, database)
    return result


def search_pipeline(
    model: Any,
    options: Options,
    feeds: Feeds | None,
    budget: float,
    known: TuningDatabase,
    seed: int = 0,
    setup: FarmSetup | None = None,
    progress: Progress | None = None,
) -> TuningResult:
    """`tune` for `options`, with what is `known` of other models."""
    require_compiled(options)
    tuner = _Tuner(model, options, feeds, seed, setup or FarmSetup(), progress or (lambda _: None))
    try:
        return tuner.run(budget, known)
    finally:
        tuner.close()


class _Tuner:
    """The search for one model, on one kind of machine: that of the first measurement."""

    def __init__(
        self,
        model: Any,
        options: Options,
        feeds: Feeds | None,
        seed: int,
        setup: FarmSetup,
        progress: Progress,
    ):
        self._model, self._options, self._seed = model, options, seed
        self._progress, self._started = progress, time.monotonic()
        self._features = model_features(load_model(model)[0])
        self.trials: list[TuningTrial] = []
        self._elsewhere: dict[str, list[_Measured]] = {}
        self._farm = Farm(setup, TrialModel.of(model, options), options.threads)
        try:
            self._machine = self._farm.machine()
            self._default = self._compile_default()
            self._feeds = feeds_of(self._default.inputs, feeds, seed)
            self._space = SearchSpace(options.pipeline, self._default.shapes)
        except BaseException:
            self._farm.close()
            raise
        self._ratios = {self._default.digest: 1.0}
        self._best: tuple[Point, CompiledProgram] = self._space.default, self._default

    def run(self, budget: float, known: TuningDatabase) -> TuningResult:
        """Search for `budget` seconds; nothing that is measured is lost by KeyboardInterrupt."""
        search, searched, started = self._search(known), budget, time.monotonic()
        self._deadline = started + budget
        try:
            while self._has_time() and (points := search.ask(self._farm.width)):
                self._try(points, search)
        except KeyboardInterrupt:
            searched = min(budget, time.monotonic() - started)
            self._notify("interrupted")
        record = self._record(self._confirmed_ratio(), searched)
        return TuningResult(record, tuple(self.trials), tuple(self._records_elsewhere()))

    def _has_time(self) -> bool:
        return time.monotonic() < self._deadline

    def close(self) -> None:
        self._farm.close()

    def _compile_default(self) -> CompiledProgram:
        """Raises `UsageError` for a model that is not compiled as a whole."""
        try:
            made = self._farm.compile_default(self._options.pipeline, self._machine)
        except UnsupportedModelError as error:
            raise UsageError(f"models with parts on the host are not tuned: {error}") from error
        if made.error:
            raise BackendError(f"the default pipeline {made.error}")
        return made

    def _search(self, known: TuningDatabase) -> Search:
        """The search, which begins with what the records of this CPU say."""
        first = [self._space.point(each) for each in known.changes_of(self._machine)]
        cost_model = learn_cost_model(known.records_on(self._machine))
        prior = no_prior if cost_model is None else partial(cost_model.predict, self._features)
        return Search(self._space, first, self._seed, prior)

    def _try(self, points: Sequence[Point], search: Search) -> None:
        """Compile `points`, then measure one after the other while there is time."""
        pipelines = [self._space.pipeline(point) for point in points]
        programs = self._farm.compile(pipelines, frozenset(self._ratios))
        for point, program in zip(points, programs, strict=True):
            if program.error:
                self._refuse(point, program.error, search)
            elif program.digest == self._default.digest:
                search.tell_same(point)
            elif program.digest in self._ratios:
                ratio = self._ratios[program.digest]
                search.tell(point, ratio)
                self._note(point, ratio, "the program of another trial")
            elif self._has_time() or point == points[0]:
                self._compete(point, program, search)

    def _compete(self, point: Point, program: CompiledProgram, search: Search) -> None:
        """Measure a candidate, which takes the place of the best one if it is faster."""
        measured = self._measure(point, program)
        if measured is None:
            self._note(point, None, "measured on other machines")
            return
        if measured.ratio is None:
            self._refuse(point, measured.error, search)
            return
        self._ratios[program.digest] = measured.ratio
        search.tell(point, measured.ratio, measured.noise)
        if measured.is_better:
            self._best = point, program
        outcome = "the best so far" if measured.is_better else "not faster than the best"
        self._note(point, measured.ratio, outcome)

    def _measure(self, point: Point, program: CompiledProgram) -> Measurement | None:
        """The measurement of a candidate on the machine of the search; None if others made it."""
        contest = self._contest(program)
        for _ in range(_MEASUREMENTS):
            measured = self._farm.measure(contest)
            if not measured.machine or dict(measured.machine) == self._machine:
                return measured
            if measured.ratio is not None:
                key = json.dumps(dict(measured.machine), sort_keys=True)
                self._elsewhere.setdefault(key, []).append(
                    (self._space.changes(point), round(measured.ratio, 4))
                )
        return None

    def _contest(self, program: CompiledProgram) -> Contest:
        return Contest(program, self._default, self._best[1], self._feeds, self._options.threads)

    def _refuse(self, point: Point, why: str, search: Search) -> None:
        self._note(point, None, why)
        search.tell(point, REFUSED)

    def _note(self, point: Point, ratio: float | None, outcome: str) -> None:
        line = outcome.splitlines()[0]
        self.trials.append(TuningTrial(self._space.changes(point), ratio, line))
        best = min((t.ratio for t in self.trials if t.ratio is not None), default=1.0)
        self._notify(f"{len(self.trials)} trials, best {min(best, 1.0):.3f}")

    def _confirmed_ratio(self) -> float:
        """The ratio of the best point in a last measurement; 1.0 if it does not hold."""
        _, program = self._best
        if program is self._default:
            return 1.0
        for _ in range(_MEASUREMENTS):
            measured = self._farm.measure(self._contest(program), confirm_candidate)
            if dict(measured.machine) == self._machine and measured.ratio is not None:
                if measured.is_better:
                    return measured.ratio
                break
        self._best = self._space.default, self._default
        return 1.0

    def _record(self, ratio: float, searched: float) -> TuningRecord:
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
            searched,
            self._features,
            [(trial.changes, round(trial.ratio, 4)) for trial in self.trials if trial.ratio],
        )

    def _records_elsewhere(self) -> Iterator[TuningRecord]:
        """Records of the other machines that measured; each has its trials, and no choice."""
        for machine, tried in self._elsewhere.items():
            default = replace(self._record(1.0, 0.0), machine=json.loads(machine), tried=tried)
            yield replace(default, pipeline=self._options.pipeline, changes={}, trials=len(tried))

    def _notify(self, stage: str) -> None:
        self._progress(ProgressEvent(stage, time.monotonic() - self._started))
