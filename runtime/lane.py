"""What one call at a time uses: buffers for inputs and outputs, kept from call to call."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .device import Device, import_runtime
from .device_tensor import DeviceTensor
from .local_memory import LocalInput, LocalOutput, Spans
from .remote_memory import RemoteInput, RemoteOutput

Plan = Sequence[tuple[int, bool]]
"""The outputs that are wanted, each with whether it stays on the device."""


class Lane:
    """Runs a function for one caller at a time.

    `inputs` are element types at the ABI, `outputs` dtypes.
    """

    def __init__(self, device: Device, inputs: Sequence[int], outputs: Sequence[np.dtype]):
        self._runtime = import_runtime()
        self._view_type = self._runtime.HalBufferView
        if device.is_local:
            self.slots = [LocalInput(device, kind) for kind in inputs]
            self._outputs = [LocalOutput(device, dtype) for dtype in outputs]
            self._memory_of: Callable[[Sequence[Any]], Any] = Spans
        else:
            self.slots = [RemoteInput(device, kind) for kind in inputs]
            self._outputs = [RemoteOutput(device, dtype) for dtype in outputs]
            self._memory_of = list
        self._views: list[Any] = [None] * len(self.slots)
        self._arguments = self._runtime.VmVariantList(0)

    def run(
        self, context: Any, function: Any, feeds: Sequence[np.ndarray | DeviceTensor], plan: Plan
    ) -> list[np.ndarray | DeviceTensor]:
        """One value for each output of `plan`."""
        arguments, borrowed = self._bind(feeds)
        results = self._runtime.VmVariantList(len(self._outputs))
        context.invoke(function, arguments, results)
        tensors = [feed for feed in feeds if isinstance(feed, DeviceTensor)]
        # Whoever has an array may write to it; tensors may share memory.
        of_arrays, of_all = self._memory_of(borrowed), self._memory_of([*borrowed, *tensors])
        given: list[np.ndarray | DeviceTensor] = []
        for index, stays in plan:
            output, view = self._outputs[index], results.get_as_object(index, self._view_type)
            if stays:
                given.append(output.keep(view, of_arrays))
            else:
                given.append(output.take(view, of_all))
                of_arrays.append(given[-1])
            of_all.append(given[-1])
        return given

    def _bind(self, feeds: Sequence[np.ndarray | DeviceTensor]) -> tuple[Any, list[Any]]:
        """The argument list of the call, and what memory it borrows.

        It is that of the last call where nothing moved.
        """
        views, borrowed, moved = [], [], False
        for index, feed in enumerate(feeds):
            view, memory = self.slots[index].place(feed)
            moved = moved or view is not self._views[index]
            views.append(view)
            if memory is not None:
                borrowed.append(memory)
        if not moved:
            return self._arguments, borrowed
        arguments = self._runtime.VmVariantList(len(views))
        for view in views:
            arguments.push_ref(view)
        if len(borrowed) == len(views):  # the memory of a tensor is not kept beyond the call
            self._views, self._arguments = views, arguments
        return arguments, borrowed
