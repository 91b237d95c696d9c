"""Transfers of arrays to and from device-local memory, through host-visible staging buffers.

The staging buffers and the input buffers are reused from call to call while sizes stay the same.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .buffers import LOCAL, Staging, allocate, clone, copy, download, same_buffer
from .device import Device, import_runtime
from .device_tensor import DeviceTensor


class RemoteInput:
    """Uploads the arrays of one input to the device."""

    def __init__(self, device: Device, element_type: int):
        self._runtime = import_runtime()
        self._device = device
        self._element_type = element_type
        self._between: Staging | None = None
        self._view: Any = None

    def place(self, value: np.ndarray | DeviceTensor) -> tuple[Any, Any]:
        """A buffer view with the contents of `value`, and the same view again if the next call
        overwrites it, else None."""
        if isinstance(value, DeviceTensor):
            if value.on(self._device):
                return value.as_feed(self._element_type), None
            value = value.numpy()  # a CPU tensor: `read_tensor` refuses those of other devices
        if self._between is None or self._view.shape != list(value.shape):
            between = Staging(self._device, value.nbytes, "SOURCE")
            buffer = allocate(self._device, value.nbytes, LOCAL, "DEFAULT")
            self._view = self._runtime.HalBufferView(buffer, value.shape, self._element_type)
            self._between = between
        if value.nbytes:
            native = value.dtype.newbyteorder("=")
            np.copyto(self._between.array(value.shape, native), value)
            copy(self._device, self._between.buffer, self._view.get_buffer())
        return self._view, self._view


class RemoteOutput:
    """Returns the arrays of one output."""

    def __init__(self, device: Device, dtype: np.dtype):
        self._device = device
        self._dtype = dtype
        self._between: Staging | None = None

    def take_small(self, view: Any) -> None:
        """None: there is no shortcut for small outputs."""
        del view

    def take(self, view: Any, memory: "RemoteMemory") -> np.ndarray:
        """Copy the contents of `view` to a new array that the caller owns."""
        del memory
        if 0 in view.shape:
            return np.empty(view.shape, self._dtype)
        size = view.get_buffer().byte_length()
        if self._between is None or self._between.size != size:
            self._between = Staging(self._device, size, "TARGET")
        return download(self._device, view, self._dtype, self._between)

    def keep(self, view: Any, memory: "RemoteMemory") -> DeviceTensor:
        """A tensor over the buffer of `view`, or over a copy if the buffer is a borrowed one."""
        if any(same_buffer(view, each) for each in memory.borrowed):
            view = clone(self._device, view)
        return DeviceTensor(self._device, view, self._dtype)


class RemoteMemory:
    """The buffers, as views, that a call has `borrowed`; the next call overwrites them."""

    def __init__(self, borrowed: Sequence[Any], feeds: Sequence[np.ndarray | DeviceTensor]):
        del feeds  # output tensors may share memory with feeds
        self.borrowed = borrowed

    def add(self, value: np.ndarray | DeviceTensor) -> None:
        """Do nothing: returned arrays are copies."""
