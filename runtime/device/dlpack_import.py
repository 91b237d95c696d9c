"""Import of tensors as feeds: graphc's own, and those of other libraries by DLPack."""

from typing import Any

import numpy as np

from . import buffers
from .device import Device
from .device_tensor import DeviceTensor, send
from .dlpack import HOST_TYPES, describe, device_of, host_array, read_layout
from .memory import ALIGNMENT
from .producer_stream import LEGACY_STREAM, wait_for_producer
from .status_errors import STATUS_ERRORS

UNREADABLE = (TypeError, BufferError, *STATUS_ERRORS)
"""Exceptions of `read_tensor`: the value is not an array, or cannot be exported or imported."""


def read_tensor(value: Any, device: Device | None) -> np.ndarray | DeviceTensor:
    """`value` without a copy: an array if it is on the host, a tensor if it is on `device`.

    A `DeviceTensor` on the host is returned as it is, unless `device` is None. Raises `TypeError`
    for a tensor in the memory of another device.
    """
    if isinstance(value, DeviceTensor):
        if device is None:
            return value.numpy()
        if value.on(device) or value.device == "cpu":
            return value
        value.require_there()
        raise TypeError(_elsewhere(value.device, device, ".numpy()"))
    location = device_of(value)
    if location[0] in HOST_TYPES:
        return host_array(value)
    if device is None or location != device.dlpack or location[0] not in LEGACY_STREAM:
        raise TypeError(_elsewhere(describe(location), device, "a copy on the host"))
    return _adopt(value, device)


def _elsewhere(location: str, device: Device | None, instead: str) -> str:
    return f"it is on {location}, the model takes it from {device or 'cpu'}: pass {instead}"


def _adopt(value: Any, device: Device) -> DeviceTensor:
    """Import another library's tensor in the memory of `device`, without a copy if aligned."""
    device.require_working()
    capsule = value.__dlpack__(stream=LEGACY_STREAM[device.dlpack[0]])
    layout = read_layout(capsule)
    if 0 in layout.shape:
        return send(device, np.empty(layout.shape, layout.dtype))
    if layout.strides is not None:
        raise ValueError("its elements do not lie in C order: pass it contiguous")
    wait_for_producer(device)
    # From here on the consumer, the buffer, must release the memory.
    view = device.hal.from_dlpack_capsule(capsule)
    if layout.pointer % ALIGNMENT:  # generated code loads whole vectors from the start
        view = buffers.clone(device, view)
    return DeviceTensor(device, view, layout.dtype)
