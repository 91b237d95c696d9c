"""`HostPart`: a piece of a model that runs node by node on the host."""

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError, Message
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ...errors import DeviceError, ExecutionError, ModuleFileError
from .operators import OPERATORS


class HostPart:
    """Runs the nodes of an ONNX model, given as its bytes, by their definition in ONNX.

    Raises `DeviceError` for a model whose operators are not there, and `ModuleFileError` for one
    that is damaged, or refers to other files: a part is whole, and reads nothing.
    """

    def __init__(self, contents: bytes | memoryview):
        try:
            model = onnx.ModelProto.FromString(bytes(contents))
            _require_whole(model)
            constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        except (DecodeError, ValueError, TypeError, KeyError) as error:
            raise ModuleFileError(f"a part for the host is damaged: {error}") from error
        graph = model.graph
        self._constants = constants
        self._outputs = [output.name for output in graph.output]
        self._lock = threading.Lock()
        try:
            self._steps = [(node, _evaluator(model, node)) for node in graph.node]
        except Exception as error:
            raise DeviceError(f"a part of the model cannot run on the host: {error}") from error

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name. Raises `ExecutionError`, which names the node."""
        values = {**self._constants, **feeds}
        with self._lock, np.errstate(all="ignore"):
            for node, evaluator in self._steps:
                names = [name for name in node.output if name]
                try:
                    # Subgraphs read what lies around them, so that all values are at hand.
                    results = evaluator.run(names, values)
                except Exception as error:  # whatever numpy or Python had against the values
                    raise ExecutionError(
                        f"node '{node.name}' ({node.op_type}), which runs on the host, "
                        f"failed: {error.__cause__ or error}"
                    ) from error
                values |= zip(names, map(_clean, results), strict=True)
        return {name: values[name] for name in self._outputs}

    def close(self) -> None:
        """Free the constants."""
        self._steps, self._constants = [], {}


def _require_whole(message: Message) -> None:
    """Raises ValueError where the data of a tensor lies in a file."""
    if isinstance(message, onnx.TensorProto) and message.data_location:
        raise ValueError(f"the data of tensor '{message.name}' lies in another file")
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if isinstance(value, Message) else value:
                _require_whole(part)


def why_not(contents: bytes) -> str | None:
    """Why the model of these bytes, of one node, cannot run on the host; None where it can."""
    model = onnx.ModelProto.FromString(contents)
    try:
        _evaluator(model, model.graph.node[0])
    except ImportError as error:
        return str(error)
    except Exception:  # `onnx.reference` has many ways to say so
        return "and ONNX has no reference implementation of it that could run on the host"
    return None


def _evaluator(model: onnx.ModelProto, node: onnx.NodeProto) -> ReferenceEvaluator:
    """The definition of one node of `model`."""
    types = {info.name: info for info in (*model.graph.value_info, *model.graph.input)}
    inputs = [types.get(name, onnx.ValueInfoProto(name=name)) for name in node.input if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    single = helper.make_model(
        helper.make_graph([node], "node", inputs, outputs),
        opset_imports=model.opset_import,
        functions=model.functions,
    )
    return ReferenceEvaluator(single, new_ops=list(OPERATORS))


def _clean(value: Any) -> Any:
    """Arrays for numbers, and strings as Python has them."""
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "US":
        return value.astype(object)
    return value
