"""Loss of accuracy of a quantised model: against the f32 model, against labels, or by a metric."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx

from ..debugging.onnx.evaluators import open_runtime
from ..errors import FeedError, UsageError
from .calibration_data import CalibrationData, Feed
from .error_power import ErrorPower

Run = Callable[[Feed], Mapping[str, np.ndarray]]
Metric = Callable[[Run], float]
METRICS = ("error", "argmax")
"""Metrics by name: the relative RMS error of the outputs, and the share of wrong answers."""


class LossMeter:
    """Measures models of the same inputs and outputs as the f32 model `original`.

    `metric` is one of `METRICS`, or a function that gets one from feeds to outputs by name and
    returns a score, the larger the better: the loss is then the difference from the score of the
    f32 model. `labels` are the right answers for ``argmax``, by default those of the f32 model.
    """

    def __init__(
        self,
        original: onnx.ModelProto,
        data: CalibrationData,
        metric: "str | Metric" = "error",
        labels: np.ndarray | None = None,
    ):
        if isinstance(metric, str) and metric not in METRICS:
            raise UsageError(f"metric must be a function or one of {', '.join(METRICS)}")
        if labels is not None and metric != "argmax":
            raise UsageError("labels are for the metric 'argmax'")
        self._original, self._data, self._metric, self._labels = original, data, metric, labels
        run = open_runtime(original, self.names)
        self._expected = [run(feed) for feed in data]
        self.score = self._score_of(run)
        """The score of the f32 model."""
        if math.isnan(self.score):
            raise UsageError("the metric of the f32 model is NaN: there is nothing to lose")

    @property
    def names(self) -> list[str]:
        """The outputs."""
        return [info.name for info in self._original.graph.output]

    def loss(self, model: onnx.ModelProto) -> float:
        """The loss of `model` by the metric, 0 for the f32 model."""
        return self.score - self._score_of(open_runtime(model, self.names))

    def error(self, model: onnx.ModelProto) -> float:
        """The relative RMS error of the outputs of `model`, of the worst one."""
        return self._error(open_runtime(model, self.names))

    def _score_of(self, run: Run) -> float:
        if callable(self._metric):
            return float(self._metric(run))
        return self._right(run) if self._metric == "argmax" else -self._error(run)

    def _error(self, run: Run) -> float:
        powers = {name: ErrorPower() for name in self.names}
        for feed, expected in zip(self._data, self._expected, strict=True):
            found = run(feed)
            for name, power in powers.items():
                power.add(np.asarray(found[name]), np.asarray(expected[name]))
        return max(power.relative for power in powers.values())

    def _right(self, run: Run) -> float:
        """The share of right answers: the largest elements on the last axis of the first output."""
        name = self.names[0]
        answers = np.concatenate([_answers(run(feed)[name]) for feed in self._data])
        wanted = np.concatenate([_answers(each[name]) for each in self._expected])
        if self._labels is not None:
            wanted = np.asarray(self._labels).ravel()
        if len(wanted) != len(answers):
            found = f"{len(wanted)} labels for {len(answers)} answers of '{name}'"
            raise FeedError(f"there are {found}")
        return float(np.mean(answers == wanted))


def _answers(output: Any) -> np.ndarray:
    """The numbers of the classes; of outputs of one score, if it is above one half."""
    scores = np.asarray(output)
    if scores.ndim < 2 or scores.shape[-1] == 1:
        return (scores > 0.5).ravel()
    return np.argmax(scores, axis=-1).ravel()
