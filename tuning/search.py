"""Proposals of points: single changes first, then what is expected to improve on the best."""

import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from .search_space import Point, SearchSpace
from .surrogate import Prior, Surrogate, no_prior
from .tpe_sampler import TpeSampler

SMALL = 4096
"""Points up to which a space is looked at as a whole."""
LEAST_IMPROVEMENT = 1e-4
"""Expected improvement, as a share of the time, below which points are not tried."""
PATIENCE = 12
"""Combinations in a row that are no improvement, after which the search ends."""
_ATTEMPTS = 50
"""Proposals in a row that are not worth a trial, after which the search of a large space ends."""
_STARTS = 3
"""Best points whose neighbours are considered in a large space."""


class Search:
    """Proposes points of a space, none of them twice, and learns from their ratios.

    `first` are points to propose before all others, `prior` is what other models say of single
    changes: those that it expects to gain are tried early, and those that are sure to lose are not
    tried alone. Values that alone change nothing are not combined with others. The search ends when
    no point is expected to improve on the best, or many in a row have not. Equal seeds, priors and
    ratios give equal proposals.
    """

    def __init__(
        self,
        space: SearchSpace,
        first: Iterable[Point] = (),
        seed: int = 0,
        prior: Prior = no_prior,
    ):
        self._space, self._seed = space, seed
        self._surrogate = Surrogate(space, prior)
        self._ratios: dict[Point, float] = {space.default: 1.0}
        self._asked: set[Point] = {space.default}
        self._inert: set[tuple[str, str]] = set()
        self._queue = deque([*first, *self._singles()])
        self._sampler: TpeSampler | None = None
        self._combines, self._disappointments = False, 0

    def points(self) -> Iterator[Point]:
        """The points, one by one. `tell` or `tell_same` must follow each."""
        while points := self.ask(1):
            yield from points

    def ask(self, count: int) -> list[Point]:
        """At most `count` points to try next, in any order; none if the search is at its end.

        `tell` or `tell_same` may follow for each; none is proposed again if neither does.
        """
        points: list[Point] = []
        while self._queue and len(points) < count:
            point = self._queue.popleft()
            if point not in self._asked:
                self._asked.add(point)
                points.append(point)
        if points or self._disappointments >= PATIENCE:
            return points
        self._combines = True
        return self._combinations(count)

    def tell(self, point: Point, ratio: float, noise: float = 0.0) -> None:
        """Learn that `point` takes `ratio` of the default's time; `noise` is the standard error of
        its logarithm."""
        is_better = ratio < min(self._ratios.values())
        self._disappointments = 0 if is_better else self._disappointments + self._combines
        self._ratios[point] = ratio
        self._surrogate.tell(point, ratio, noise)

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

    def _combinations(self, count: int) -> list[Point]:
        """The points with the largest expected improvements, in the whole space or a part of it."""
        values = [
            [value for value in knob.values if (knob.name, value) not in self._inert]
            for knob in self._space.knobs
        ]
        if math.prod(map(len, values)) <= SMALL:
            return self._most_promising(itertools.product(*values), count)
        if self._sampler is None:
            names = [knob.name for knob in self._space.knobs]
            self._sampler = TpeSampler(dict(zip(names, values, strict=True)), self._seed)
        for _ in range(_ATTEMPTS):
            sampled = self._space.point(self._sampler.sample(self._named_ratios()))
            if found := self._most_promising([sampled, *self._near_the_best(values)], count):
                return found
        return []

    def _named_ratios(self) -> list[tuple[dict[str, str], float]]:
        names = [knob.name for knob in self._space.knobs]
        return [(dict(zip(names, p, strict=True)), ratio) for p, ratio in self._ratios.items()]

    def _near_the_best(self, values: Sequence[Sequence[str]]) -> Iterator[Point]:
        """The neighbours of the best points that have `values` alone."""
        best = sorted(self._ratios, key=lambda point: (self._ratios[point], point))[:_STARTS]
        for start in best:
            for point in self._space.neighbours(start):
                if all(value in each for value, each in zip(point, values, strict=True)):
                    yield point

    def _most_promising(self, points: Iterable[Point], count: int) -> list[Point]:
        """Those points, not asked for before, that are worth a trial; at most `count`."""
        untried = [
            point
            for point in dict.fromkeys(points)
            if point not in self._asked and self._space.is_reduced(point)
        ]
        if not untried:
            return []
        best = math.log(min(self._ratios.values()))
        gains = _expected_improvement(*self._surrogate.predict(untried), best)
        order = np.argsort(-gains, kind="stable")[:count]
        found = [untried[index] for index in order if gains[index] >= LEAST_IMPROVEMENT]
        self._asked.update(found)
        return found


def _expected_improvement(means: np.ndarray, spreads: np.ndarray, best: float) -> np.ndarray:
    """The expected gain over `best` of normally distributed values, where less is better."""
    spreads = np.maximum(spreads, 1e-12)
    scores = (best - means) / spreads
    below = np.array([(1 + math.erf(score / math.sqrt(2))) / 2 for score in scores])
    density = np.exp(-(scores**2) / 2) / math.sqrt(2 * math.pi)
    return spreads * (scores * below + density)
