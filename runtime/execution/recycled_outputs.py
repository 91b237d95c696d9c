"""Calls with large outputs, in memory that is reused once nobody holds an output in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..device.device import Device, import_runtime
from ..device.device_tensor import DeviceTensor
from ..device.dlpack import DLPackLayout, DLPackMemory
from ..device.memory import address, aligned_empty
from .arguments import Arguments, Slot
from .transients import Transients

_SPARE_BLOCKS = 2
"""Maximum number of unused blocks that are kept for an output: results may be dropped one call
after the next one was returned."""


@dataclass(frozen=True)
class _Block:
    """Memory of one output: an array over all of it, and its buffer on the device."""

    array: np.ndarray
    buffer: Any


class _Loan(DLPackMemory):
    """The memory of `block`, which goes to `spare` when no array uses it any more."""

    def __init__(self, block: _Block, spare: list[_Block]):
        array = block.array
        layout = DLPackLayout(address(array), array.dtype, array.shape, None)
        super().__init__(layout, block, writeable=True)
        self._spare = spare

    def __del__(self) -> None:
        if len(self._spare) < _SPARE_BLOCKS:
            self._spare.append(self._owner)


class RecycledOutputs:
    """Runs `function`, whose arguments are the feeds, bound with `slots`, the buffer of
    `transients` if there is one, and the output buffers.

    The outputs have the shapes of `outputs`, which are valid for feeds of `shapes`, or for all
    feeds if that is None. For a device that works in host memory, and one call at a time; results
    may be dropped on any thread, at any time.
    """

    def __init__(
        self,
        device: Device,
        function: Any,
        slots: Sequence[Slot],
        outputs: Sequence[np.ndarray],
        shapes: Sequence[tuple[int, ...]] | None,
        transients: Transients,
    ):
        self._function, self._slots, self._shapes = function, slots, shapes
        self._transients = transients
        self._kinds = [(each.shape, each.dtype) for each in outputs]
        self._spare: list[list[_Block]] = [[] for _ in outputs]
        self._runtime = runtime = import_runtime()
        self._allocator = device.hal.allocator
        self._memory = runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE
        self._usage = runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING

    def run(
        self, vm_context: Any, feeds: Sequence[Any], outputs: Sequence[int]
    ) -> list[np.ndarray | DeviceTensor] | None:
        """Run the function; return the requested `outputs`, or None for feeds of other shapes."""
        if self._shapes is not None and self._shapes != [feed.shape for feed in feeds]:
            return None
        blocks = [self._take(index) for index in range(len(self._kinds))]
        buffers = [block.buffer for block in blocks]
        arguments = self._bind(feeds, buffers)
        if self._transients.fit(vm_context, [feed.shape for feed in feeds], arguments):
            arguments = self._bind(feeds, buffers)
        results = self._runtime.VmVariantList(len(blocks))
        vm_context.invoke(self._function, arguments, results)
        arrays = [
            np.asarray(_Loan(block, spare)).view(block.array.dtype)
            for block, spare in zip(blocks, self._spare, strict=True)
        ]
        return [arrays[index] for index in outputs]

    def _bind(self, feeds: Sequence[Any], buffers: Sequence[Any]) -> Any:
        arguments = Arguments(self._slots, [*self._transients.buffers(), *buffers])
        return arguments.bind(feeds)[0]

    def _take(self, index: int) -> _Block:
        try:
            return self._spare[index].pop()
        except IndexError:
            array = aligned_empty(*self._kinds[index])
            buffer = self._allocator.import_host_allocation(array, self._memory, self._usage)
            return _Block(array, buffer)
