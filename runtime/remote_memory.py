"""Arrays in and out of a device with memory of its own, by way of memory that both sides see.

The memory in between, and that of the inputs, is kept from call to call while sizes stay.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .device import Device, import_runtime


class RemoteInput:
    """Brings the arrays of one input to the device."""

    staging: np.ndarray | None = None

    def __init__(self, device: Device, element_type: int):
        self._runtime = import_runtime()
        self._device = device
        self._element_type = element_type
        self._between: _Staging | None = None
        self._view: Any = None

    def place(self, array: np.ndarray) -> Any:
        """A buffer view with the contents of `array`."""
        if self._between is None or self._view.shape != list(array.shape):
            self._between = _Staging(self._device, array.nbytes, "SOURCE")
            buffer = _allocate(self._device, array.nbytes, "DEVICE_LOCAL", "DEFAULT")
            self._view = self._runtime.HalBufferView(buffer, array.shape, self._element_type)
        if array.nbytes:
            native = array.dtype.newbyteorder("=")
            np.copyto(self._between.array(array.shape, native), array)
            copy(self._device, self._between.buffer, self._view.get_buffer())
        return self._view


class RemoteOutput:
    """Hands out the arrays of one output."""

    def __init__(self, device: Device, dtype: np.dtype):
        self._device = device
        self._dtype = dtype
        self._between: _Staging | None = None

    def take(self, view: Any, others: Sequence[np.ndarray | None]) -> np.ndarray:
        """The contents of `view` as an array of the caller's own."""
        del others
        shape = view.shape
        if 0 in shape:
            return np.empty(shape, self._dtype)
        buffer = view.get_buffer()
        if self._between is None or self._between.size != buffer.byte_length():
            self._between = _Staging(self._device, buffer.byte_length(), "TARGET")
        copy(self._device, buffer, self._between.buffer)
        return self._between.array(shape, self._dtype).copy()


class _Staging:
    """Memory that both sides see; `direction` says whether the device reads or writes it."""

    def __init__(self, device: Device, size: int, direction: str):
        self.size = size
        self.buffer = _allocate(
            device, size, "HOST_LOCAL|DEVICE_VISIBLE", f"TRANSFER_{direction}|MAPPING"
        )

    def array(self, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        """The memory, mapped for as long as the array is there."""
        return np.ndarray(shape, dtype, self.buffer.map())


def _allocate(device: Device, size: int, memory: str, usage: str) -> Any:
    runtime = import_runtime()
    return device.hal.allocator.allocate_buffer(
        memory_type=_flags(runtime.MemoryType, memory),
        allowed_usage=_flags(runtime.BufferUsage, usage),
        allocation_size=max(size, 1),
    )


def _flags(kind: Any, names: str) -> int:
    return sum(int(getattr(kind, name)) for name in names.split("|"))


def copy(device: Device, source: Any, target: Any) -> None:
    """Copy all of the buffer `source` to the buffer `target`, and wait for it."""
    fence, semaphore = import_runtime().HalFence, device.hal.create_semaphore(0)
    done = fence.create_at(semaphore, 1)
    device.hal.queue_copy(
        source,
        target,
        wait_semaphores=fence.create_at(semaphore, 0),
        signal_semaphores=done,
    )
    done.wait()
