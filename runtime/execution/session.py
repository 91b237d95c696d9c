"""Sessions: one compiled module on one device, with minimal call overhead."""

import contextlib
import functools
import threading
import time
from collections.abc import Sequence

import numpy as np

from ...errors import UsageError
from ..device.buffers import hal_type
from ..device.device import Device
from ..device.device_tensor import DeviceTensor
from ..device.memory import ALIGNMENT, ARRAY_ALIGNMENT
from ..device.status_errors import STATUS_ERRORS, call_error, setup_error
from ..elements import ELEMENT_TYPES
from ..files.module_file import ModuleFile
from ..metadata import ALIGNMENT_KEY, DONATED_KEY, ModelMetadata, TensorSpec, require_tensors
from ..threads.caller_scheduling import enter_batch_class, leave_batch_class
from .execution_context import CallSpec, EntryPoint, ExecutionContext
from .memory_estimate import LIVE_SETS_KEY, describe, largest_live_set
from .size_expressions import names

_SPARE_CONTEXTS = 4
"""Maximum number of idle contexts that are kept; only one if a context holds memory for
intermediate results. More contexts exist only while more calls run at once."""

_CALLS_BETWEEN_TRIMS = 256
"""Number of calls after which the device drops released buffers: those of sizes that are no longer
needed would stay otherwise, until others find no room."""

_CALLS_OF_OTHER_SIZES = 4
"""The same for calls that each need other sizes than the one before: all of their buffers stay."""


class Session:
    """Runs the entry function of `file` on `device`.

    Calls from several threads overlap. A VM context allows that if the program has no mutable
    state beyond its initializers, as graphc's programs; each call has buffers of its own.
    """

    def __init__(self, file: ModuleFile, device: Device):
        self.device = device
        self._program = file.program
        self._is_alone = device.threads == 1
        self._name = file.metadata.name
        self._failed = f"model '{self._name}' failed"
        self._specs = require_tensors(file.metadata.inputs)
        self._input_names = [spec.name for spec in self._specs]
        entry_point = _entry_point(file)
        self._entry_point: EntryPoint | None = entry_point
        self._is_static = entry_point.is_static
        self._is_sized_by_shapes = entry_point.is_sized_by_shapes
        self._reflection = file.function.reflection
        self._spare_contexts = 1 if file.transients.buffers else _SPARE_CONTEXTS
        self._lock = threading.Lock()
        self._returned = threading.Condition(self._lock)
        self._closed = False
        self._contexts: list[ExecutionContext] = []
        self._made = 0
        """Number of contexts, idle or in use."""
        self._calls = 0
        """Number of calls since the last trim, one of other sizes counted as several. Calls side by
        side may count as one."""
        self._shapes: list[tuple[int, ...]] = []
        """Shapes of the inputs of the last call."""
        try:
            self._vm_context = self._program.acquire(device)
        except STATUS_ERRORS as error:
            raise setup_error(file.origin, device, error) from error

    def invoke(
        self, inputs: Sequence[np.ndarray | DeviceTensor], call_spec: CallSpec
    ) -> list[np.ndarray | DeviceTensor]:
        """Run the module; return one value for each output of `call_spec`.

        `inputs` must fit the module; nothing is checked. Returned arrays belong to the caller: they
        share no memory with the inputs, with each other or with a later call. All outputs outlive
        the session. Raises `ExecutionError`, and `DeviceError` if the device is unusable.
        """
        context = self._enter()
        try:
            self.device.require_working()
            if self._is_alone:
                self._count_call(inputs)
                return context.run(self._vm_context, inputs, call_spec)
            return self._run(context, inputs, call_spec)
        except STATUS_ERRORS as error:
            needs = functools.partial(self._needs, inputs)
            raise call_error(self._failed, self.device, error, self._input_names, needs) from error
        finally:
            self._leave(context)

    def _run(
        self,
        context: ExecutionContext,
        inputs: Sequence[np.ndarray | DeviceTensor],
        call_spec: CallSpec,
    ) -> list:
        """Run a call that workers share: with `enter_batch_class`, and timed for idle polling."""
        start = time.perf_counter()
        is_batch = enter_batch_class()
        try:
            outputs = context.run(self._vm_context, inputs, call_spec)
        finally:
            if is_batch:
                leave_batch_class()
        if self.device.polling is not None:
            self.device.polling.record_call(time.perf_counter() - start)
        return outputs

    def _count_call(self, inputs: Sequence[np.ndarray | DeviceTensor]) -> None:
        """Trim the device now and then."""
        shapes = [] if self._is_static else [given.shape for given in inputs]
        if shapes == self._shapes and self._is_sized_by_shapes:
            self._calls += 1
        else:
            self._calls += _CALLS_BETWEEN_TRIMS // _CALLS_OF_OTHER_SIZES
            self._shapes = shapes
        if self._calls >= _CALLS_BETWEEN_TRIMS:
            self._calls = 0
            self.device.trim()

    def _needs(self, inputs: Sequence[np.ndarray | DeviceTensor]) -> str:
        """The message about the predicted memory of a run on `inputs`; empty if the module has no
        estimate."""
        text = self._reflection.get(LIVE_SETS_KEY)
        if text is None:
            return ""
        sizes = {
            name: size
            for spec, given in zip(self._specs, inputs, strict=True)
            for name, size in zip(spec.shape, given.shape, strict=True)
            if isinstance(name, str) and name
        }
        live_set = largest_live_set(text, sizes)
        return "" if live_set is None else describe(live_set, sizes)

    def close(self) -> None:
        """Free the module. Waits for running calls."""
        with self._lock:
            self._closed = True
            self._returned.wait_for(lambda: len(self._contexts) == self._made)
            self._contexts, self._made = [], 0
            if self._vm_context is not None:
                self._program.release(self.device)
            self._vm_context = self._entry_point = None
        self.device.trim()

    def transient_bytes(self, inputs: Sequence[np.ndarray | DeviceTensor]) -> int:
        """The bytes that a call with `inputs` takes from its caller for intermediate results."""
        context = self._enter()
        try:
            return context.transient_bytes(self._vm_context, inputs)
        finally:
            self._leave(context)

    def _enter(self) -> ExecutionContext:
        """Acquire a context for a call. No lock is needed: list operations are atomic."""
        try:
            context = self._contexts.pop()
        except IndexError:
            context = self._make()
        if self._closed:  # once this is set, no context is given out
            self._leave(context)
            raise self._is_closed()
        return context

    def _make(self) -> ExecutionContext:
        entry_point = self._entry_point
        if entry_point is None:
            raise self._is_closed()
        context = ExecutionContext(self.device, entry_point)
        with self._lock:
            if self._closed:
                raise self._is_closed()
            self._made += 1
        return context

    def _is_closed(self) -> UsageError:
        return UsageError(f"model '{self._name}' is closed")

    def _leave(self, context: ExecutionContext) -> None:
        contexts = self._contexts
        contexts.append(context)
        if self._closed or len(contexts) > self._spare_contexts:
            self._settle()

    def _settle(self) -> None:
        """Drop a surplus context, and notify `close` of returned contexts."""
        with self._lock:
            if len(self._contexts) > self._spare_contexts and not self._closed:
                with contextlib.suppress(IndexError):  # other calls may have taken all of them
                    self._contexts.pop()
                    self._made -= 1
            self._returned.notify_all()


