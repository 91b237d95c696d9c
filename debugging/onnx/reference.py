"""What the values of a model are, by ONNX Runtime or by ONNX's own evaluator."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from ...errors import ReferenceRunError, UsageError
from .precision import to_float64

REFERENCES = ("onnxruntime", "onnx")


def read_model(source: Any) -> onnx.ModelProto:
    """The model of a path, of bytes, or as it is; with all its weights in memory."""
    if isinstance(source, onnx.ModelProto):
        return source
    if isinstance(source, bytes):
        return onnx.load_from_string(source)
    return onnx.load(os.fspath(source))


def default_reference() -> str:
    """ONNX Runtime where it is installed."""
    try:
        import onnxruntime
    except ImportError:
        return "onnx"
    del onnxruntime
    return "onnxruntime"


def reference_values(
    source: Any, feeds: Mapping[str, Any], names: Sequence[str], by: str
) -> dict[str, np.ndarray]:
    """The values `names` of a model on `feeds`, those that are no arrays left out.

    `by` is ``onnxruntime``, without its optimisations, or ``onnx``: the reference evaluator.
    Raises ReferenceRunError where it cannot run the model.
    """
    model = read_model(source)
    if by not in REFERENCES:
        raise UsageError(f"the reference must be one of {', '.join(REFERENCES)}, not '{by}'")
    run = _by_runtime if by == "onnxruntime" else _by_evaluator
    return _arrays(run(model, feeds, names))


def true_values(
    source: Any, feeds: Mapping[str, Any], names: Sequence[str]
) -> dict[str, np.ndarray]:
    """The values `names` in float64, by ONNX's evaluator: what rounding is measured against."""
    wide = {
        name: array.astype(np.float64) if _is_narrow_float(array) else array
        for name, array in feeds.items()
    }
    return _arrays(_by_evaluator(to_float64(read_model(source)), wide, names))


def _is_narrow_float(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == np.float32


def _by_runtime(
    model: onnx.ModelProto, feeds: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    try:
        import onnxruntime
    except ImportError as error:
        raise ReferenceRunError("the package onnxruntime is not installed") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    extended = with_outputs(model, names)
    try:
        session = onnxruntime.InferenceSession(
            extended.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        found = session.run(list(names), dict(feeds))
    except Exception as error:  # its own types stand in no common base
        raise ReferenceRunError(f"ONNX Runtime cannot run the model: {error}") from error
    return dict(zip(names, found, strict=True))


def _by_evaluator(
    model: onnx.ModelProto, feeds: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    try:
        with np.errstate(all="ignore"):
            evaluator = ReferenceEvaluator(model)
            found = evaluator.run(None, dict(feeds), intermediate=True)
    except Exception as error:  # whatever numpy or Python had against the model
        raise ReferenceRunError(f"ONNX's evaluator cannot run the model: {error}") from error
    assert isinstance(found, dict)
    return {name: found[name] for name in names if name in found}


def with_outputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """A copy of `model` whose outputs are `names`."""
    declared = {info.name: info for info in model.graph.output}
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(declared.get(name) or onnx.ValueInfoProto(name=name) for name in names)
    return copy


def _arrays(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {
        name: np.asarray(value)
        for name, value in values.items()
        if isinstance(value, np.ndarray | np.generic) and np.asarray(value).dtype.kind not in "OUS"
    }
