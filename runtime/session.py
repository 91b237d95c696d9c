"""One compiled module on one device: arrays in, arrays out, and as little as possible between.

Most of the time of a small model is spent between the caller and the code. So small inputs are
copied into buffers that are made once and bound once; large ones are used where they lie if they
are aligned. Small outputs are copied out, large ones are handed out where the device wrote them.
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DeviceError, ExecutionError, ModuleFileError, UsageError
from .device import Device, import_runtime, setup_lock, vm_instance
from .elements import ELEMENT_TYPES
from .memory import ALIGNMENT, address, aligned_empty, overlap
from .metadata import require_tensors
from .module_file import ModuleFile

_STATUS_ERRORS = (RuntimeError, IndexError, ValueError)
"""What the runtime turns the status codes of a failed call into."""

_IN_PLACE = 1 << 15
"""Bytes from which using memory where it lies is cheaper than copying it."""


class Session:
    """Runs the entry function of `file` on `device`.

    A VM context allows one call at a time: calls from several threads take turns.
    """

    def __init__(self, file: ModuleFile, device: Device):
        self._runtime = runtime = import_runtime()
        self._name = file.metadata.name
        self._device = device
        self._function = file.function
        self._view_type = runtime.HalBufferView
        self._lock = threading.Lock()
        self._slots = [
            _InputSlot(runtime, device, ELEMENT_TYPES[spec.dtype].hal)
            for spec in require_tensors(file.metadata.inputs)
        ]
        self._outputs = [
            ELEMENT_TYPES[spec.dtype].dtype for spec in require_tensors(file.metadata.outputs)
        ]
        self._views: list[Any] = [None] * len(self._slots)
        self._arguments = runtime.VmVariantList(0)
        with setup_lock:
            try:
                hal_module = runtime.create_hal_module(vm_instance(), device.hal)
                self._context = runtime.VmContext(vm_instance(), [hal_module, file.module])
            except (RuntimeError, ValueError) as error:
                _refuse(file.origin, error)

    def invoke(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """One array per output. `inputs` must fit the module; nothing is checked here.

        The outputs belong to the caller: they share no memory with the inputs, with each other or
        with a later call, and outlive the session. Raises `ExecutionError`.
        """
        results = self._runtime.VmVariantList(len(self._outputs))
        with self._lock:
            if self._context is None:
                raise UsageError(f"model '{self._name}' is closed")
            if self._device.forked:
                self._device.refuse_forked()
            arguments = self._bind(inputs)
            try:
                self._context.invoke(self._function, arguments, results)
            except _STATUS_ERRORS as error:
                raise ExecutionError(f"model '{self._name}' failed: {error}") from error
            outputs: list[np.ndarray] = []
            for index, dtype in enumerate(self._outputs):
                view = results.get_as_object(index, self._view_type)
                outputs.append(self._take(view, dtype, inputs, outputs))
            return outputs

    def close(self) -> None:
        """Frees what the module holds. Waits for a call that is under way."""
        with self._lock:
            self._context = self._function = None
            self._views, self._slots, self._arguments = [], [], None

    def _bind(self, inputs: Sequence[np.ndarray]) -> Any:
        """The argument list of the call; that of the last call where nothing moved."""
        moved = False
        for index, array in enumerate(inputs):
            view = self._slots[index].place(array)
            if view is not self._views[index]:
                self._views[index] = view
                moved = True
        if moved:
            self._arguments = self._runtime.VmVariantList(len(inputs))
            for view in self._views:
                self._arguments.push_ref(view)
        return self._arguments

    def _take(
        self,
        view: Any,
        dtype: np.dtype,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
    ) -> np.ndarray:
        shape = view.shape
        if 0 in shape:
            return np.empty(shape, dtype)
        mapped = view.map()
        array = np.ndarray(shape, dtype, mapped)
        if array.nbytes < _IN_PLACE:
            return array.copy()
        # A model may return its input, or one value twice.
        others = [*inputs, *(slot.staging for slot in self._slots), *outputs]
        if any(other is not None and overlap(array, other) for other in others):
            return array.copy()
        owner = _DeviceMemory(address(array), array.nbytes, mapped, self._device)
        return np.asarray(owner).view(dtype).reshape(shape)


class _InputSlot:
    """Brings the arrays of one input to the device."""

    def __init__(self, runtime: Any, device: Device, element_type: str):
        self._runtime = runtime
        self._allocator = device.hal.allocator
        self._element_type = int(getattr(runtime.HalElementType, element_type))
        self._memory_type = runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE
        self._usage = runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING
        self.staging: np.ndarray | None = None
        self._staging_view: Any = None

    def place(self, array: np.ndarray) -> Any:
        """A buffer view with the contents of `array`."""
        if (
            array.nbytes >= _IN_PLACE
            and array.flags.c_contiguous
            and array.flags.writeable
            and array.dtype.isnative
            and address(array) % ALIGNMENT == 0
        ):
            return self._view(array)
        if self.staging is None or self.staging.shape != array.shape:
            self.staging = aligned_empty(array.shape, array.dtype.newbyteorder("="))
            self._staging_view = self._view(self.staging)
        np.copyto(self.staging, array)
        return self._staging_view

    def _view(self, array: np.ndarray) -> Any:
        buffer = self._allocator.import_host_allocation(array, self._memory_type, self._usage)
        return self._runtime.HalBufferView(buffer, array.shape, self._element_type)


class _DeviceMemory:
    """Memory of a device as numpy sees it; keeps buffer and device alive while arrays use it."""

    __slots__ = ("__array_interface__", "_device", "_mapped")

    def __init__(self, pointer: int, size: int, mapped: Any, device: Device):
        self._mapped = mapped
        self._device = device
        self.__array_interface__ = {
            "version": 3,
            "data": (pointer, False),
            "shape": (size,),
            "typestr": "|u1",
        }

    def __del__(self) -> None:
        # A buffer goes back to its device, so it must go first.
        self._mapped = None


def _refuse(origin: str, error: Exception) -> None:
    text = str(error)
    if "INCOMPATIBLE" in text:
        raise DeviceError(
            f"{origin}: the module was compiled for another device or architecture: {text}"
        ) from error
    raise ModuleFileError(f"{origin}: the module cannot be set up: {text}") from error
