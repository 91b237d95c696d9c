"""`HostPart`: a piece of a model that runs node by node on the host."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError, Message

from ...errors import DeviceError, ModuleFileError
from . import (  # noqa: F401  imported to fill the table
    casts,
    control_flow,
    features,
    hashing,
    ngrams,
    normalization,
    numeric,
    pictures,
    pooling,
    sequences,
    strings,
)
from .evaluator import Body, Context, make_graph, make_step
from .registry import HostError


class HostPart:
    """Runs the nodes of an ONNX model, given as its bytes, on the host.

    Calls from several threads may overlap. Raises `DeviceError` for a model with unsupported
    operators, and `ModuleFileError` for one that is damaged or refers to other files: a part is
    self-contained.
    """

    def __init__(self, contents: bytes | memoryview):
        try:
            model = onnx.ModelProto.FromString(bytes(contents))
            _require_whole(model)
            self._body: Body | None = make_graph(model.graph, _context(model))
        except (DecodeError, ValueError, TypeError, KeyError) as error:
            raise ModuleFileError(f"a part for the host is damaged: {error}") from error
        except Exception as error:
            raise DeviceError(f"a part of the model cannot run on the host: {error}") from error

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name. Raises `ExecutionError`, which names the node."""
        body = self._body
        assert body is not None
        with np.errstate(all="ignore"):
            results = body.run((feeds[name] for name in body.inputs), None)
        return dict(zip(body.outputs, results, strict=True))

    def close(self) -> None:
        """Free the constants."""
        self._body = None


def _context(model: onnx.ModelProto) -> Context:
    return Context(
        {entry.domain: entry.version for entry in model.opset_import},
        {(f.domain, f.name, f.overload): f for f in model.functions},
        {},
    )


def _require_whole(message: Message) -> None:
    """Raise ValueError if the data of a tensor is in another file."""
    if isinstance(message, onnx.TensorProto) and message.data_location:
        raise ValueError(f"the data of tensor '{message.name}' lies in another file")
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if isinstance(value, Message) else value:
                _require_whole(part)


def why_not(contents: bytes) -> str | None:
    """The reason why a serialized model of one node cannot run on the host; None if it can."""
    model = onnx.ModelProto.FromString(contents)
    try:
        make_step(model.graph.node[0], _context(model))
    except ImportError as error:
        return str(error)
    except HostError as error:
        return f"and {error}"
    except (ValueError, TypeError, KeyError) as error:  # attributes that cannot be read
        return f"and its attributes do not fit it: {error}"
    return None
