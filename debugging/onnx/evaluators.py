"""Evaluation of a model by ONNX Runtime, without its optimisations, or by ONNX's evaluator."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from ...errors import ReferenceRunError


def read_model(source: Any) -> onnx.ModelProto:
    """Read a model from a path or bytes, with all weights; a ModelProto is returned as it is."""
    if isinstance(source, onnx.ModelProto):
        return source
    if isinstance(source, bytes):
        return onnx.load_from_string(source)
    return onnx.load(os.fspath(source))


def by_runtime(
    model: onnx.ModelProto, feeds: Mapping[str, Any], names: Sequence[str], threads: int = 0
) -> dict[str, Any]:
    """The values `names`, by ONNX Runtime on so many threads, as `open_runtime`. Raises
    ReferenceRunError if it fails."""
    return open_runtime(model, names, threads)(feeds)


def open_runtime(
    model: onnx.ModelProto, names: Sequence[str], threads: int = 0
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A function from feeds to the values `names`, by ONNX Runtime.

    It has so many `threads`, or with 0 one for each core. To start and end them takes longer than
    to open a model of one node.

    Raises ReferenceRunError if it does not accept the model; the function raises it if it cannot
    run the model.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise ReferenceRunError("the package onnxruntime is not installed") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    extended = with_outputs(model, names)

    def failed(error: Exception) -> ReferenceRunError:
        return ReferenceRunError(f"ONNX Runtime cannot run the model: {error}")

    try:
        session = onnxruntime.InferenceSession(
            extended.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # its exceptions have no common base class
        raise failed(error) from error

    def run(feeds: Mapping[str, Any]) -> dict[str, Any]:
        try:
            found = session.run(list(names), dict(feeds))
        except Exception as error:
            raise failed(error) from error
        return dict(zip(names, found, strict=True))

    return run


def by_evaluator(
    model: onnx.ModelProto, feeds: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    """The values `names`, by ONNX's evaluator. Raises ReferenceRunError if it fails."""
    try:
        with np.errstate(all="ignore"):
            evaluator = ReferenceEvaluator(model)
            found = evaluator.run(None, dict(feeds), intermediate=True)
    except Exception as error:  # any error of numpy or Python about the model
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


def arrays(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The numeric arrays among `values`."""
    return {
        name: np.asarray(value)
        for name, value in values.items()
        if isinstance(value, np.ndarray | np.generic) and np.asarray(value).dtype.kind not in "OUS"
    }
