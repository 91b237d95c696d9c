"""The two halves of a trial, compilation and measurement, as functions that any worker can run.

Arguments and results can be pickled. Both halves say on which machine they ran.
"""

import dataclasses
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from statistics import median
from typing import Any

from ..benchmarks.measure import MeasurementPlan, Timing, in_turns
from ..compiler.driver import make_options
from ..compiler.options import Options
from ..errors import BackendError, GraphcError, PassError, VerificationError
from ..profiling.machine import this_machine
from ..runtime import CompiledModel, TensorSpec, ValueSpec, load
from ..runtime.cache.digests import digest_of
from .candidate import make_candidate, require_equal_results
from .paired_test import CONFIRMED, LEAST_GAIN, is_faster, noise_of, round_ratios
from .search_space import Shapes

PLAN = MeasurementPlan(rounds=8, burst_seconds=0.05)
"""The measurement of a candidate beside the incumbent."""

REPEATS = 3
"""Measurements of a candidate that seems faster but may owe that to chance."""

SCREEN = MeasurementPlan(rounds=3, burst_seconds=0.02)
"""A first, shorter one, which drops what is clearly slower."""

SCREENED = 1.1
"""Ratio in the first measurement beyond which a candidate is dropped."""

CONFIRMATION = MeasurementPlan(rounds=16, burst_seconds=0.05)
"""The last measurements: the best candidate beside the default pipeline."""

CONFIRMATIONS = 3
"""Last measurements, each of models that are loaded anew: where their memory lies matters, too."""

_LOADED_MODELS = 3
"""Compiled models that a worker keeps: the default, the best and the candidate."""

_NOT_SENT = ("target", "pipeline", "cache", "progress", "save_temps")


@dataclass(frozen=True)
class TrialModel:
    """A model with the options of its candidates."""

    model: Any
    target: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, model: Any, options: Options) -> "TrialModel":
        """`model` with `options`, as they are given to `graphc.compile`."""
        given = {
            each.name: getattr(options, each.name)
            for each in dataclasses.fields(options)
            if each.name not in _NOT_SENT
        }
        cache = False if options.cache is None else options.cache.folder
        return cls(model, options.target.spelling, {**given, "cache": cache})

    def portable(self) -> "TrialModel":
        """The same for other processes: models in memory as bytes, paths from the root."""
        model = self.model
        if hasattr(model, "SerializeToString"):
            model = model.SerializeToString()
        elif isinstance(model, str | os.PathLike):
            model = os.path.abspath(model)
        return dataclasses.replace(self, model=model)


@dataclass(frozen=True)
class CompiledProgram:
    """A candidate that was compiled, or only its digest if that was known, or why it was not."""

    pipeline: str
    machine: Mapping[str, Any]
    digest: str = ""
    contents: bytes = b""
    inputs: Sequence[TensorSpec | ValueSpec] = ()
    shapes: Shapes = field(default_factory=dict[str, Mapping[str, Sequence[str]]])
    error: str = ""

    @cached_property
    def contents_digest(self) -> str:
        """The digest that workers keep loaded models by."""
        return digest_of(self.contents)


@dataclass(frozen=True)
class Contest:
    """Programs that are to be measured in turns, on the same inputs."""

    candidate: CompiledProgram
    default: CompiledProgram
    best: CompiledProgram
    """The best so far; the default itself if there is none."""
    feeds: Mapping[str, Any]
    threads: int


@dataclass(frozen=True)
class Measurement:
    """The time of a candidate over the default's on a machine, and whether it beats the best.

    `noise` is the standard error of the ratio's logarithm. `ratio` is None for a candidate that
    cannot win, and `error` says why.
    """

    machine: Mapping[str, Any]
    ratio: float | None
    is_better: bool = False
    noise: float = 0.0
    error: str = ""


def compile_candidate(
    trial: TrialModel, pipeline: str, known: frozenset[str] = frozenset()
) -> CompiledProgram:
    """Compile a model with `pipeline`, unless it becomes one of the `known` programs."""
    options = make_options(trial.target, pipeline=pipeline, **trial.options)
    made = CompiledProgram(pipeline, this_machine(options.threads))
    try:
        candidate = make_candidate(trial.model, options, pipeline)
        made = dataclasses.replace(
            made, digest=candidate.digest, inputs=candidate.inputs, shapes=candidate.shapes
        )
        if candidate.digest in known:
            return made
        return dataclasses.replace(made, contents=candidate.compile())
    except (BackendError, PassError) as error:
        return dataclasses.replace(made, error=f"does not compile: {error}")


def measure_candidate(contest: Contest) -> Measurement:
    """Check the results of a candidate, and measure it beside the default and the best."""
    machine = this_machine(contest.threads)
    try:
        check_results(contest)
    except VerificationError as error:
        return Measurement(machine, None, error=f"wrong: {error}")
    except GraphcError as error:
        return Measurement(machine, None, error=f"does not run: {error}")
    programs = {"candidate": contest.candidate, "default": contest.default}
    screened = time_programs(programs, contest, SCREEN)
    ratio = screened["candidate"].ratio(screened["default"])
    if ratio > SCREENED:
        noise = noise_of(round_ratios(screened["candidate"], screened["default"]))
        return Measurement(machine, ratio, noise=noise)
    rival = "default"
    if contest.best.digest != contest.default.digest:
        programs["best"], rival = contest.best, "best"
    ratios: list[float] = []
    against_best: list[float] = []
    for _ in range(REPEATS):
        timings = time_programs(programs, contest, PLAN)
        ratios += round_ratios(timings["candidate"], timings["default"])
        against_best += round_ratios(timings["candidate"], timings[rival])
        better = is_faster(against_best)
        if better or median(against_best) > 1 - LEAST_GAIN:
            break
    return Measurement(machine, median(ratios), better, noise_of(ratios))


def confirm_candidate(contest: Contest) -> Measurement:
    """Measure a candidate beside the default once more, for longer and in other memory."""
    programs = {"candidate": contest.candidate, "default": contest.default}
    ratios: list[float] = []
    for _ in range(CONFIRMATIONS):
        close_models()
        timings = time_programs(programs, contest, CONFIRMATION)
        ratios += round_ratios(timings["candidate"], timings["default"])
    return Measurement(this_machine(contest.threads), median(ratios), is_faster(ratios, CONFIRMED))


def check_results(contest: Contest) -> None:
    """Raise `VerificationError` if the candidate's results are not those of the default."""
    default = _opened(contest.default, contest.threads)
    candidate = _opened(contest.candidate, contest.threads)
    require_equal_results(candidate, default.run(None, dict(contest.feeds)), contest.feeds)


def time_programs(
    programs: Mapping[str, CompiledProgram], contest: Contest, plan: MeasurementPlan
) -> dict[str, Timing]:
    """The times of programs, measured in turns."""
    models = {name: _opened(each, contest.threads) for name, each in programs.items()}
    feeds = dict(contest.feeds)
    return in_turns({n: partial(each.run, None, feeds) for n, each in models.items()}, plan)


_opened_models: OrderedDict[tuple[str, int], CompiledModel] = OrderedDict()


def _opened(program: CompiledProgram, threads: int) -> CompiledModel:
    """The loaded program; the ones used last are kept."""
    key = program.contents_digest, threads
    if key not in _opened_models:
        _opened_models[key] = load(program.contents, threads=threads)
    _opened_models.move_to_end(key)
    while len(_opened_models) > _LOADED_MODELS:
        _opened_models.popitem(last=False)[1].close()
    return _opened_models[key]


def close_models() -> None:
    """Close the models that this process keeps."""
    while _opened_models:
        _opened_models.popitem()[1].close()
