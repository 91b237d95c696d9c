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
        self._staged: tuple[Any, Any] = (None, None)
        self._small_shape: tuple[int, ...] | None = None
        """That of arrays which are always copied to where the last one was."""

    def place(self, value: np.ndarray | DeviceTensor) -> tuple[Any, np.ndarray | None]:
        """A buffer view with the contents of `value`, and the memory that it is of.

        That is the caller's or the next call's: None where the view keeps its own.
        """
        if type(value) is np.ndarray and value.shape == self._small_shape:
            self._staged[1][...] = value
            return self._staged
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
            self._staged = self._view(self.staging), self.staging
            self._small_shape = value.shape if value.nbytes < _IN_PLACE else None
        np.copyto(self.staging, value)
        return self._staged

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

    def take_small(self, view: Any) -> np.ndarray | None:
        """The contents of `view` as an array of the caller's own, if they are few."""
        shape = view.shape
        if 0 in shape:
            return np.empty(shape, self._dtype)
        array = np.ndarray(shape, self._dtype, view.map())
        return array.copy() if array.nbytes < _IN_PLACE else None

    def take(self, view: Any, memory: "LocalMemory") -> np.ndarray:
        """The contents of `view`, where they lie unless that is `memory`: a model may return its
        input, or one value twice."""
        array = map_array(view, self._dtype)
        return array.copy() if memory.shares(array) else keeping(self._device, array)

    def keep(self, view: Any, memory: "LocalMemory") -> DeviceTensor:
        """The contents of `view` where they lie, or a copy if that is `memory` of arrays: whoever
        has one may write to it."""
        if 0 not in view.shape and memory.shares(map_array(view, self._dtype), tensors=False):
            view = clone(self._device, view)
        return DeviceTensor(self._device, view, self._dtype)


class LocalMemory:
    """The memory that a call has `borrowed`, that of tensors among its `feeds`, and that of its
    outputs so far.

    Where each lies is looked up once, and only if somebody asks: calls of small models do not.
    """

    def __init__(self, borrowed: Sequence[np.ndarray], feeds: Sequence[np.ndarray | DeviceTensor]):
        self._borrowed, self._feeds = borrowed, feeds
        self._added: list[np.ndarray | DeviceTensor] = []
        self._arrays: list[tuple[int, int]] | None = None
        self._tensors: list[tuple[int, int]] = []

    def add(self, value: np.ndarray | DeviceTensor) -> None:
        self._added.append(value)

    def shares(self, array: np.ndarray, tensors: bool = True) -> bool:
        """Whether a C-contiguous array shares memory with an array, or with any of them all."""
        if self._arrays is None:
            self._arrays = [*map(span, self._borrowed)]
            self._added = [*filter(_is_tensor, self._feeds), *self._added]
        for value in self._added:
            if isinstance(value, DeviceTensor):
                self._tensors.append(span(value.numpy()))
            else:
                self._arrays.append(span(value))
        self._added = []
        first, last = span(array)
        spans = [*self._arrays, *self._tensors] if tensors else self._arrays
        return any(begin < last and first < end for begin, end in spans)


def _is_tensor(value: np.ndarray | DeviceTensor) -> bool:
    return isinstance(value, DeviceTensor)
