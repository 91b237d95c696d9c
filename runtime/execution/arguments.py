"""The argument list of a call: feeds bound to buffer views."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..device.device import import_runtime
from ..device.device_local import RemoteInput
from ..device.device_tensor import DeviceTensor
from ..device.host_visible import LocalInput
from .donated_input import DonatedInput

Slot = LocalInput | RemoteInput | DonatedInput
"""Makes the feeds of one input available to the device."""


class Arguments:
    """Binds feeds with `slots`, for one call at a time; the buffers `more` follow the inputs."""

    def __init__(self, slots: Sequence[Slot], more: Sequence[Any] = ()):
        self._new_list = import_runtime().VmVariantList
        self._slots, self._more = slots, more
        self._placed: list[Any] = [None] * len(slots)
        self._borrowed: list[Any] = []
        self._list = self._make([], more)

    def bind(
        self, feeds: Sequence[np.ndarray | DeviceTensor], more: Sequence[Any] | None = None
    ) -> tuple[Any, list[Any]]:
        """The argument list, and the memory that it borrows. Other buffers `more` may be given.

        The list of the last call is reused if no feed has moved and the buffers are the same list.
        """
        more = self._more if more is None else more
        placed, moved = [], more is not self._more
        before = self._placed
        for index, slot in enumerate(self._slots):
            now = slot.place(feeds[index])
            if now is not before[index]:
                moved = True
            placed.append(now)
        if not moved:
            return self._list, self._borrowed
        arguments = self._make(placed, more)
        borrowed = [memory for _, memory in placed if memory is not None]
        if len(borrowed) == len(placed):  # a tensor's memory must not be held beyond the call
            self._placed, self._list, self._borrowed = placed, arguments, borrowed
            self._more = more
        return arguments, borrowed

    def _make(self, placed: Sequence[tuple[Any, Any]], more: Sequence[Any]) -> Any:
        arguments = self._new_list(len(placed) + len(more))
        for view, _ in placed:
            arguments.push_ref(view)
        for buffer in more:
            arguments.push_ref(buffer)
        return arguments
