"""Sessions on CUDA that run a module's launch plan as one graph, without IREE's runtime.

IREE submits the commands of a run one by one on a thread of its own, and signals their end through
a second one, and every transfer likewise: 0.1 to 0.2 ms for each. A graph is one call of the
driver.
"""

import math
import os
import threading
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from ...errors import ModuleFileError, UsageError
from ..device.cuda_driver import CudaDriver, LaunchShape, cuda_driver
from ..device.device import Device, setup_lock
from ..device.device_tensor import DeviceTensor
from ..device.status_errors import STATUS_ERRORS, call_error, setup_error
from ..elements import ELEMENT_TYPES
from ..files.module_file import ModuleFile
from ..launch_plan.cuda_executable import CudaExecutable, CudaKernelCode, read_executable
from ..launch_plan.launch_plan import KernelLaunch, LaunchPlan, NoLaunchPlan
from ..metadata import DONATED_KEY, require_tensors
from .cuda_graph_context import CudaGraphContext, LoadedPlan
from .execution_context import CallSpec

SWITCH = "GRAPHC_CUDA_GRAPHS"
"""Environment variable: ``1`` runs modules as graphs where they have a plan. It is off by default
as long as it has not been tried on a device."""
_SPARE_CONTEXTS = 1


def graph_plan(file: ModuleFile) -> LaunchPlan | str:
    """The launch plan by which `file` runs on CUDA, or the reason why it does not run by one."""
    plan = file.plan
    if os.environ.get(SWITCH) != "1":
        return f"{SWITCH} is not 1"
    if plan is None:
        return "the module has none: it was compiled by an earlier version"
    if isinstance(plan, NoLaunchPlan):
        return plan.reason
    if file.metadata.options.get(DONATED_KEY):
        return "inputs give their memory to outputs"
    outputs = require_tensors(file.metadata.outputs)
    if any(not isinstance(size, int) for spec in outputs for size in spec.shape):
        return "sizes of outputs are known only when it has run"
    return plan


class CudaGraphSession:
    """Runs the launch `plan` of `file` on `device`. Calls from several threads overlap."""

    def __init__(self, file: ModuleFile, plan: LaunchPlan, device: Device):
        self.device = device
        self._closed = True  # until it is open
        self._name = file.metadata.name
        self._input_names = [spec.name for spec in file.metadata.inputs]
        self._condition = threading.Condition()
        self._contexts: list[CudaGraphContext] = []
        self._running = 0
        with setup_lock:
            try:
                self._driver = cuda_driver(device.index)
                with self._driver.current(), ExitStack() as release:
                    self._loaded = _load(file, plan, self._driver, release)
                    self._release = release.pop_all()
            except STATUS_ERRORS as error:
                raise setup_error(file.origin, device, error) from error
        self._closed = False

    def invoke(
        self, inputs: Sequence[np.ndarray | DeviceTensor], call_spec: CallSpec
    ) -> list[np.ndarray | DeviceTensor]:
        """As `Session.invoke`."""
        try:
            self.device.require_working()
            with self._driver.current():
                context = self._enter()
                try:
                    return context.run(inputs, call_spec)
                finally:
                    self._leave(context)
        except STATUS_ERRORS as error:
            failed = f"model '{self._name}' failed"
            raise call_error(failed, self.device, error, self._input_names) from error

    def close(self) -> None:
        """Free the module. Waits for running calls."""
        with self._condition:
            self._closed = True
            self._condition.wait_for(lambda: not self._running)
            self._free()

    def _free(self) -> None:
        if self.device.lost or self.device.forked:
            return  # the driver has freed all of it, or it belongs to another process
        with self._driver.current():
            for context in self._contexts:
                context.close()
            self._contexts = []
            self._release.close()

    def _enter(self) -> CudaGraphContext:
        with self._condition:
            if self._closed:
                raise UsageError(f"model '{self._name}' is closed")
            self._running += 1
            if self._contexts:
                return self._contexts.pop()
        try:
            return CudaGraphContext(self._driver, self.device, self._loaded)
        except BaseException:
            self._count_down()
            raise

    def _leave(self, context: CudaGraphContext) -> None:
        with self._condition:
            if len(self._contexts) < _SPARE_CONTEXTS or self._closed:
                self._contexts.append(context)
            else:
                context.close()
        self._count_down()

    def _count_down(self) -> None:
        with self._condition:
            self._running -= 1
            self._condition.notify_all()

    def __del__(self) -> None:
        if not self._closed:
            self.close()


