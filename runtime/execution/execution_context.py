"""Execution contexts: the buffers for inputs and outputs of one call at a time, reused from call
to call."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..device.device import Device, import_runtime
from ..device.device_local import RemoteInput, RemoteMemory, RemoteOutput
from ..device.device_tensor import DeviceTensor
from ..device.host_visible import LocalInput, LocalMemory, LocalOutput
from ..device.memory import ALIGNMENT
from ..files.module_file import TransientsSize
from .arguments import Arguments, Slot
from .donated_input import DonatedInput
from .preallocated_outputs import PreallocatedOutputs, are_small
from .recycled_outputs import RecycledOutputs
from .transients import Transients


@dataclass(frozen=True)
class CallSpec:
    """The results of a call: `outputs` by index, in this order; those in `staying` remain on the
    device."""

    outputs: Sequence[int]
    staying: Collection[int] = ()


@dataclass(frozen=True)
class EntryPoint:
    """The `entry` function of a loaded program, with element types at the ABI for `inputs`.

    `is_sized_by_shapes` is set if the shapes of the inputs determine those of all outputs;
    otherwise values of inputs do, and two calls with the same shapes may differ. `into` is the
    entry point that writes to preallocated outputs; None if there is none, or if sizes depend on
    values. `is_static` is set if all inputs have static shapes. The inputs numbered in `donated`
    hand their memory over. `transients` and `into_transients` are the sizes of the buffers for
    intermediate results that the entry points take.
    """

    entry: Any
    inputs: Sequence[int]
    outputs: Sequence[np.dtype]
    into: Any
    is_sized_by_shapes: bool
    is_static: bool
    transients: TransientsSize
    into_transients: TransientsSize
    donated: Collection[int] = ()
    alignment: int = ALIGNMENT
    """Required of the addresses of inputs, in bytes."""


class ExecutionContext:
    """An execution context: runs a program for one caller at a time."""

    def __init__(self, device: Device, entry_point: EntryPoint):
        runtime = import_runtime()
        self._device = device
        self._entry_point = entry_point
        self._view_type = runtime.HalBufferView
        self._results = runtime.VmVariantList
        self.slots: list[Slot]
        if device.is_local:
            alignment = entry_point.alignment
            self.slots = [LocalInput(device, kind, alignment) for kind in entry_point.inputs]
            self._outputs = [LocalOutput(device, dtype) for dtype in entry_point.outputs]
            self._memory: Callable[[Sequence[Any], Sequence[Any]], Any] = LocalMemory
        else:
            self.slots = [RemoteInput(device, kind) for kind in entry_point.inputs]
            self._outputs = [RemoteOutput(device, dtype) for dtype in entry_point.outputs]
            self._memory = RemoteMemory
        for number in entry_point.donated:
            self.slots[number] = DonatedInput(device, entry_point.inputs[number])
        self._transients = Transients(device, entry_point.transients)
        self._arguments: Arguments | None = None
        """Created by the first call, which fails if their memory cannot be allocated."""
        self._shapes: list[tuple[int, ...]] | None = []
        """Shapes of the feeds of the last call without preallocated outputs; None for a static
        program."""
        self._preallocated: PreallocatedOutputs | RecycledOutputs | None = None

    def run(
        self, vm_context: Any, feeds: Sequence[np.ndarray | DeviceTensor], call_spec: CallSpec
    ) -> list[np.ndarray | DeviceTensor]:
        """Run the program; return one value for each output of `call_spec`."""
        entry_point, preallocated = self._entry_point, self._preallocated
        if preallocated is not None and not call_spec.staying:
            copies = preallocated.run(vm_context, feeds, call_spec.outputs)
            if copies is not None:
                return copies
        shapes = None if entry_point.is_static else [feed.shape for feed in feeds]
        given = self._run_entry(vm_context, feeds, call_spec)
        if entry_point.into is not None and not call_spec.staying:
            self._record_sizes(shapes, given, call_spec)
        return given

    def _record_sizes(
        self, shapes: list[tuple[int, ...]] | None, given: Sequence[Any], call_spec: CallSpec
    ) -> None:
        """Take the memory of outputs like `given` from the caller if two calls in a row had the
        same `shapes` and asked for all outputs."""
        again, self._shapes, self._preallocated = shapes == self._shapes, shapes, None
        if not again or [*call_spec.outputs] != [*range(len(self._outputs))]:
            return
        if all(map(np.size, given)):
            self._preallocated = self._preallocate(given, shapes)

    def _preallocate(
        self, outputs: Sequence[np.ndarray], shapes: list[tuple[int, ...]] | None
    ) -> PreallocatedOutputs | RecycledOutputs:
        device, into = self._device, self._entry_point.into
        size = self._entry_point.into_transients
        if are_small(outputs) and not size.buffers:
            return PreallocatedOutputs(device, into, self.slots, outputs, shapes)
        self._transients.release()
        self._arguments = None
        transients = Transients(device, size)
        return RecycledOutputs(device, into, self.slots, outputs, shapes, transients)

    def _run_entry(
        self, vm_context: Any, feeds: Sequence[np.ndarray | DeviceTensor], call_spec: CallSpec
    ) -> list[np.ndarray | DeviceTensor]:
        arguments, borrowed = self._bind(vm_context, feeds)
        results = self._results(len(self._outputs))
        vm_context.invoke(self._entry_point.entry, arguments, results)
        given: list[np.ndarray | DeviceTensor] = []
        memory: Any = None
        for index in call_spec.outputs:
            output, view = self._outputs[index], results.get_as_object(index, self._view_type)
            stays = index in call_spec.staying
            value = None if stays else output.take_small(view)
            if value is None:
                memory = memory or self._memory(borrowed, feeds)
                value = output.keep(view, memory) if stays else output.take(view, memory)
                memory.add(value)
            given.append(value)
        return given

    def transient_bytes(self, vm_context: Any, feeds: Sequence[np.ndarray | DeviceTensor]) -> int:
        """The bytes of the caller's buffer for intermediate results in a call with `feeds`."""
        self._bind(vm_context, feeds)
        return self._transients.size

    def _bind(
        self, vm_context: Any, feeds: Sequence[np.ndarray | DeviceTensor]
    ) -> tuple[Any, list[Any]]:
        """The argument list of a call, and the memory that it borrows."""
        if self._arguments is None:
            self._arguments = Arguments(self.slots, self._transients.buffers())
        bound = self._arguments.bind(feeds)
        if self._transients.fit(vm_context, [feed.shape for feed in feeds], bound[0]):
            self._arguments = Arguments(self.slots, self._transients.buffers())
            bound = self._arguments.bind(feeds)
        return bound
