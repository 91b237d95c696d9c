"""TensorProto to numpy, without copies where the data lies in one piece."""

import math
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from ...errors import ExternalDataError, InvalidModelError

_MAX_BYTES = 1 << 46
"""No tensor of a real model is larger; a larger one is a broken file."""

_PACKED_BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}
"""Element types of which several share a byte."""


def dtype_of(elem_type: int, what: str) -> np.dtype:
    """The numpy dtype of an ONNX element type (``object`` for strings)."""
    try:
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type))
    except KeyError:
        raise InvalidModelError(f"{what}: {elem_type} is not an ONNX element type") from None


def check_shape(shape: list[int], dtype: np.dtype, what: str) -> None:
    """Refuse negative dimensions and sizes that no machine holds."""
    if any(size < 0 for size in shape):
        raise InvalidModelError(f"{what} has a negative dimension: {shape}")
    count = 1
    for size in shape:
        count *= max(size, 1)
    if count * dtype.itemsize > _MAX_BYTES:
        raise InvalidModelError(f"{what} is absurdly large: {shape} of {dtype}")


def to_array(tensor: onnx.TensorProto, folder: Path | None) -> np.ndarray:
    """The data of `tensor`; external data is mapped from its file below `folder`."""
    what = f"tensor '{tensor.name}'"
    dtype = dtype_of(tensor.data_type, what)
    shape = list(tensor.dims)
    check_shape(shape, dtype, what)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return _external_array(tensor, dtype, shape, folder)
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise InvalidModelError(f"{what} is damaged: {error}") from error


def byte_count(tensor: onnx.TensorProto) -> int | None:
    """The bytes that the data of `tensor` takes; None where its type has no such size."""
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    except KeyError:
        return None
    return None if dtype.hasobject else _byte_count(list(tensor.dims), dtype)


def _byte_count(shape: list[int], dtype: np.dtype) -> int:
    return (math.prod(shape) * _PACKED_BITS.get(dtype.name, dtype.itemsize * 8) + 7) // 8


def _external_array(
    tensor: onnx.TensorProto, dtype: np.dtype, shape: list[int], folder: Path | None
) -> np.ndarray:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = _external_path(tensor.name, entries.get("location", ""), folder)
    expected = _byte_count(shape, dtype)
    offset = _number(tensor.name, entries.get("offset", "0"))
    length = _number(tensor.name, entries.get("length", str(expected)))
    if length != expected:
        raise ExternalDataError(
            f"tensor '{tensor.name}': its external data states {length} bytes, "
            f"but {shape} of {dtype} takes {expected}"
        )
    available = path.stat().st_size
    if offset + length > available:
        raise ExternalDataError(
            f"tensor '{tensor.name}': '{path.name}' is truncated: bytes {offset} to "
            f"{offset + length} are wanted, the file has {available}"
        )
    if dtype.name in _PACKED_BITS:
        with path.open("rb") as file:
            file.seek(offset)
            inline = onnx.TensorProto(
                name=tensor.name, data_type=tensor.data_type, dims=shape, raw_data=file.read(length)
            )
        return numpy_helper.to_array(inline)
    if length == 0:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=tuple(shape))


def _external_path(name: str, location: str, folder: Path | None) -> Path:
    if folder is None:
        raise ExternalDataError(
            f"tensor '{name}' has external data in '{location}', but the model was not read from "
            "a file; pass its path"
        )
    path = folder / location
    if not location or not path.resolve().is_relative_to(folder.resolve()):
        raise ExternalDataError(
            f"tensor '{name}': external data '{location}' lies outside the model's folder"
        )
    if not path.is_file():
        raise ExternalDataError(f"tensor '{name}': external data file '{location}' is missing")
    return path


def _number(name: str, text: str) -> int:
    if not text.isdecimal():
        raise ExternalDataError(f"tensor '{name}': '{text}' is not a position in a file")
    return int(text)
