"""Calls with large outputs, in memory that is reused once nobody holds an output in it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..device.device import Device, import_runtime
from ..device.device_tensor import DeviceTensor
from ..device.memory import address, aligned_empty, bytes_type
from .arguments import Arguments, Slot
from .transients import Transients

_SPARE_BLOCKS = 2
"""Maximum number of unused blocks that are kept for an output: results may be dropped one call
after the next one was returned."""


class _Block:
    """Memory of one output: its address, its buffer on the device, and the array that owns it."""

    def __init__(self, array: np.ndarray, buffer: Any):
        self.begin, self.buffer, self._array = address(array), buffer, array


class _Output:
    """The memory of one output, of `shape` and `dtype`."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape, self.dtype = shape, dtype
        self.spare: list[_Block] = []
        size = np.empty(0, dtype).itemsize * int(np.prod(shape, dtype=np.int64))
        self._loan: Any = type("_Loan", (bytes_type(size),), {"__del__": _give_back})

    def lend(self, block: _Block) -> np.ndarray:
        """An array over `block`, which goes to the spare ones when no array uses it any more."""
        loan = self._loan.from_address(block.begin)
        loan.block, loan.spare = block, self.spare
        return np.ndarray(self.shape, self.dtype, loan)


def _give_back(loan: Any) -> None:
    if len(loan.spare) < _SPARE_BLOCKS:
        loan.spare.append(loan.block)


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
        self._function, self._shapes = function, shapes
        self._transients = transients
        self._outputs = [_Output(each.shape, each.dtype) for each in outputs]
        self._runtime = runtime = import_runtime()
        self._allocator = device.hal.allocator
        self._memory = runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE
        self._usage = runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING
        self._arguments = Arguments(slots)
        self._blocks: list[_Block] = []
        """Those of the last call, with the `_buffers` of its argument list."""
        self._buffers: list[Any] = []

    def run(
        self, vm_context: Any, feeds: Sequence[Any], outputs: Sequence[int]
    ) -> list[np.ndarray | DeviceTensor] | None:
        """Run the function; return the requested `outputs`, or None for feeds of other shapes."""
        if self._shapes is not None and self._shapes != [feed.shape for feed in feeds]:
            return None
        blocks = [self._take(output) for output in self._outputs]
        if blocks != self._blocks:
            self._blocks, self._buffers = blocks, self._buffers_of(blocks)
        arguments, _ = self._arguments.bind(feeds, self._buffers)
        if self._transients.fit(vm_context, [feed.shape for feed in feeds], arguments):
            self._buffers = self._buffers_of(blocks)
            arguments, _ = self._arguments.bind(feeds, self._buffers)
        results = self._runtime.VmVariantList(len(blocks))
        vm_context.invoke(self._function, arguments, results)
        arrays = [output.lend(block) for output, block in zip(self._outputs, blocks, strict=True)]
        return [arrays[index] for index in outputs]

    def _buffers_of(self, blocks: Sequence[_Block]) -> list[Any]:
        return [*self._transients.buffers(), *(block.buffer for block in blocks)]

    def _take(self, output: _Output) -> _Block:
        try:
            return output.spare.pop()
        except IndexError:
            array = aligned_empty(output.shape, output.dtype)
            buffer = self._allocator.import_host_allocation(array, self._memory, self._usage)
            return _Block(array, buffer)
