"""From a path, bytes or a ModelProto to a ModelProto that is whole."""

import mmap
import os
import stat
from pathlib import Path
from typing import BinaryIO

import onnx
from google.protobuf.message import DecodeError

from ....errors import InvalidModelError
from .limits import check_model, current_limits
from .weights import MAX_MESSAGE_BYTES, MIN_BYTES, cut_weights, refer_to_file

Source = str | os.PathLike[str] | bytes | onnx.ModelProto


def load_model(source: Source) -> tuple[onnx.ModelProto, Path | None]:
    """The model and the folder its external data lies in (None when it was not read from a file).

    InvalidModelError when `source` cannot be read or is not an ONNX model, LimitError where it
    holds too much. Neither external data nor large weights of a file are read here;
    `tensors.to_array` maps them, tensor by tensor.
    """
    model, folder = _load(source)
    check_model(model, current_limits())
    return model, folder


def _load(source: Source) -> tuple[onnx.ModelProto, Path | None]:
    if isinstance(source, onnx.ModelProto):
        return _require_model(source, "the model"), None
    if isinstance(source, bytes | bytearray | memoryview):
        return _parse(bytes(source), "the given bytes"), None
    path = Path(source)
    try:
        with path.open("rb") as file:
            return _read(file, path), path.resolve().parent
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise InvalidModelError(f"cannot read '{path}': {reason}") from error


def _read(file: BinaryIO, path: Path) -> onnx.ModelProto:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_size < MIN_BYTES:
        return _parse(file.read(MAX_MESSAGE_BYTES), f"'{path}'")
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        rest, cuts = cut_weights(data)
        model = _parse(rest, f"'{path}'")
        refer_to_file(model, data, path.resolve().name, cuts)
    return model


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
