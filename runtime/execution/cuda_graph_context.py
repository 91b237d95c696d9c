"""Runs of a launch plan for one caller at a time: its memory on the device, page-locked memory for
transfers, and its graphs."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..device.buffers import LOCAL, allocate, hal_type
from ..device.cuda_driver import CudaDriver, LaunchShape, Pointer
from ..device.device import Device, import_runtime
from ..device.device_tensor import DeviceTensor
from ..launch_plan.launch_plan import BufferRange, KernelLaunch, LaunchPlan
from .cuda_graph import CudaGraph, Transfer
from .execution_context import CallSpec


@dataclass(frozen=True)
class LoadedPlan:
    """A plan whose code and constants are on the device: `code` by kernel, `constants` by their
    place among the buffers. Outputs have `shapes` and `dtypes`."""

    plan: LaunchPlan
    code: tuple[LaunchShape, ...]
    constants: tuple[Pointer, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype, ...]

    def holds_alone(self, output: int) -> bool:
        """Return whether `output` has a buffer of its own, which only kernels use, so that a call
        can bring another one."""
        plan, found = self.plan, self.plan.outputs[output]
        is_transient = found.buffer >= len(plan.sizes) - len(plan.transients)
        is_alone = [each.buffer for each in plan.outputs].count(found.buffer) == 1
        is_used_by_kernels = all(
            isinstance(command, KernelLaunch) or found.buffer not in plan.buffers_of(command)
            for command in plan.commands
        )
        return is_transient and is_alone and not found.offset and is_used_by_kernels


class CudaGraphContext:
    """Runs a `loaded` plan; use it in the context of `driver`."""

    def __init__(self, driver: CudaDriver, device: Device, loaded: LoadedPlan):
        self._driver, self._device, self._loaded = driver, device, loaded
        self._alone = [loaded.holds_alone(n) for n in range(len(loaded.plan.outputs))]
        self._graphs: dict[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], CudaGraph] = {}
        self._memory: list[Pointer] = []
        self._host_memory: list[Pointer] = []
        self._staged_inputs: dict[int, np.ndarray] = {}
        self._staged_outputs: dict[int, np.ndarray] = {}
        self._stream = driver.create_stream()
        self._pointers: list[Pointer] = []
        """Memory of the plan's buffers that belongs to this context; 0 for none."""
        constants = loaded.constants
        try:
            self._pointers = [0] * len(loaded.plan.inputs) + list(constants)
            self._pointers += [self._allocate(size) for size in loaded.plan.transients]
        except BaseException:
            self.close()
            raise

    def run(
        self, feeds: Sequence[np.ndarray | DeviceTensor], call_spec: CallSpec
    ) -> list[np.ndarray | DeviceTensor]:
        """Run the plan; return one value for each output of `call_spec`."""
        device, plan = self._device, self._loaded.plan
        given = [_on_device(feed, device) for feed in feeds]
        sent = tuple(n for n, feed in enumerate(given) if feed is None and plan.inputs[n])
        here = tuple(n for n in call_spec.outputs if n not in call_spec.staying)
        staying = tuple(n for n in call_spec.outputs if n in call_spec.staying)
        results = {n: self._new_tensor(n) for n in staying}
        graph = self._graph(sent, here, staying)
        for number in sent:
            self._stage(number, feeds[number])
        for number, feed in enumerate(given):
            if feed is not None and plan.inputs[number]:
                graph.move(number, feed.device_pointer())
        for number, tensor in results.items():
            if self._alone[number]:
                graph.move(plan.outputs[number].buffer, tensor.device_pointer())
            elif plan.outputs[number].length:
                graph.download_to(number, tensor.device_pointer())
        graph.run(self._stream)
        return [results[n] if n in results else self._take(n) for n in call_spec.outputs]

    def close(self) -> None:
        """Free the memory and the graphs."""
        for graph in self._graphs.values():
            graph.close()
        for pointer in self._memory:
            self._driver.free(pointer)
        for pointer in self._host_memory:
            self._driver.free_host(pointer)
        self._driver.destroy_stream(self._stream)

    def _graph(
        self, sent: tuple[int, ...], here: tuple[int, ...], staying: tuple[int, ...]
    ) -> CudaGraph:
        """The graph for inputs `sent` from the host, outputs that are read `here`, and others."""
        key = sent, here, staying
        if key not in self._graphs:
            plan = self._loaded.plan
            pointers = list(self._pointers)
            for number in sent:
                self._make_input(number)
                pointers[number] = self._pointers[number]
            downloads = {
                n: Transfer(plan.outputs[n], 0 if n in staying else self._output(n))
                for n in (*here, *(n for n in staying if not self._alone[n]))
                if plan.outputs[n].length
            }
            self._graphs[key] = CudaGraph(
                self._driver, plan, self._loaded.code, pointers, self._uploads(sent), downloads
            )
        return self._graphs[key]

    def _uploads(self, sent: Sequence[int]) -> list[Transfer]:
        sizes = self._loaded.plan.inputs
        staged = [(n, _address(self._staged_inputs[n])) for n in sent]
        return [Transfer(BufferRange(n, 0, sizes[n]), at) for n, at in staged]

    def _make_input(self, number: int) -> None:
        """Make device memory for an input, and memory to send it from."""
        if number not in self._staged_inputs:
            size = self._loaded.plan.inputs[number]
            self._staged_inputs[number] = self._allocate_host(size)
            self._pointers[number] = self._allocate(size)

    def _output(self, number: int) -> Pointer:
        """The memory that an output is read from."""
        if number not in self._staged_outputs:
            size = self._loaded.plan.outputs[number].length
            self._staged_outputs[number] = self._allocate_host(size)
        return _address(self._staged_outputs[number])

    def _stage(self, number: int, value: np.ndarray | DeviceTensor) -> None:
        array = value.numpy() if isinstance(value, DeviceTensor) else value
        native = array.dtype.newbyteorder("=")
        staged = self._staged_inputs[number][: array.nbytes]
        np.copyto(staged.view(native).reshape(array.shape), array)

    def _take(self, number: int) -> np.ndarray:
        """A copy of an output, which is in memory of the host."""
        shape, dtype = self._loaded.shapes[number], self._loaded.dtypes[number]
        size = self._loaded.plan.outputs[number].length
        if not size:
            return np.empty(shape, dtype)
        return self._staged_outputs[number][:size].view(dtype).reshape(shape).copy()

    def _new_tensor(self, number: int) -> DeviceTensor:
        shape, dtype = self._loaded.shapes[number], self._loaded.dtypes[number]
        plan = self._loaded.plan
        found = plan.outputs[number]
        size = plan.sizes[found.buffer] if self._alone[number] else found.length
        buffer = allocate(self._device, size, LOCAL, "DEFAULT")
        view = import_runtime().HalBufferView(buffer, shape, hal_type(dtype))
        return DeviceTensor(self._device, view, dtype)

    def _allocate(self, size: int) -> Pointer:
        self._memory.append(self._driver.allocate(size))
        return self._memory[-1]

    def _allocate_host(self, size: int) -> np.ndarray:
        pointer = self._driver.allocate_host(size)
        self._host_memory.append(pointer)
        return np.ctypeslib.as_array((ctypes.c_uint8 * max(size, 1)).from_address(pointer))


def _on_device(feed: np.ndarray | DeviceTensor, device: Device) -> DeviceTensor | None:
    """`feed` if it is in the memory of `device`."""
    return feed if isinstance(feed, DeviceTensor) and feed.on(device) else None


def _address(array: np.ndarray) -> Pointer:
    return array.__array_interface__["data"][0]
