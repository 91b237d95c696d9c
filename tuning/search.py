"""Proposals of points: single changes first, then what optuna's sampler expects to be fast."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import MissingPackageError
from .search_space import Point, SearchSpace

_ATTEMPTS = 50
"""Proposals in a row that were seen before, after which the search ends."""


class Search:
    """Proposes points of a space, none of them twice, and learns from their ratios.

    `first` are points to propose before all others. Values that alone change nothing are not
    combined with others. Equal seeds and ratios give equal proposals.
    """

    def __init__(self, space: SearchSpace, first: Iterable[Point] = (), seed: int = 0):
        self._optuna = _import_optuna()
        self._space = space
        self._queue = [*first, *space.neighbours(space.default)]
        self._ratios: dict[Point, float] = {space.default: 1.0}
        self._inert: set[tuple[str, str]] = set()
        self._sampler = self._optuna.samplers.TPESampler(seed=seed, n_startup_trials=0)

    def points(self) -> Iterator[Point]:
        """The points, one by one. `tell` or `tell_same` must follow each."""
        for point in self._queue:
            if point not in self._ratios:
                yield point
        values = {
            knob.name: [v for v in knob.values if (knob.name, v) not in self._inert]
            for knob in self._space.knobs
        }
        size = math.prod(map(len, values.values()))
        categorical = self._optuna.distributions.CategoricalDistribution
        distributions = {name: categorical(v) for name, v in values.items() if len(v) > 1}
        study = self._optuna.create_study(sampler=self._sampler)
        for point, ratio in self._ratios.items():
            self._add(study, distributions, point, ratio)
        misses = 0
        while misses < _ATTEMPTS and sum(self._is_within(p, values) for p in self._ratios) < size:
            trial = study.ask(distributions)
            point = self._space.point(trial.params)
            if point in self._ratios:
                misses += 1
            else:
                misses = 0
                yield point
            study.tell(trial, self._ratios[point])

    def tell(self, point: Point, ratio: float) -> None:
        """Learn that `point` takes `ratio` of the default's time."""
        self._ratios[point] = ratio

    def tell_same(self, point: Point) -> None:
        """Learn that `point` is the program of the default."""
        self._ratios[point] = 1.0
        changes = self._space.changes(point)
        if len(changes) == 1:
            self._inert |= changes.items()

    def _is_within(self, point: Point, values: dict[str, list[str]]) -> bool:
        pairs = zip(self._space.knobs, point, strict=True)
        return all(value in values[knob.name] for knob, value in pairs)

    def _add(self, study: Any, distributions: dict[str, Any], point: Point, ratio: float) -> None:
        chosen = dict(zip((knob.name for knob in self._space.knobs), point, strict=True))
        params = {name: chosen[name] for name in distributions}
        if all(params[name] in each.choices for name, each in distributions.items()):
            study.add_trial(
                self._optuna.trial.create_trial(
                    params=params, distributions=distributions, value=ratio
                )
            )


def _import_optuna() -> Any:
    try:
        import optuna  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingPackageError("tuning", "optuna", "tune") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
