"""Sessions: one compiled module on one device, with minimal call overhead."""

import contextlib
import functools
import threading
import time
from collections.abc import Sequence

import numpy as np

from ...errors import UsageError
from ..device.buffers import hal_type
from ..device.device import Device, import_runtime, setup_lock, vm_instance
from ..device.device_tensor import DeviceTensor
from ..device.status_errors import STATUS_ERRORS, call_error, setup_error
from ..elements import ELEMENT_TYPES
from ..files.module_file import ModuleFile
from ..metadata import TensorSpec, require_tensors
from ..threads.caller_scheduling import give_way, stop_giving_way
from .execution_context import Lane, Plan, Program
from .memory_estimate import MOMENTS_KEY, describe, greatest_moment
from .size_expressions import names

_SPARE_LANES = 4
"""Maximum number of idle lanes that are kept; only one if a lane holds memory for intermediate
results. More lanes exist only while more calls run at once."""


class Session:
    """Runs the entry function of `file` on `device`.

    Calls from several threads overlap. A VM context allows that if the program has no mutable
    state beyond its initializers, as graphc's programs; each call has buffers of its own.
    """

    def __init__(self, file: ModuleFile, device: Device):
        self.device = device
        self._is_alone = device.threads == 1
        self._runtime = runtime = import_runtime()
        self._name = file.metadata.name
        self._failed = f"model '{self._name}' failed"
        self._specs = require_tensors(file.metadata.inputs)
        self._input_names = [spec.name for spec in self._specs]
        self._program: Program | None = _program(file)
        self._reflection = file.function.reflection
        self._spare_lanes = 1 if file.transients else _SPARE_LANES
        self._lock = threading.Lock()
        self._returned = threading.Condition(self._lock)
        self._closed = False
        self._lanes: list[Lane] = []
        self._made = 0
        """Number of lanes, idle or in use."""
        with setup_lock:
            try:
                hal_module = runtime.create_hal_module(vm_instance(), device.hal)
                self._context = runtime.VmContext(vm_instance(), [hal_module, file.module])
            except STATUS_ERRORS as error:
                raise setup_error(file.origin, device, error) from error

    def invoke(
        self, inputs: Sequence[np.ndarray | DeviceTensor], plan: Plan
    ) -> list[np.ndarray | DeviceTensor]:
        """Run the module; return one value for each output of `plan`.

        `inputs` must fit the module; nothing is checked. Returned arrays belong to the caller: they
        share no memory with the inputs, with each other or with a later call. All outputs outlive
        the session. Raises `ExecutionError`, and `DeviceError` if the device is unusable.
        """
        lane = self._enter()
        try:
            self.device.require_working()
            if self._is_alone:
                return lane.run(self._context, inputs, plan)
            return self._run(lane, inputs, plan)
        except STATUS_ERRORS as error:
            needs = functools.partial(self._needs, inputs)
            raise call_error(self._failed, self.device, error, self._input_names, needs) from error
        finally:
            self._leave(lane)

    def _run(self, lane: Lane, inputs: Sequence[np.ndarray | DeviceTensor], plan: Plan) -> list:
        """Run a call that workers share: with `give_way`, and timed for idle polling."""
        start = time.perf_counter()
        gives_way = give_way()
        try:
            outputs = lane.run(self._context, inputs, plan)
        finally:
            if gives_way:
                stop_giving_way()
        if self.device.polling is not None:
            self.device.polling.note_call(time.perf_counter() - start)
        return outputs

    def _needs(self, inputs: Sequence[np.ndarray | DeviceTensor]) -> str:
        """The message about the predicted memory of a run on `inputs`; empty if the module has no
        estimate."""
        text = self._reflection.get(MOMENTS_KEY)
        if text is None:
            return ""
        sizes = {
            name: size
            for spec, given in zip(self._specs, inputs, strict=True)
            for name, size in zip(spec.shape, given.shape, strict=True)
            if isinstance(name, str) and name
        }
        moment = greatest_moment(text, sizes)
        return "" if moment is None else describe(moment, sizes)

    def close(self) -> None:
        """Free the module. Waits for running calls."""
        with self._lock:
            self._closed = True
            self._returned.wait_for(lambda: len(self._lanes) == self._made)
            self._lanes, self._made = [], 0
            self._context = self._program = None

    def _enter(self) -> Lane:
        """Acquire a lane for a call. No lock is needed: list operations are atomic."""
        try:
            lane = self._lanes.pop()
        except IndexError:
            lane = self._make()
        if self._closed:  # once this is set, no lane is given out
            self._leave(lane)
            raise self._is_closed()
        return lane

    def _make(self) -> Lane:
        program = self._program
        if program is None:
            raise self._is_closed()
        lane = Lane(self.device, program)
        with self._lock:
            if self._closed:
                raise self._is_closed()
            self._made += 1
        return lane

    def _is_closed(self) -> UsageError:
        return UsageError(f"model '{self._name}' is closed")

    def _leave(self, lane: Lane) -> None:
        lanes = self._lanes
        lanes.append(lane)
        if self._closed or len(lanes) > self._spare_lanes:
            self._settle()

    def _settle(self) -> None:
        """Drop a surplus lane, and notify `close` of returned lanes."""
        with self._lock:
            if len(self._lanes) > self._spare_lanes and not self._closed:
                with contextlib.suppress(IndexError):  # other calls may have taken all of them
                    self._lanes.pop()
                    self._made -= 1
            self._returned.notify_all()


def _program(file: ModuleFile) -> Program:
    inputs = require_tensors(file.metadata.inputs)
    outputs = require_tensors(file.metadata.outputs)
    return Program(
        entry=file.function,
        inputs=[hal_type(ELEMENT_TYPES[spec.dtype].dtype) for spec in inputs],
        outputs=[ELEMENT_TYPES[spec.dtype].dtype for spec in outputs],
        into=file.into if _are_sized_by_shapes(inputs, outputs) else None,
        is_static=all(isinstance(size, int) for spec in inputs for size in spec.shape),
        transients=file.transients,
    )


def _are_sized_by_shapes(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> bool:
    """Return whether the shapes of the inputs determine the shapes of all outputs."""
    given = {size for spec in inputs for size in spec.shape}
    sizes = [size for spec in outputs for size in spec.shape if isinstance(size, str)]
    return all(size != "" and names(size) <= given for size in sizes)
