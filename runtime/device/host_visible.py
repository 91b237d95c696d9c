"""Arrays in and out of a device that works in host memory.

A call of a small model is dominated by call overhead. So small inputs are copied into buffers that
are created and bound once; large inputs are used in place if they are aligned. Small outputs are
copied out, large ones are returned in the memory that the device wrote.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .buffers import clone, keeping, map_array
from .device import Device, import_runtime
from .device_tensor import DeviceTensor
from .memory import ALIGNMENT, address, aligned_empty, memory_at, span

Span = tuple[int, int]
"""The begin and end addresses of memory."""

_IN_PLACE = 1 << 17
"""Size in bytes from which using memory in place is cheaper than copying it: to import an input
from another address than before, and to hand out the memory of an output, take a few us each."""


class LocalInput:
    """Makes the arrays of one input available to the device."""

    def __init__(self, device: Device, element_type: int, alignment: int = ALIGNMENT):
        """`alignment` is what the code requires of arrays that it uses in place, in bytes."""
        self._alignment = alignment
        self._runtime = runtime = import_runtime()
        self._device = device
        self._allocator = device.hal.allocator
        self._element_type = element_type
        self._memory_type = runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE
        self._usage = runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING
        self.staging: np.ndarray | None = None
        self._staged: tuple[Any, Span | None] = (None, None)
        self._small_shape: tuple[int, ...] | None = None
        """Shape of small arrays, which are always copied to the existing staging buffer."""
        self._imported: tuple[Any, Span | None] = (None, None)
        """The last view of memory of a caller, who may have freed it since."""
        self._imported_shape: tuple[int, ...] | None = None

    def place(self, value: np.ndarray | DeviceTensor) -> tuple[Any, Span | None]:
        """A buffer view with the contents of `value`, and the memory that it borrows.

        That memory belongs to the caller, or is reused by the next call. None if the view owns its
        memory.
        """
        if type(value) is np.ndarray and value.shape == self._small_shape:
            self.staging[...] = value  # pyright: ignore[reportOptionalSubscript]
            return self._staged
        if isinstance(value, DeviceTensor):
            if value.on(self._device):
                return value.as_feed(self._element_type), None
            value = value.numpy()  # from a device with another set of workers
        size = value.nbytes
        if size >= _IN_PLACE and value.flags.c_contiguous and value.dtype.isnative:
            begin = address(value)
            if begin % self._alignment == 0:
                return self._in_place((begin, begin + size), value.shape)
        if self.staging is None or self.staging.shape != value.shape:
            self.staging = aligned_empty(value.shape, value.dtype.newbyteorder("="))
            memory = span(self.staging)
            self._staged = self._view(memory, value.shape), memory
            self._small_shape = value.shape if size < _IN_PLACE else None
        np.copyto(self.staging, value)
        return self._staged

    def _in_place(self, memory: Span, shape: tuple[int, ...]) -> tuple[Any, Span | None]:
        """A view of `memory`: that of the last call, if that had the same memory and shape."""
        if memory != self._imported[1] or shape != self._imported_shape:
            self._imported, self._imported_shape = (self._view(memory, shape), memory), shape
        return self._imported

    def _view(self, memory: Span, shape: tuple[int, ...]) -> Any:
        begin, end = memory
        array = memory_at(begin, end - begin)
        buffer = self._allocator.import_host_allocation(array, self._memory_type, self._usage)
        return self._runtime.HalBufferView(buffer, shape, self._element_type)


class LocalOutput:
    """Returns the arrays of one output."""

    def __init__(self, device: Device, dtype: np.dtype):
        self._device = device
        self._dtype = dtype

    def take_small(self, view: Any) -> np.ndarray | None:
        """A copy of the contents of `view` if they are smaller than `_IN_PLACE`, else None."""
        shape = view.shape
        if 0 in shape:
            return np.empty(shape, self._dtype)
        array = np.ndarray(shape, self._dtype, view.map())
        return array.copy() if array.nbytes < _IN_PLACE else None

    def take(self, view: Any, memory: "LocalMemory") -> np.ndarray:
        """The contents of `view` in place, or a copy if they overlap `memory`: a model may return
        its input, or one value twice."""
        array = map_array(view, self._dtype)
        return array.copy() if memory.shares(array) else keeping(self._device, array)

    def keep(self, view: Any, memory: "LocalMemory") -> DeviceTensor:
        """A tensor over the buffer of `view`, or over a copy if it overlaps arrays in `memory`,
        which the caller may write to."""
        if 0 not in view.shape and memory.shares(map_array(view, self._dtype), tensors=False):
            view = clone(self._device, view)
        return DeviceTensor(self._device, view, self._dtype)


class LocalMemory:
    """The memory that a call has `borrowed`, that of tensors among its `feeds`, and that of its
    outputs so far.

    Addresses are looked up once and lazily: calls of small models do not need them.
    """

    def __init__(self, borrowed: Sequence[Span], feeds: Sequence[np.ndarray | DeviceTensor]):
        self._arrays = [*borrowed]
        self._new_arrays: list[np.ndarray] = []
        self._new_tensors = [each for each in feeds if isinstance(each, DeviceTensor)]
        self._tensors: list[Span] = []

    def add(self, value: np.ndarray | DeviceTensor) -> None:
        if isinstance(value, DeviceTensor):
            self._new_tensors.append(value)
        else:
            self._new_arrays.append(value)

    def shares(self, array: np.ndarray, tensors: bool = True) -> bool:
        """Return whether a C-contiguous array overlaps one of the arrays, or, with `tensors`, one
        of the tensors."""
        self._arrays += map(span, self._new_arrays)
        self._new_arrays = []
        if tensors:
            kept = (each for each in self._new_tensors if each.has_memory)
            self._tensors += (span(each.numpy()) for each in kept)
            self._new_tensors = []
        first, last = span(array)
        spans = [*self._arrays, *self._tensors] if tensors else self._arrays
        return any(begin < last and first < end for begin, end in spans)
