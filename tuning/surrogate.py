"""Predicted ratios of the points of one search, from its own trials and those of other models."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .search_space import Point, SearchSpace

Prior = Callable[[Sequence[Mapping[str, str]]], tuple[np.ndarray, np.ndarray]]
"""The means and standard deviations of logarithms of ratios, for several changes."""

NOISE = 0.005
"""Smallest standard deviation of a measured logarithm."""
INTERACTION = 0.03
"""Standard deviation of what changes together gain beyond what each gains alone."""
UNKNOWN = 0.1
"""Standard deviation of the effect of a change that nothing is known of."""


def no_prior(changes: Sequence[Mapping[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    """No knowledge of other models: nothing is predicted to change."""
    return np.zeros(len(changes)), np.full(len(changes), np.inf)


class Surrogate:
    """A linear model of the logarithms of ratios, whose terms are single changes and pairs of them.

    The prior of a single change is that of other models. Terms are normally distributed, so that
    predictions follow from the trials in closed form (Bayesian linear regression).
    """

    def __init__(self, space: SearchSpace, prior: Prior = no_prior):
        self._space = space
        self._singles = [
            (knob.name, value)
            for knob in space.knobs
            for value in knob.values
            if value != knob.default
        ]
        self._index = {single: number for number, single in enumerate(self._singles)}
        self._means, spreads = (
            prior([dict([single]) for single in self._singles]) if self._singles else no_prior(())
        )
        self._spreads = np.minimum(np.maximum(spreads, NOISE), UNKNOWN)
        self._trials: dict[Point, tuple[float, float]] = {}

    def tell(self, point: Point, ratio: float, noise: float = 0.0) -> None:
        """Learn that `point` takes `ratio` of the default's time; `noise` is the standard error of
        its logarithm."""
        self._trials[point] = math.log(ratio), max(noise, NOISE)

    def predict(self, points: Sequence[Point]) -> tuple[np.ndarray, np.ndarray]:
        """The means and standard deviations of the logarithms of the ratios of `points`."""
        rows = self._rows(points)
        means = rows @ self._means
        variances = self._covariance(rows, rows, diagonal=True)
        if not self._trials:
            return means, np.sqrt(variances)
        known = self._rows(list(self._trials))
        told, noise = np.array(list(self._trials.values())).T
        gram = self._covariance(known, known) + np.diag(noise**2)
        cross = self._covariance(rows, known)
        weights = np.linalg.solve(gram, cross.T).T
        errors = told - known @ self._means
        explained = (weights * cross).sum(axis=1)
        return means + weights @ errors, np.sqrt(np.maximum(variances - explained, 0))

    def _covariance(
        self, one: np.ndarray, other: np.ndarray, *, diagonal: bool = False
    ) -> np.ndarray:
        """The prior covariance of points: of the changes that they share, and of the pairs."""
        if diagonal:
            shared, single = one.sum(axis=1), (one * self._spreads**2).sum(axis=1)
        else:
            shared, single = one @ other.T, (one * self._spreads**2) @ other.T
        return single + INTERACTION**2 * shared * (shared - 1) / 2

    def _rows(self, points: Sequence[Point]) -> np.ndarray:
        """The changes of each point, as a row of zeros and ones."""
        rows = np.zeros((len(points), len(self._singles)))
        for row, point in zip(rows, points, strict=True):
            for item in self._space.changes(point).items():
                row[self._index[item]] = 1
        return rows
