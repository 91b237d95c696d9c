"""Post-training quantisation of an ONNX model."""

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar, cast

from ..errors import QuantizationError, UsageError
from .calibration_data import read_data
from .job import Progress, QuantizationJob
from .metrics import Metric
from .pictures import PictureFormat
from .prepared_model import PER_CHANNEL_OPSET, WIDE_OPSET, prepare
from .result import QuantizationResult
from .settings import QuantizationSettings

T = TypeVar("T")


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
    job = QuantizationJob(prepared, chosen, feeds, progress or (lambda event: None))
    job.begin(dynamic)
    return job.finish(model, max_drop, metric, labels, sensitivity)


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
