"""Predictions of what changes to a pipeline gain, learned from the trials of other models."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import MissingPackageError
from .database import TuningRecord

LEAST_MODELS = 3
LEAST_TRIALS = 12
"""Trials, and models that they are of, below which nothing is learned."""

AMONG_MODELS = 0.1
"""Standard deviation, among models that look alike, of what a change gains; the more models have
tried it, the less is left of it."""

TREES = 64


class CostModel:
    """The logarithm of the ratio that a change gives, by the change and features of the model.

    An ensemble of randomised trees: its spread says where trials of models like this are few.
    Equal records give equal predictions, whatever their order.
    """

    def __init__(self, records: Iterable[TuningRecord]):
        ordered = sorted(records, key=TuningRecord.to_json)
        rows = [(r.features, changes, ratio) for r in ordered for changes, ratio in r.tried]
        self._columns = sorted(
            {name for f, c, _ in rows for name in (*f, *map(_column, c.items()))}
        )
        self._forest = _regressor()
        self._forest.fit(
            np.stack([self._row(features, changes) for features, changes, _ in rows]),
            [math.log(ratio) for *_, ratio in rows],
        )
        models = {(i, r.model) for r in ordered for c, _ in r.tried for i in c.items()}
        self._models = Counter(item for item, _ in models)

    def predict(
        self, features: Mapping[str, float], changes: Sequence[Mapping[str, str]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The means and the standard deviations of the logarithms of ratios, for several changes.

        Changes that no trial has made are predicted to change nothing, with infinite spread.
        """
        rows = np.stack([self._row(features, each) for each in changes])
        trees = np.stack([tree.predict(rows) for tree in self._forest.estimators_])
        counts = np.array([min((self._models[i] for i in c.items()), default=0) for c in changes])
        known, means = counts > 0, trees.mean(axis=0)
        spreads = np.hypot(trees.std(axis=0), AMONG_MODELS / np.sqrt(np.maximum(counts, 1)))
        return np.where(known, means, 0.0), np.where(known, spreads, np.inf)

    def _row(self, features: Mapping[str, float], changes: Mapping[str, str]) -> np.ndarray:
        values = {**features, **{_column(item): 1.0 for item in changes.items()}}
        return np.array([values.get(name, 0.0) for name in self._columns])


def learn_cost_model(records: Iterable[TuningRecord]) -> CostModel | None:
    """The cost model of `records`; None if they have too few trials, or of too few models."""
    useful = [record for record in records if record.tried and record.features]
    enough = sum(len(record.tried) for record in useful) >= LEAST_TRIALS
    models = {record.model for record in useful}
    return CostModel(useful) if enough and len(models) >= LEAST_MODELS else None


def _column(change: tuple[str, str]) -> str:
    return " = ".join(change)


def _regressor() -> Any:
    try:
        from sklearn.ensemble import (  # pyright: ignore[reportMissingImports]
            ExtraTreesRegressor,
        )
    except ImportError as error:
        raise MissingPackageError("a learned cost model", "scikit-learn", "tune") from error
    return ExtraTreesRegressor(TREES, random_state=0)
