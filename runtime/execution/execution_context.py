"""What one call at a time uses: buffers for inputs and outputs, kept from call to call."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..device.buffers import LOCAL, allocate
from ..device.device import Device, import_runtime
from ..device.device_local import RemoteInput, RemoteMemory, RemoteOutput
from ..device.device_tensor import DeviceTensor
from ..device.host_visible import LocalInput, LocalMemory, LocalOutput
from .arguments import Arguments, Slot
from .preallocated_outputs import Destinations, are_small


@dataclass(frozen=True)
class Plan:
    """What a call gives: `outputs` by number, in this order; `staying` ones stay on the device."""

    outputs: Sequence[int]
    staying: Collection[int] = ()


@dataclass(frozen=True)
class Program:
    """What a lane runs: the `entry` function, with element types at the ABI for `inputs`.

    `into` is the function that writes its outputs where it is told; None where there is none, or
    where values of inputs decide the size of an output: two calls of the same shapes may differ.
    `is_static` says that all inputs have one shape. `transients` are the bytes that the entry takes
    for intermediate results, 0 where it allocates them itself.
    """

    entry: Any
    inputs: Sequence[int]
    outputs: Sequence[np.dtype]
    into: Any
    is_static: bool
    transients: int = 0


class Lane:
    """Runs a program for one caller at a time."""

    def __init__(self, device: Device, program: Program):
        runtime = import_runtime()
        self._device = device
        self._program = program
        self._view_type = runtime.HalBufferView
        self._results = runtime.VmVariantList
        self.slots: list[Slot]
        if device.is_local:
            self.slots = [LocalInput(device, kind) for kind in program.inputs]
            self._outputs = [LocalOutput(device, dtype) for dtype in program.outputs]
            self._memory: Callable[[Sequence[Any], Sequence[Any]], Any] = LocalMemory
        else:
            self.slots = [RemoteInput(device, kind) for kind in program.inputs]
            self._outputs = [RemoteOutput(device, dtype) for dtype in program.outputs]
            self._memory = RemoteMemory
        self._arguments: Arguments | None = None
        """Made by the first call, which fails where their memory is not to be had."""
        self._shapes: list[tuple[int, ...]] | None = []
        """Of the feeds of the last call that had no destinations; None where all have one shape."""
        self._destinations: Destinations | None = None

    def run(
        self, context: Any, feeds: Sequence[np.ndarray | DeviceTensor], plan: Plan
    ) -> list[np.ndarray | DeviceTensor]:
        """One value for each output of `plan`."""
        program, destinations = self._program, self._destinations
        if destinations is not None and not plan.staying:
            copies = destinations.run(context, feeds, plan.outputs)
            if copies is not None:
                return copies
        shapes = None if program.is_static else [feed.shape for feed in feeds]
        given = self._run_entry(context, feeds, plan)
        if program.into is not None and not plan.staying:
            self._note_sizes(shapes, given, plan)
        return given

    def _note_sizes(
        self, shapes: list[tuple[int, ...]] | None, given: Sequence[Any], plan: Plan
    ) -> None:
        """Outputs of two calls in a row are as large as these: the next ones know where to go."""
        again, self._shapes, self._destinations = shapes == self._shapes, shapes, None
        if again and [*plan.outputs] == [*range(len(self._outputs))] and are_small(given):
            into = self._program.into
            self._destinations = Destinations(self._device, into, self.slots, given, shapes)

    def _run_entry(
        self, context: Any, feeds: Sequence[np.ndarray | DeviceTensor], plan: Plan
    ) -> list[np.ndarray | DeviceTensor]:
        if self._arguments is None:
            self._arguments = Arguments(self.slots, self._transients())
        arguments, borrowed = self._arguments.bind(feeds)
        results = self._results(len(self._outputs))
        context.invoke(self._program.entry, arguments, results)
        given: list[np.ndarray | DeviceTensor] = []
        memory: Any = None
        for index in plan.outputs:
            output, view = self._outputs[index], results.get_as_object(index, self._view_type)
            stays = index in plan.staying
            value = None if stays else output.take_small(view)
            if value is None:
                memory = memory or self._memory(borrowed, feeds)
                value = output.keep(view, memory) if stays else output.take(view, memory)
                memory.add(value)
            given.append(value)
        return given

    def _transients(self) -> list[Any]:
        """Memory for intermediate results, if the entry does not allocate it."""
        size = self._program.transients
        return [allocate(self._device, size, LOCAL, "DEFAULT|MAPPING")] if size else []
