"""Calls with preallocated outputs, which are reused from call to call."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..device.device import Device, import_runtime
from ..device.device_tensor import DeviceTensor
from ..device.memory import aligned_empty
from .arguments import Arguments, Slot

_MOST_BYTES = 1 << 17
"""Maximum total size of the outputs; larger ones are returned in place, without a copy."""


def are_small(outputs: Sequence[np.ndarray]) -> bool:
    """Return whether to preallocate and copy `outputs`: they are small."""
    return sum(each.nbytes for each in outputs) <= _MOST_BYTES


class PreallocatedOutputs:
    """Runs `function`, whose arguments are the feeds, bound with `slots`, and the output buffers.

    The buffers have the shapes of `outputs`, which are valid for feeds of `shapes`, or for all
    feeds if that is None. For a device that works in host memory, and one call at a time.
    """

    def __init__(
        self,
        device: Device,
        function: Any,
        slots: Sequence[Slot],
        outputs: Sequence[np.ndarray],
        shapes: Sequence[tuple[int, ...]] | None,
    ):
        self._function, self._shapes = function, shapes
        self._usual: Any = None
        """The last argument list whose feeds were verified to have these shapes."""
        runtime = import_runtime()
        memory = runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE
        usage = runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING
        allocator = device.hal.allocator
        self._arrays = [aligned_empty(each.shape, each.dtype) for each in outputs]
        self._arguments = Arguments(
            slots,
            [allocator.import_host_allocation(each, memory, usage) for each in self._arrays],
        )
        self._results = runtime.VmVariantList(len(outputs))
        """Result list, which a call fills with views of the arrays."""

    def run(
        self, vm_context: Any, feeds: Sequence[Any], outputs: Sequence[int]
    ) -> list[np.ndarray | DeviceTensor] | None:
        """Run the function; return copies of the requested `outputs`, or None for feeds of other
        shapes."""
        arguments, _ = self._arguments.bind(feeds)
        if arguments is not self._usual:  # a feed has another address or shape
            if self._shapes is not None and self._shapes != [feed.shape for feed in feeds]:
                return None
            self._usual = arguments
        vm_context.invoke(self._function, arguments, self._results)
        arrays = self._arrays
        return [arrays[index].copy() for index in outputs]
