"""The stages of a quantisation: calibration, search for nodes to keep, accuracy."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx

from ..errors import QuantizationError
from ..runtime.metadata import model_name
from .calibration_data import CalibrationData
from .layer_accuracy import layer_accuracies, quantized_nodes
from .metrics import LossMeter, Metric
from .placement import Calibrator, op_types_of, place, place_dynamic
from .prepared_model import PreparedModel
from .result import QuantizationResult
from .sensitivity import fewest_kept, sensitivities
from .settings import FOLLOWERS, QuantizationSettings

SENSITIVITY_FEEDS, LAYER_FEEDS = 8, 32
"""Most feeds that the sensitivity of a node, and the accuracy of layers, are measured on."""


@dataclass(frozen=True)
class QuantizationProgress:
    """A progress event: `done` steps of `total` of a stage."""

    stage: str
    done: int
    total: int


Progress = Callable[[QuantizationProgress], object]


class QuantizationJob:
    """One quantisation: the model, its feeds, and how nodes are quantised."""

    def __init__(
        self,
        prepared: PreparedModel,
        settings: QuantizationSettings,
        data: CalibrationData | None,
        progress: Progress,
    ):
        self._prepared, self._settings = prepared, settings
        self._data, self._progress = data, progress
        self._excluded = prepared.chosen(settings.exclude)
        self._types = op_types_of(settings)

    def begin(self, dynamic: bool) -> None:
        """Calibrate, and find the nodes that can be quantised. Raises QuantizationError."""
        self._ranges = None if dynamic else self._calibrate()
        self._full = self._place(self._excluded)
        nodes = quantized_nodes(self._prepared.proto, self._full, self._types)
        self._nodes = [
            node.name
            for node in self._prepared.nodes
            if node.name in nodes and node.op_type not in FOLLOWERS
        ]
        if not self._nodes:
            raise QuantizationError(
                "no node can be quantised: the types are "
                f"{', '.join(sorted({node.op_type for node in self._prepared.nodes}))}; nodes "
                "inside If, Loop and Scan, and those that are excluded, stay in f32"
            )

    def _calibrate(self) -> Any:
        assert self._data is not None
        calibrator = Calibrator(self._prepared, self._settings)
        try:
            for number, feed in enumerate(self._data, 1):
                calibrator.add(feed)
                self._report("calibration", number, len(self._data))
            return calibrator.ranges()
        finally:
            calibrator.close()

    def _report(self, stage: str, done: int, total: int) -> None:
        self._progress(QuantizationProgress(stage, done, total))

    def _place(self, exclude: set[str]) -> onnx.ModelProto:
        if self._ranges is None:
            return place_dynamic(self._prepared, self._settings, exclude)
        return place(self._prepared, self._ranges, self._settings, exclude)

    def _alone(self, names: Any) -> onnx.ModelProto:
        """The model in which only these nodes are quantised."""
        others = {node.name for node in self._prepared.nodes} - set(names)
        return self._place(others)

    def finish(
        self, model: Any, max_drop: float | None, metric: str | Metric, labels: Any, measure: bool
    ) -> QuantizationResult:
        """Search the nodes to keep, and measure the accuracy."""
        title = model_name(model)
        named = metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")
        size = self._prepared.proto.ByteSize()
        if self._data is None:
            return QuantizationResult(title, self._full, (), (), None, None, named, size)
        meter = LossMeter(
            self._prepared.proto, self._data, metric, None if labels is None else np.asarray(labels)
        )
        made, loss = self._full, meter.loss(self._full)
        alone: dict[str, float] = {}
        kept: list[str] = []
        too_much = max_drop is not None and not loss <= max_drop
        if measure or too_much:
            alone = self._sensitivities()
        if too_much:
            assert max_drop is not None
            kept, made = self._keep(alone, meter, max_drop)
            loss = meter.loss(made)
        titles = self._prepared.titles
        by_title = {titles[name]: value for name, value in alone.items()}
        return QuantizationResult(
            title, made, self._layers(made, by_title), tuple(titles[name] for name in kept),
            meter.error(made), loss, named, size,
        )  # fmt: skip

    def _sensitivities(self) -> dict[str, float]:
        assert self._data is not None
        meter = LossMeter(self._prepared.proto, self._data.first(SENSITIVITY_FEEDS))
        count = len(self._nodes)
        return sensitivities(
            self._nodes, self._alone, meter, lambda done: self._report("sensitivity", done, count)
        )

    def _keep(
        self, alone: Mapping[str, float], meter: LossMeter, max_drop: float
    ) -> tuple[list[str], onnx.ModelProto]:
        ranking = sorted(alone, key=lambda name: -_rank(alone[name]))
        steps, total = 0, math.ceil(math.log2(len(ranking) + 1))

        def without(names: Sequence[str]) -> onnx.ModelProto:
            if len(names) == len(ranking):
                return self._alone([])
            return self._place(self._excluded | set(names))

        def holds(names: Sequence[str]) -> bool:
            nonlocal steps
            steps += 1
            found = meter.loss(without(names)) <= max_drop
            self._report("nodes in f32", steps, total)
            return found

        kept = fewest_kept(ranking, holds)
        self._report("nodes in f32", total, total)
        return kept, without(kept)

    def _layers(self, made: onnx.ModelProto, alone: Mapping[str, float]) -> tuple[Any, ...]:
        assert self._data is not None
        self._report("layers", 0, 1)
        layers = layer_accuracies(self._prepared, made, self._data.first(LAYER_FEEDS), self._types)
        self._report("layers", 1, 1)
        return tuple(replace(layer, alone=alone.get(layer.node)) for layer in layers)


def _rank(error: float) -> float:
    return math.inf if math.isnan(error) else error
