"""Device buffers: allocation, upload and download.

Host memory is mapped. Transfers to and from device-local memory go through host-visible staging
buffers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..elements import ELEMENT_TYPES
from .device import Device, import_runtime
from .dlpack import read_layout
from .memory import address, memory_at

LOCAL = "DEVICE_LOCAL"
BETWEEN = "HOST_LOCAL|DEVICE_VISIBLE"


def hal_type(dtype: np.dtype) -> int:
    """The HAL element type of `dtype` at the ABI of a module."""
    return int(getattr(import_runtime().HalElementType, ELEMENT_TYPES[dtype.name].hal))


def allocate(device: Device, size: int, memory: str, usage: str) -> Any:
    """Allocate a buffer of `size` bytes, at least 1."""
    runtime = import_runtime()
    return device.hal.allocator.allocate_buffer(
        memory_type=_flags(runtime.MemoryType, memory),
        allowed_usage=_flags(runtime.BufferUsage, usage),
        allocation_size=max(size, 1),
    )


def _flags(kind: Any, names: str) -> int:
    return sum(int(getattr(kind, name)) for name in names.split("|"))


def copy(device: Device, source: Any, target: Any) -> None:
    """Copy the whole buffer `source` to the buffer `target`, and wait for the copy.

    The wait lets other threads run. The copy has a semaphore of its own, so it waits for nothing
    else.
    """
    fence, semaphore = import_runtime().HalFence, device.hal.create_semaphore(0)
    done = fence.create_at(semaphore, 1)
    device.hal.queue_copy(
        source,
        target,
        wait_semaphores=fence.create_at(semaphore, 0),
        signal_semaphores=done,
    )
    done.wait()


def same_buffer(first: Any, second: Any) -> bool:
    """Return whether two buffer views share one buffer."""
    buffers = (view.get_buffer().__iree_vm_ref__ for view in (first, second))
    return next(buffers) == next(buffers)


def clone(device: Device, view: Any) -> Any:
    """A view of a new buffer on the device, with the contents of `view`."""
    source = view.get_buffer()
    target = allocate(device, source.byte_length(), LOCAL, "DEFAULT")
    if source.byte_length():
        copy(device, source, target)
    return import_runtime().HalBufferView(target, view.shape, view.element_type)


def device_pointer(device: Device, view: Any) -> int:
    """The address of a buffer in the device's memory. Raises `RuntimeError` if it has none."""
    runtime = import_runtime()
    byte = int(runtime.HalElementType.UINT_8)
    first = runtime.HalBufferView(view.get_buffer(), [1], byte)
    return read_layout(device.hal.create_dlpack_capsule(first, *map(int, device.dlpack))).pointer


def map_array(view: Any, dtype: np.dtype) -> np.ndarray:
    """An array over the mapped memory of `view`; the caller must keep the device alive."""
    return np.ndarray(view.shape, dtype, view.map())


def keeping(device: Device, array: np.ndarray) -> np.ndarray:
    """A view of `array`, made by `map_array`, that keeps the device alive, too."""
    memory = memory_at(address(array), array.nbytes)
    # A buffer is returned to its device, so it must be released first: in this order.
    memory.mapped, memory.device = array, device
    return np.ndarray(array.shape, array.dtype, memory)


class Staging:
    """A host-visible staging buffer of `size` bytes; `direction` is ``SOURCE`` or ``TARGET``,
    depending on whether the device reads or writes it."""

    def __init__(self, device: Device, size: int, direction: str):
        self.size = size
        self.buffer = allocate(device, size, BETWEEN, f"TRANSFER_{direction}|MAPPING")

    def array(self, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        """An array over the buffer, which stays mapped as long as the array exists."""
        return np.ndarray(shape, dtype, self.buffer.map())


def upload(device: Device, array: np.ndarray) -> Any:
    """A view of a new buffer on the device, with the contents of `array`."""
    native = array.dtype.newbyteorder("=")
    runtime = import_runtime()
    usage = "DEFAULT|MAPPING" if device.is_local else "DEFAULT"
    buffer = allocate(device, array.nbytes, LOCAL, usage)
    view = runtime.HalBufferView(buffer, array.shape, hal_type(native))
    if array.nbytes and device.is_local:
        np.copyto(map_array(view, native), array)
    elif array.nbytes:
        between = Staging(device, array.nbytes, "SOURCE")
        np.copyto(between.array(array.shape, native), array)
        copy(device, between.buffer, buffer)
    return view


def download(
    device: Device, view: Any, dtype: np.dtype, between: Staging | None = None
) -> np.ndarray:
    """Copy the contents of `view` to a new array that the caller owns."""
    buffer = view.get_buffer()
    if between is None:
        between = Staging(device, buffer.byte_length(), "TARGET")
    copy(device, buffer, between.buffer)
    return between.array(view.shape, dtype).copy()
