"""Calls whose outputs go to memory that lives from call to call."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..device.device import Device, import_runtime
from ..device.device_tensor import DeviceTensor
from ..device.memory import aligned_empty
from .arguments import Arguments, Slot

_MOST_BYTES = 1 << 15
"""Of all outputs: larger ones are handed out where they were computed, without a copy."""


def are_small(outputs: Sequence[np.ndarray]) -> bool:
    """Whether `outputs` like these are better copied; empty ones have no memory to go to."""
    return sum(each.nbytes for each in outputs) <= _MOST_BYTES and all(map(np.size, outputs))


class Destinations:
    """Runs `function`, which takes feeds by `slots` and a buffer for each of its outputs.

    Those are as large as `outputs`, for feeds of `shapes`, or all that there are where that is
    None. For a device that works in the process's own memory, and one call at a time.
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
        """The arguments of feeds that were seen to have these shapes."""
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
        """Views of the arrays, which a call gives back, too."""

    def run(
        self, context: Any, feeds: Sequence[Any], outputs: Sequence[int]
    ) -> list[np.ndarray | DeviceTensor] | None:
        """Copies of the `outputs` that are asked for; None for feeds of other shapes."""
        arguments, _ = self._arguments.bind(feeds)
        if arguments is not self._usual:  # some feed is elsewhere, or of another shape
            if self._shapes is not None and self._shapes != [feed.shape for feed in feeds]:
                return None
            self._usual = arguments
        context.invoke(self._function, arguments, self._results)
        arrays = self._arrays
        return [arrays[index].copy() for index in outputs]
