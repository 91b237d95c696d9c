"""DLPack: zero-copy exchange of tensors between array libraries.

Only the `DLTensor` of a producer's capsule is read. An unconsumed capsule frees its tensor when it
is destroyed, so arrays on the host simply keep the capsule.
"""

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import ml_dtypes
import numpy as np


class DeviceType(IntEnum):
    """`DLDeviceType`: the kind of memory that a pointer refers to."""

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    VULKAN = 7
    METAL = 8
    ROCM = 10
    ROCM_HOST = 11
    CUDA_MANAGED = 13


HOST_TYPES = frozenset(
    {DeviceType.CPU, DeviceType.CUDA_HOST, DeviceType.ROCM_HOST, DeviceType.CUDA_MANAGED}
)
"""Device types whose memory the CPU can read."""

HOST = (DeviceType.CPU, 0)
"""The CPU, as ``__dlpack_device__`` returns it."""

_NAME = b"dltensor"
_DTYPES: dict[tuple[int, int], np.dtype] = {
    (code, np.dtype(kind).itemsize * 8): np.dtype(kind)
    for code, kinds in {
        0: (np.int8, np.int16, np.int32, np.int64),
        1: (np.uint8, np.uint16, np.uint32, np.uint64),
        2: (np.float16, np.float32, np.float64),
        4: (ml_dtypes.bfloat16,),
        5: (np.complex64, np.complex128),
        6: (np.bool_,),
        10: (ml_dtypes.float8_e4m3fn,),
        11: (ml_dtypes.float8_e4m3fnuz,),
        12: (ml_dtypes.float8_e5m2,),
        13: (ml_dtypes.float8_e5m2fnuz,),
        14: (ml_dtypes.float8_e8m0fnu,),
    }.items()
    for kind in kinds
}
"""Dtypes by `DLDataTypeCode` and width in bits."""


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


@dataclass(frozen=True)
class DLPackLayout:
    """Address and layout of a tensor. `strides` are in bytes; ``None`` means C order."""

    pointer: int
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None


def read_layout(capsule: Any) -> DLPackLayout:
    """The layout of the tensor in `capsule`, without consuming the capsule.

    Raises `TypeError` for an element type that numpy and ml_dtypes do not have.
    """
    tensor = _DLTensor.from_address(_get_pointer(capsule, _NAME))
    dtype = _DTYPES.get((tensor.code, tensor.bits))
    if dtype is None or tensor.lanes != 1:
        raise TypeError(
            f"its elements are of DLPack's type code {tensor.code} with {tensor.bits} bits and "
            f"{tensor.lanes} lane(s), which no array of numpy's has"
        )
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = None
    if tensor.strides:
        strides = tuple(stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim])
        strides = None if strides == _packed(shape, dtype, strides) else strides
    return DLPackLayout((tensor.data or 0) + tensor.byte_offset, dtype, shape, strides)


def _packed(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of C order; for dimensions of size 1, where any stride fits, those given."""
    packed, step = [], dtype.itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        packed.append(stride if size == 1 else step)
        step *= size
    return tuple(reversed(packed))


def device_of(value: Any) -> tuple[DeviceType | int, int]:
    """The result of ``__dlpack_device__``; the CPU if the producer lacks that method."""
    if not hasattr(value, "__dlpack_device__"):
        return HOST
    return dlpack_device(*value.__dlpack_device__())


def dlpack_device(kind: int, index: int) -> tuple[DeviceType | int, int]:
    """A DLPack device, with its type as a `DeviceType` if known."""
    try:
        return DeviceType(int(kind)), int(index)
    except ValueError:
        return int(kind), int(index)


def describe(device: tuple[DeviceType | int, int]) -> str:
    """The name of a device for messages: ``CUDA device 0``."""
    kind, index = device
    name = kind.name if isinstance(kind, DeviceType) else f"DLPack's type {kind}"
    return f"{name} device {index}"


def host_array(value: Any) -> np.ndarray:
    """A read-only array over the memory of a host tensor with any strides.

    `numpy.from_dlpack` does not support bfloat16.
    """
    try:
        capsule = value.__dlpack__()
    except BufferError:  # read-only memory, which only versioned capsules can express
        return np.from_dlpack(value)
    layout = read_layout(capsule)
    if 0 in layout.shape:
        return np.empty(layout.shape, layout.dtype)
    return np.asarray(DLPackMemory(layout, capsule, writeable=False)).view(layout.dtype)


class DLPackMemory:
    """Memory with numpy's array interface; `owner` keeps it alive while arrays use it.

    The elements are untyped (void): numpy accepts the types of ml_dtypes only in `ndarray.view`.
    """

    def __init__(self, layout: DLPackLayout, owner: Any, *, writeable: bool):
        self._owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (layout.pointer, not writeable),
            "shape": layout.shape,
            "strides": layout.strides,
            "typestr": f"|V{layout.dtype.itemsize}",
        }