def _load(file: ModuleFile, plan: LaunchPlan, driver: CudaDriver, release: ExitStack) -> LoadedPlan:
    """Load code and constants; what frees them is added to `release`."""
    outputs = require_tensors(file.metadata.outputs)
    dtypes = tuple(ELEMENT_TYPES[spec.dtype].dtype for spec in outputs)
    shapes = tuple(tuple(int(size) for size in spec.shape) for spec in outputs)
    _check_signature(file, plan, shapes, dtypes)
    executable = CudaExecutable((), ())
    if plan.executable:
        executable = read_executable(_entry(file, plan.executable))
    kernels = _find_kernels(file, plan, executable)
    modules: list[int] = []
    for image in executable.images:
        modules.append(driver.load_image(image))
        release.callback(driver.unload_image, modules[-1])
    functions = [
        driver.find_function(modules[kernel.image], kernel.name, kernel.shared_bytes)
        for kernel in kernels
    ]
    code = [
        LaunchShape(function, (1, 1, 1), kernel.block, kernel.shared_bytes)
        for function, kernel in zip(functions, kernels, strict=True)
    ]
    constants: list[int] = []
    for each in plan.constants:
        data = _entry(file, each.entry)
        constants.append(driver.allocate(each.length))
        release.callback(driver.free, constants[-1])
        driver.upload(constants[-1], data)
    return LoadedPlan(plan, tuple(code), tuple(constants), shapes, dtypes)


def _find_kernels(
    file: ModuleFile, plan: LaunchPlan, executable: CudaExecutable
) -> list[CudaKernelCode]:
    """The code of the plan's kernels. Raises `ModuleFileError` if the plan does not fit it."""
    by_name = {kernel.name: kernel for kernel in executable.kernels}
    missing = [name for name in plan.kernels if name not in by_name]
    if missing:
        raise ModuleFileError(f"{file.origin}: its code lacks the kernel {missing[0]}")
    kernels = [by_name[name] for name in plan.kernels]
    for command in plan.commands:
        if isinstance(command, KernelLaunch):
            kernel = kernels[command.kernel]
            given = len(command.bindings), len(command.constants)
            if given != (kernel.bindings, kernel.constants):
                raise ModuleFileError(
                    f"{file.origin}: its launch plan gives {given[0]} buffers and {given[1]} "
                    f"numbers to the kernel {kernel.name}, which takes {kernel.bindings} and "
                    f"{kernel.constants}"
                )
    return kernels


def _check_signature(
    file: ModuleFile,
    plan: LaunchPlan,
    shapes: Sequence[tuple[int, ...]],
    dtypes: Sequence[np.dtype],
) -> None:
    """Raise `ModuleFileError` if the plan's inputs and outputs are not those of `file`."""
    inputs = require_tensors(file.metadata.inputs)
    taken = [_bytes(tuple(map(int, s.shape)), ELEMENT_TYPES[s.dtype].dtype) for s in inputs]
    given = [_bytes(*each) for each in zip(shapes, dtypes, strict=True)]
    fits = len(plan.inputs) <= len(taken) and given == [each.length for each in plan.outputs]
    if not fits or any(size > there for size, there in zip(plan.inputs, taken, strict=False)):
        raise ModuleFileError(f"{file.origin}: its launch plan is not that of its signature")


def _bytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    return math.prod(shape) * dtype.itemsize


def _entry(file: ModuleFile, name: str) -> memoryview:
    """An entry of the file's archive."""
    if name not in file.entries:
        raise ModuleFileError(f"{file.origin}: its launch plan names {name}, which it lacks")
    return file.entries[name]