def _entry_point(file: ModuleFile) -> EntryPoint:
    inputs = require_tensors(file.metadata.inputs)
    outputs = require_tensors(file.metadata.outputs)
    is_sized_by_shapes = _are_sized_by_shapes(inputs, outputs)
    return EntryPoint(
        entry=file.function,
        inputs=[hal_type(ELEMENT_TYPES[spec.dtype].dtype) for spec in inputs],
        outputs=[ELEMENT_TYPES[spec.dtype].dtype for spec in outputs],
        into=file.into if is_sized_by_shapes else None,
        is_sized_by_shapes=is_sized_by_shapes,
        is_static=all(isinstance(size, int) for spec in inputs for size in spec.shape),
        donated=frozenset(file.metadata.options.get(DONATED_KEY, ())),
        alignment=_alignment(file.metadata),
        transients=file.transients,
        into_transients=file.into_transients,
    )


def _alignment(metadata: ModelMetadata) -> int:
    """The alignment that a module requires of arrays, in bytes."""
    says_less = metadata.options.get(ALIGNMENT_KEY) == ARRAY_ALIGNMENT
    return ARRAY_ALIGNMENT if says_less else ALIGNMENT


def _are_sized_by_shapes(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> bool:
    """Return whether the shapes of the inputs determine the shapes of all outputs."""
    given = {size for spec in inputs for size in spec.shape}
    sizes = [size for spec in outputs for size in spec.shape if isinstance(size, str)]
    return all(size != "" and names(size) <= given for size in sizes)
