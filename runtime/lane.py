"""What one call at a time uses: buffers for inputs and outputs, kept from call to call."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .device import Device, import_runtime
from .device_tensor import DeviceTensor
from .local_memory import LocalInput, LocalMemory, LocalOutput
from .remote_memory import RemoteInput, RemoteMemory, RemoteOutput

Plan = Sequence[tuple[int, bool]]
"""The outputs that are wanted, each with whether it stays on the device."""


class Lane:
    """Runs a function for one caller at a time.

    `inputs` are element types at the ABI, `outputs` dtypes.
    """

    def __init__(self, device: Device, inputs: Sequence[int], outputs: Sequence[np.dtype]):
        self._runtime = import_runtime()
        self._view_type = self._runtime.HalBufferView
        self._results = self._runtime.VmVariantList
        if device.is_local:
            self.slots = [LocalInput(device, kind) for kind in inputs]
            self._outputs = [LocalOutput(device, dtype) for dtype in outputs]
            self._memory: Callable[[Sequence[Any], Sequence[Any]], Any] = LocalMemory
        else:
            self.slots = [RemoteInput(device, kind) for kind in inputs]
            self._outputs = [RemoteOutput(device, dtype) for dtype in outputs]
            self._memory = RemoteMemory
        self._placed: list[Any] = [None] * len(self.slots)
        self._borrowed: list[Any] = []
        self._arguments = self._runtime.VmVariantList(0)

    def run(
        self, context: Any, function: Any, feeds: Sequence[np.ndarray | DeviceTensor], plan: Plan
    ) -> list[np.ndarray | DeviceTensor]:
        """One value for each output of `plan`."""
        arguments, borrowed = self._bind(feeds)
        results = self._results(len(self._outputs))
        context.invoke(function, arguments, results)
        given: list[np.ndarray | DeviceTensor] = []
        memory: Any = None
        for index, stays in plan:
            output, view = self._outputs[index], results.get_as_object(index, self._view_type)
            value = None if stays else output.take_small(view)
            if value is None:
                memory = memory or self._memory(borrowed, feeds)
                value = output.keep(view, memory) if stays else output.take(view, memory)
                memory.add(value)
            given.append(value)
        return given

    def _bind(self, feeds: Sequence[np.ndarray | DeviceTensor]) -> tuple[Any, list[Any]]:
        """The argument list of the call, and what memory it borrows.

        It is that of the last call where nothing moved.
        """
        placed, moved = [], False
        before = self._placed
        for index, slot in enumerate(self.slots):
            now = slot.place(feeds[index])
            if now is not before[index]:
                moved = True
            placed.append(now)
        if not moved:
            return self._arguments, self._borrowed
        arguments = self._runtime.VmVariantList(len(placed))
        for view, _ in placed:
            arguments.push_ref(view)
        borrowed = [memory for _, memory in placed if memory is not None]
        if len(borrowed) == len(placed):  # the memory of a tensor is not kept beyond the call
            self._placed, self._arguments, self._borrowed = placed, arguments, borrowed
        return arguments, borrowed
