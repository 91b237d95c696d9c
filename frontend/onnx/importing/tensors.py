"""TensorProto to numpy, without copies where the data lies in one piece."""

import math
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from ....dialects import graph
from ....errors import ExternalDataError, InvalidModelError
from .external_data import map_data

_PACKED_BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}
"""Element types of which several share a byte."""


def dtype_of(elem_type: int, what: str) -> np.dtype:
    """The numpy dtype of an ONNX element type (``object`` for strings)."""
    try:
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type))
    except KeyError:
        raise InvalidModelError(f"{what}: {elem_type} is not an ONNX element type") from None


def check_shape(shape: list[int], dtype: np.dtype, what: str) -> None:
    """Refuse negative dimensions, and sizes and ranks that no machine holds."""
    if len(shape) > graph.MAX_RANK:
        raise InvalidModelError(f"{what} has {len(shape)} axes, {graph.MAX_RANK} being the most")
    if any(size < 0 for size in shape):
        raise InvalidModelError(f"{what} has a negative dimension: {shape}")
    count = 1
    for size in shape:
        count *= max(size, 1)
    if count * dtype.itemsize > graph.MAX_BYTES:
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
    if dtype.hasobject:
        raise ExternalDataError(f"tensor '{tensor.name}': strings cannot lie in external data")
    count = _byte_count(shape, dtype)
    if dtype.name not in _PACKED_BITS:
        return map_data(tensor, dtype, count, folder).reshape(shape)
    packed = map_data(tensor, np.dtype(np.uint8), count, folder)
    inline = onnx.TensorProto(
        name=tensor.name, data_type=tensor.data_type, dims=shape, raw_data=packed.tobytes()
    )
    return numpy_helper.to_array(inline)
