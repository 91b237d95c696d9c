"""Proposals of points: single changes first, then what is expected to improve on the best."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import MissingPackageError
from .search_space import Point, SearchSpace
from .surrogate import Prior, Surrogate, no_prior

SMALL = 4096
"""Points up to which a space is looked at as a whole."""
LEAST_IMPROVEMENT = 1e-4
"""Expected improvement, as a share of the time, below which points are not tried."""
_ATTEMPTS = 50
"""Proposals in a row that are not worth a trial, after which the search of a large space ends."""
_STARTS = 3
"""Best points whose neighbours are considered in a large space."""


class Search:
    """Proposes points of a space, none of them twice, and learns from their ratios.

    `first` are points to propose before all others, `prior` is what other models say of single
    changes: those that it expects to gain are tried early, and those that are sure to lose are not
    tried alone. Values that alone change nothing are not combined with others. The search ends when
    no point is expected to improve on the best. Equal seeds, priors and ratios give equal
    proposals.
    """

    def __init__(
        self,
        space: SearchSpace,
        first: Iterable[Point] = (),
        seed: int = 0,
        prior: Prior = no_prior,
    ):
        self._space, self._first, self._seed = space, list(first), seed
        self._surrogate = Surrogate(space, prior)
        self._ratios: dict[Point, float] = {space.default: 1.0}
        self._inert: set[tuple[str, str]] = set()

    def points(self) -> Iterator[Point]:
        """The points, one by one. `tell` or `tell_same` must follow each."""
        for point in [*self._first, *self._singles()]:
            if point not in self._ratios:
                yield point
        values = [
            [value for value in knob.values if (knob.name, value) not in self._inert]
            for knob in self._space.knobs
        ]
        if math.prod(map(len, values)) <= SMALL:
            yield from self._of_all(list(itertools.product(*values)))
        else:
            yield from self._of_many(values)

    def tell(self, point: Point, ratio: float) -> None:
        """Learn that `point` takes `ratio` of the default's time."""
        self._ratios[point] = ratio
        self._surrogate.tell(point, ratio)

    def tell_same(self, point: Point) -> None:
        """Learn that `point` is the program of the default."""
        self.tell(point, 1.0)
        changes = self._space.changes(point)
        if len(changes) == 1:
            self._inert |= changes.items()

    def _singles(self) -> list[Point]:
        """The points with one change, the most promising first, without those sure to lose."""
        points = list(self._space.neighbours(self._space.default))
        if not points:
            return []
        means, spreads = self._surrogate.predict(points)
        order = np.argsort(means, kind="stable")
        worth = _expected_improvement(means, spreads, 0.0) >= LEAST_IMPROVEMENT
        return [points[index] for index in order if worth[index]]

    def _of_all(self, points: Sequence[Point]) -> Iterator[Point]:
        """The points of a small space, by expected improvement."""
        while (point := self._most_promising(points)) is not None:
            yield point

    def _of_many(self, values: Sequence[Sequence[str]]) -> Iterator[Point]:
        """Points of a large space: neighbours of the best ones, and what optuna's sampler says."""
        optuna = _import_optuna()
        names = [knob.name for knob in self._space.knobs]
        categorical = optuna.distributions.CategoricalDistribution
        distributions = {name: categorical(each) for name, each in zip(names, values, strict=True)}
        sampler = optuna.samplers.TPESampler(seed=self._seed, n_startup_trials=0)
        study = optuna.create_study(sampler=sampler)
        for point, ratio in self._ratios.items():
            if all(value in each for value, each in zip(point, values, strict=True)):
                _add(study, distributions, dict(zip(names, point, strict=True)), ratio)
        misses = 0
        while misses < _ATTEMPTS:
            asked = study.ask(distributions)
            pool = [self._space.point(asked.params), *self._near_the_best(values)]
            point = self._most_promising(pool)
            study.tell(asked, state=optuna.trial.TrialState.PRUNED)
            misses += point is None
            if point is not None:
                misses = 0
                yield point
                _add(
                    study, distributions, dict(zip(names, point, strict=True)), self._ratios[point]
                )

    def _near_the_best(self, values: Sequence[Sequence[str]]) -> Iterator[Point]:
        best = sorted(self._ratios, key=lambda point: (self._ratios[point], point))[:_STARTS]
        for start in best:
            for point in self._space.neighbours(start):
                if all(value in each for value, each in zip(point, values, strict=True)):
                    yield point

    def _most_promising(self, points: Sequence[Point]) -> Point | None:
        """The untried point with the largest expected improvement; None if none is worth it."""
        untried = [point for point in points if point not in self._ratios]
        if not untried:
            return None
        best = math.log(min(self._ratios.values()))
        gains = _expected_improvement(*self._surrogate.predict(untried), best)
        index = int(np.argmax(gains))
        return untried[index] if gains[index] >= LEAST_IMPROVEMENT else None


def _expected_improvement(means: np.ndarray, spreads: np.ndarray, best: float) -> np.ndarray:
    """The expected gain over `best` of normally distributed values, where less is better."""
    spreads = np.maximum(spreads, 1e-12)
    scores = (best - means) / spreads
    below = np.array([(1 + math.erf(score / math.sqrt(2))) / 2 for score in scores])
    density = np.exp(-(scores**2) / 2) / math.sqrt(2 * math.pi)
    return spreads * (scores * below + density)


def _add(study: Any, distributions: Any, params: dict[str, str], ratio: float) -> None:
    from optuna.trial import create_trial  # pyright: ignore[reportMissingImports]

    study.add_trial(create_trial(params=params, distributions=distributions, value=ratio))


def _import_optuna() -> Any:
    try:
        import optuna  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingPackageError("tuning", "optuna", "tune") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
