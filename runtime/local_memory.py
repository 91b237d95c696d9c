"""Arrays in and out of a device that works in the process's own memory.

Most of the time of a small model is spent between the caller and the code. So small inputs are
copied into buffers that are made once and bound once; large ones are used where they lie if they
are aligned. Small outputs are copied out, large ones are handed out where the device wrote them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .device import Device, import_runtime
from .memory import ALIGNMENT, address, aligned_empty, overlap

_IN_PLACE = 1 << 15
"""Bytes from which using memory where it lies is cheaper than copying it."""


class LocalInput:
    """Brings the arrays of one input to the device."""

    def __init__(self, device: Device, element_type: int):
        self._runtime = runtime = import_runtime()
        self._allocator = device.hal.allocator
        self._element_type = element_type
        self._memory_type = runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE
        self._usage = runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING
        self.staging: np.ndarray | None = None
        self._staging_view: Any = None

    def place(self, array: np.ndarray) -> Any:
        """A buffer view with the contents of `array`."""
        if (
            array.nbytes >= _IN_PLACE
            and array.flags.c_contiguous
            and array.flags.writeable
            and array.dtype.isnative
            and address(array) % ALIGNMENT == 0
        ):
            return self._view(array)
        if self.staging is None or self.staging.shape != array.shape:
            self.staging = aligned_empty(array.shape, array.dtype.newbyteorder("="))
            self._staging_view = self._view(self.staging)
        np.copyto(self.staging, array)
        return self._staging_view

    def _view(self, array: np.ndarray) -> Any:
        buffer = self._allocator.import_host_allocation(array, self._memory_type, self._usage)
        return self._runtime.HalBufferView(buffer, array.shape, self._element_type)


class LocalOutput:
    """Hands out the arrays of one output."""

    def __init__(self, device: Device, dtype: np.dtype):
        self._device = device
        self._dtype = dtype

    def take(self, view: Any, others: Sequence[np.ndarray | None]) -> np.ndarray:
        """The contents of `view` as an array that shares no memory with `others`."""
        shape = view.shape
        if 0 in shape:
            return np.empty(shape, self._dtype)
        mapped = view.map()
        array = np.ndarray(shape, self._dtype, mapped)
        if array.nbytes < _IN_PLACE:
            return array.copy()
        # A model may return its input, or one value twice.
        if any(other is not None and overlap(array, other) for other in others):
            return array.copy()
        owner = _DeviceMemory(address(array), array.nbytes, mapped, self._device)
        return np.asarray(owner).view(self._dtype).reshape(shape)


class _DeviceMemory:
    """Memory of a device as numpy sees it; keeps buffer and device alive while arrays use it."""

    __slots__ = ("__array_interface__", "_device", "_mapped")

    def __init__(self, pointer: int, size: int, mapped: Any, device: Device):
        self._mapped = mapped
        self._device = device
        self.__array_interface__ = {
            "version": 3,
            "data": (pointer, False),
            "shape": (size,),
            "typestr": "|u1",
        }

    def __del__(self) -> None:
        # A buffer goes back to its device, so it must go first.
        self._mapped = None
