"""Arrays in and out of a device that works in the process's own memory.

Most of the time of a small model is spent between the caller and the code. So small inputs are
copied into buffers that are made once and bound once; large ones are used where they lie if they
are aligned. Small outputs are copied out, large ones are handed out where the device wrote them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .buffers import clone, keeping, map_array
from .device import Device, import_runtime
from .device_tensor import DeviceTensor
from .dlpack import Layout, Memory
from .memory import ALIGNMENT, address, aligned_empty, span

_IN_PLACE = 1 << 15
"""Bytes from which using memory where it lies is cheaper than copying it."""


class LocalInput:
    """Brings the arrays of one input to the device."""

    def __init__(self, device: Device, element_type: int):
        self._runtime = runtime = import_runtime()
        self._device = device
        self._allocator = device.hal.allocator
        self._element_type = element_type
        self._memory_type = runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE
        self._usage = runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING
        self.staging: np.ndarray | None = None
        self._staging_view: Any = None

    def place(self, value: np.ndarray | DeviceTensor) -> tuple[Any, np.ndarray | None]:
        """A buffer view with the contents of `value`, and the memory that it is of.

        That is the caller's or the next call's: None where the view keeps its own.
        """
        if isinstance(value, DeviceTensor):
            if value.on(self._device):
                return value.as_feed(self._element_type), None
            value = value.numpy()  # of another set of workers
        if (
            value.nbytes >= _IN_PLACE
            and value.flags.c_contiguous
            and value.dtype.isnative
            and address(value) % ALIGNMENT == 0
        ):
            return self._view(value), value
        if self.staging is None or self.staging.shape != value.shape:
            self.staging = aligned_empty(value.shape, value.dtype.newbyteorder("="))
            self._staging_view = self._view(self.staging)
        np.copyto(self.staging, value)
        return self._staging_view, self.staging

    def _view(self, array: np.ndarray) -> Any:
        if not array.flags.writeable:  # which importing asks for; nothing writes to an input
            layout = Layout(address(array), array.dtype, array.shape, None)
            array = np.asarray(Memory(layout, array, writeable=True))
        buffer = self._allocator.import_host_allocation(array, self._memory_type, self._usage)
        return self._runtime.HalBufferView(buffer, array.shape, self._element_type)


class LocalOutput:
    """Hands out the arrays of one output."""

    def __init__(self, device: Device, dtype: np.dtype):
        self._device = device
        self._dtype = dtype

    def take(self, view: Any, others: "Spans") -> np.ndarray:
        """The contents of `view` as an array that shares no memory with `others`."""
        shape = view.shape
        if 0 in shape:
            return np.empty(shape, self._dtype)
        array = map_array(view, self._dtype)
        # A model may return its input, or one value twice.
        if array.nbytes < _IN_PLACE or others.overlap(array):
            return array.copy()
        return keeping(self._device, array)

    def keep(self, view: Any, others: "Spans") -> DeviceTensor:
        """The contents of `view` where they lie, or a copy if that is memory of `others`."""
        if 0 not in view.shape and others.overlap(map_array(view, self._dtype)):
            view = clone(self._device, view)
        return DeviceTensor(self._device, view, self._dtype)


class Spans:
    """The memory of some values, each looked up once, and only when there is something that may
    share it: calls of small models do not ask."""

    def __init__(self, values: Sequence[np.ndarray | DeviceTensor]):
        self._values = [*values]
        self._spans: list[tuple[int, int]] = []

    def append(self, value: np.ndarray | DeviceTensor) -> None:
        self._values.append(value)

    def overlap(self, array: np.ndarray) -> bool:
        """Whether a C-contiguous array shares memory with any."""
        for value in self._values[len(self._spans) :]:
            self._spans.append(span(value.numpy() if isinstance(value, DeviceTensor) else value))
        first, last = span(array)
        return any(begin < last and first < end for begin, end in self._spans)
