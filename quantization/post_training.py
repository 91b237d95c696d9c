"""Post-training quantisation of an ONNX model."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, cast

import numpy as np
import onnx

from ..errors import QuantizationError, UsageError
from ..runtime.metadata import model_name
from .calibration_data import CalibrationData, read_data
from .layer_accuracy import layer_accuracies, quantized_nodes
from .metrics import LossMeter, Metric
from .pictures import PictureFormat
from .placement import Calibrator, op_types_of, place, place_dynamic
from .prepared_model import PER_CHANNEL_OPSET, WIDE_OPSET, PreparedModel, prepare
from .result import QuantizationResult
from .sensitivity import fewest_kept, sensitivities
from .settings import FOLLOWERS, QuantizationSettings

T = TypeVar("T")
SENSITIVITY_FEEDS, LAYER_FEEDS = 8, 32
"""Most feeds that the sensitivity of a node, and the accuracy of layers, are measured on."""


@dataclass(frozen=True)
class QuantizationProgress:
    """A progress event: `done` steps of `total` of a stage."""

    stage: str
    done: int
    total: int


Progress = Callable[[QuantizationProgress], object]


def quantize(
    model: "str | os.PathLike[str] | bytes | Any",
    data: Any = None,
    *,
    max_drop: float | None = None,
    metric: str | Metric = "error",
    labels: Any = None,
    sensitivity: bool = False,
    dynamic: bool = False,
    limit: int | None = None,
    pictures: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> QuantizationResult:
    """Quantise an f32 model to 8 bits after its training; the result is a portable QDQ model.

    `model` is a path, the bytes of a model or an ``onnx.ModelProto``. `data` are feeds with which
    the ranges of values are calibrated, and the accuracy measured: a folder of ``.npz`` files with
    an array for each input, or for a model of one input of ``.npy`` files or pictures; or an
    iterable of feeds, which are mappings from the names of the inputs to arrays, or one array.
    `limit` is the largest number of them to use. `pictures` has the fields of `PictureFormat`:
    ``{"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}``.

    Placement, calibration and rounding are those of ``onnxruntime.quantization``, on a model with
    folded constants and batch normalisations. Other arguments are fields of
    `QuantizationSettings`: ``per_channel``, ``method`` (``minmax``, ``percentile``, ``entropy``),
    ``percentile``, ``activation_type``, ``weight_type``, ``symmetric``, ``reduce_range``,
    ``op_types``, ``exclude``.

    With `max_drop` the fewest nodes are kept in f32 with which the loss of accuracy is at most
    that: nodes are ranked by the error that each causes alone (`sensitivity` measures it without
    that), and the shortest beginning of the ranking is found by bisection. The loss is by `metric`:
    ``error``, the relative RMS error of the outputs (0.01 for 1 %); ``argmax``, the share of
    answers that are lost, where an answer is the largest element on the last axis of the first
    output, compared with `labels` or with the f32 model; or a function that gets a function from
    feeds to outputs by name and returns a score, the larger the better.

    With `dynamic` each call computes the ranges of activations, and matmuls and convolutions alone
    are quantised; `data` serves only to measure the accuracy then, and may be missing.

    Raises `GraphcError`: UsageError, FeedError (data that is empty, NaN, or does not fit the
    model), InvalidModelError, QuantizationError, ReferenceRunError.
    """
    chosen = _make(QuantizationSettings, settings, "quantize has no option")
    if max_drop is not None and not max_drop >= 0:
        raise UsageError(f"max_drop is {max_drop}; it is at least 0")
    if data is None and (not dynamic or max_drop is not None or sensitivity):
        raise UsageError(
            "calibration needs data: a folder of .npz, .npy or pictures, or an iterable of feeds; "
            "dynamic quantisation (dynamic=True, --dynamic) needs none, if max_drop is not given"
        )
    if limit is not None and limit < 1:
        raise UsageError(f"limit is {limit}; it is at least 1")
    format_ = _make(PictureFormat, pictures or {}, "pictures has no field")
    require_library()
    opset = WIDE_OPSET if chosen.is_16_bit else PER_CHANNEL_OPSET
    prepared = prepare(model, opset=opset)
    feeds = None
    if data is not None:
        feeds = read_data(data, prepared.proto, limit, format_)
    job = _Job(prepared, chosen, feeds, progress or (lambda event: None))
    job.begin(dynamic)
    return job.finish(model, max_drop, metric, labels, sensitivity)


class _Job:
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
            self._report("nodes in f32", steps, max(total, steps))
            return found

        kept = fewest_kept(ranking, holds)
        return kept, without(kept)

    def _layers(self, made: onnx.ModelProto, alone: Mapping[str, float]) -> tuple[Any, ...]:
        assert self._data is not None
        self._report("layers", 0, 1)
        layers = layer_accuracies(self._prepared, made, self._data.first(LAYER_FEEDS), self._types)
        self._report("layers", 1, 1)
        return tuple(replace(layer, alone=alone.get(layer.node)) for layer in layers)


def _rank(error: float) -> float:
    return math.inf if math.isnan(error) else error


def _make(kind: type[T], arguments: Mapping[str, Any], complaint: str) -> T:
    """``kind(**arguments)``. UsageError for a name that is no field."""
    known = [field.name for field in fields(cast(Any, kind))]
    for name in arguments:
        if name not in known:
            raise UsageError(f"{complaint} '{name}'; there are: {', '.join(known)}")
    return kind(**arguments)


def require_library() -> None:
    """Raise QuantizationError if ``onnxruntime.quantization`` is not installed."""
    try:
        import onnxruntime.quantization
    except ImportError as error:
        raise QuantizationError(
            "quantisation needs the package onnxruntime: pip install graphc[quantize]"
        ) from error
    del onnxruntime
