"""One compiled module on one device: arrays in, arrays out, and as little as possible between."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DeviceError, ExecutionError, ModuleFileError, UsageError
from .device import Device, import_runtime, setup_lock, vm_instance
from .elements import ELEMENT_TYPES
from .local_memory import LocalInput, LocalOutput
from .metadata import require_tensors
from .module_file import ModuleFile
from .remote_memory import RemoteInput, RemoteOutput

_STATUS_ERRORS = (RuntimeError, IndexError, ValueError)
"""What the runtime turns the status codes of a failed call into."""


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
        input_type, output_type = (
            (LocalInput, LocalOutput) if device.is_local else (RemoteInput, RemoteOutput)
        )
        self._slots = [
            input_type(device, int(getattr(runtime.HalElementType, ELEMENT_TYPES[spec.dtype].hal)))
            for spec in require_tensors(file.metadata.inputs)
        ]
        self._outputs = [
            output_type(device, ELEMENT_TYPES[spec.dtype].dtype)
            for spec in require_tensors(file.metadata.outputs)
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
                raise ExecutionError(f"model '{self._name}' failed: {_text(error)}") from error
            used = [*inputs, *(slot.staging for slot in self._slots)]
            outputs: list[np.ndarray] = []
            for index, output in enumerate(self._outputs):
                array = output.take(results.get_as_object(index, self._view_type), used)
                outputs.append(array)
                used.append(array)
            return outputs

    def close(self) -> None:
        """Frees what the module holds. Waits for a call that is under way."""
        with self._lock:
            self._context = self._function = None
            self._views, self._slots, self._outputs, self._arguments = [], [], [], None

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


def _text(error: Exception) -> str:
    text = str(error)
    if "resolved to an empty buffer range" in text:
        return f"on Vulkan, nothing is computed with tensors that have no elements ({text})"
    return text


def _refuse(origin: str, error: Exception) -> None:
    text = str(error)
    if "INCOMPATIBLE" in text:
        raise DeviceError(
            f"{origin}: the module was compiled for another device or architecture: {text}"
        ) from error
    raise ModuleFileError(f"{origin}: the module cannot be set up: {text}") from error
