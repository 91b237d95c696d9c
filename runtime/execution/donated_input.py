"""Inputs whose memory becomes that of outputs."""

from typing import Any

import numpy as np

from ..device.device import Device
from ..device.device_tensor import DeviceTensor, send


class DonatedInput:
    """Hands the memory of one input over to a call, which may write results to it.

    A tensor on the device is given away, and cannot be used afterwards; anything else is copied to
    the device, for this call alone.
    """

    def __init__(self, device: Device, element_type: int):
        self._device = device
        self._element_type = element_type

    def place(self, value: np.ndarray | DeviceTensor) -> tuple[Any, None]:
        """A buffer view with the contents of `value`, which owns its memory."""
        if isinstance(value, DeviceTensor):
            if value.on(self._device):
                return value.donate(self._element_type), None
            value = value.numpy()
        tensor = send(self._device, np.ascontiguousarray(value))
        return tensor.donate(self._element_type), None
