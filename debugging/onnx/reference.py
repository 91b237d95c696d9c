"""Reference values of a model, by ONNX Runtime or by ONNX's own evaluator."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import UsageError
from .evaluators import arrays, by_evaluator, by_runtime, read_model
from .nodes import by_nodes
from .precision import to_float64

_RUN = {"onnxruntime": by_runtime, "onnx": by_evaluator, "nodes": by_nodes}
REFERENCES = tuple(_RUN)


def default_reference() -> str:
    """``onnxruntime`` if it is installed, else ``onnx``."""
    try:
        import onnxruntime
    except ImportError:
        return "onnx"
    del onnxruntime
    return "onnxruntime"


def reference_values(
    source: Any, feeds: Mapping[str, Any], names: Sequence[str], by: str
) -> dict[str, np.ndarray]:
    """The values `names` of a model on `feeds`, without those that are not arrays.

    `by` is ``onnxruntime`` (without its optimisations), ``onnx`` (the reference evaluator), or
    ``nodes`` (node by node, by the first of these that supports the operator and the type). Raises
    ReferenceRunError if the model cannot be run.
    """
    model = read_model(source)
    if by not in REFERENCES:
        raise UsageError(f"the reference must be one of {', '.join(REFERENCES)}, not '{by}'")
    return arrays(_RUN[by](model, feeds, names))


def true_values(
    source: Any, feeds: Mapping[str, Any], names: Sequence[str]
) -> dict[str, np.ndarray]:
    """The values `names` in float64, by ONNX's evaluator, to measure rounding errors against."""
    wide = {
        name: array.astype(np.float64) if _is_narrow_float(array) else array
        for name, array in feeds.items()
    }
    return arrays(by_evaluator(to_float64(read_model(source)), wide, names))


def _is_narrow_float(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == np.float32
