"""From a path, bytes or a ModelProto to a ModelProto that is whole."""

import os
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from ...errors import InvalidModelError

Source = str | os.PathLike[str] | bytes | onnx.ModelProto


def load_model(source: Source) -> tuple[onnx.ModelProto, Path | None]:
    """The model and the folder its external data lies in (None when it was not read from a file).

    InvalidModelError when `source` cannot be read or is not an ONNX model. External data is not
    read here; `tensors.to_array` does, tensor by tensor.
    """
    if isinstance(source, onnx.ModelProto):
        return _require_model(source, "the model"), None
    if isinstance(source, bytes | bytearray | memoryview):
        return _parse(bytes(source), "the given bytes"), None
    path = Path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidModelError(f"cannot read '{path}': {error.strerror or error}") from error
    return _parse(data, f"'{path}'"), path.resolve().parent


def _parse(data: bytes, what: str) -> onnx.ModelProto:
    if not data:
        raise InvalidModelError(f"{what} is empty")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise InvalidModelError(f"{what} is not an ONNX model, or is truncated: {error}") from error
    return _require_model(model, what)


def _require_model(model: onnx.ModelProto, what: str) -> onnx.ModelProto:
    if not model.HasField("graph") or not model.ir_version:
        raise InvalidModelError(f"{what} is not an ONNX model: it holds no graph")
    if not model.graph.output:
        raise InvalidModelError(f"{what} is not a whole ONNX model: its graph has no outputs")
    return model
