"""Devices, one per driver and worker count, shared by all models of the process."""

import ctypes
import os
import re
import threading
import weakref
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from ...errors import DeviceError, DeviceLostError, UsageError
from ..threads.affinity import own_cpus, placed_workers
from ..threads.haltpoll import Haltpoll, may_poll
from ..threads.usable_cpus import usable_cpus
from .dlpack import HOST, DeviceType
from .mpi_environment import without_mpi

STACK_BYTES = 1 << 20
"""Stack size of a worker. Generated code keeps tiles and the spilled registers of unrolled loops
on the stack: more than the default of 128 KiB."""

_CACHED_BYTES = 1 << 30
_CACHED_BUFFERS = 64
_CACHING = {"local-sync": [f"caching:*=*;{_CACHED_BYTES};{_CACHED_BUFFERS}"]}
"""Allocator that keeps released buffers, of at most so many bytes together, for later calls that
need the same sizes. IREE's heap zeroes every buffer, which may take longer than the kernels that
write it. ``local-task`` has a pool of its own."""

# Creating an instance, a driver, a context or an executable writes unguarded process-wide state
# inside IREE, so that all of it happens under this lock. Running a model does not take it.
setup_lock = threading.RLock()


_DLPACK_TYPES = {
    "cuda": DeviceType.CUDA,
    "hip": DeviceType.ROCM,
    "metal": DeviceType.METAL,
    "vulkan": DeviceType.VULKAN,
}
_HELP = {
    "cuda": "install NVIDIA's driver",
    "hip": "install AMD's driver and the HIP runtime of ROCm",
    "metal": "the runtime's package for this system has no such driver",
    "vulkan": "install a driver for Vulkan 1.3, such as Mesa's",
}


@dataclass(eq=False)
class Device:
    """An opened HAL device.

    `threads` is the number of workers that share one call. Device memory is freed with the device,
    so an object that exposes device memory must hold a reference to the device. `index` is the
    driver's number of the device. `polling`, if any, must be notified of calls. `in_software` is
    set for a GPU device that is implemented on the CPU.
    """

    hal: Any
    threads: int
    driver: str = "local-sync"
    index: int = 0
    polling: Haltpoll | None = None
    in_software: bool = False
    forked: bool = False
    lost: bool = False
    _pinned: bool = False

    @property
    def is_local(self) -> bool:
        """True if the device works in host memory."""
        return self.driver.startswith("local-")

    @property
    def dlpack(self) -> tuple[DeviceType, int]:
        """DLPack's type and index of the device that owns the memory."""
        return HOST if self.is_local else (_DLPACK_TYPES[self.driver], self.index)

    def require_working(self) -> None:
        """Raise `DeviceError` in a forked child, and `DeviceLostError` once the device is lost."""
        if self.forked:  # a call would wait for workers forever
            raise DeviceError(
                "this process was forked after the model was loaded, and a device does not "
                "survive a fork: load the model in the child, or start it with 'spawn'"
            )
        if self.lost:
            raise DeviceLostError(
                f"{self} was lost in an earlier call, and what was on it is gone: bring tensors "
                "there again, in a new process if that fails"
            )

    def give_up(self) -> None:
        """Mark the device as lost: nothing runs on it again, and `open_device` opens a new one."""
        with setup_lock:
            self.lost = True
            for devices in (_devices, _in_software):
                for key in [key for key, device in devices.items() if device is self]:
                    del devices[key]

    def trim(self) -> None:
        """Return the memory of released buffers to the operating system."""
        if self.driver in _CACHING:
            self.hal.allocator.trim()

    def pin(self) -> None:
        """Keep the device alive for good: other libraries hold its memory for an unknown time."""
        with setup_lock:
            if not self._pinned:
                self._pinned = True
                import_runtime()._binding.disable_leak_checker()
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.hal))

    def __str__(self) -> str:
        if self.is_local:
            return "cpu"
        return f"{'rocm' if self.driver == 'hip' else self.driver}:{self.index}"


_instance: Any = None
_devices: dict[tuple[str, int], Device] = {}
"""Devices that stay open: opening one again may take longer than loading a model."""
_in_software: MutableMapping[tuple[str, int], Device] = weakref.WeakValueDictionary()
"""Software GPU devices, open only while in use: their threads keep cores busy even when idle."""


def _abandon_workers() -> None:
    """Disable all devices in a forked child: their threads were not forked.

    Every device has threads, even that of ``local-sync``. Freeing a device would wait for its
    threads to end, so each device gets a reference that is never released.
    """
    for device in [*_devices.values(), *_in_software.values()]:
        device.forked = True
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(device.hal))
    _devices.clear()
    _in_software.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_workers)


def vm_instance() -> Any:
    """The one `iree.runtime.VmInstance` of the process (types are registered per instance)."""
    global _instance
    with setup_lock:
        if _instance is None:
            _instance = import_runtime().VmInstance()
        return _instance


def open_device(driver: str, threads: int | None = None) -> Device:
    """The device of `driver`, made at the first call and then shared.

    `threads` applies to ``local-task`` only and defaults to the CPUs that this process may use.
    Each thread count has its own set of workers, so models opened with different counts coexist.
    One worker means ``local-sync``: the caller's own thread, with no hand-over.

    Raises `UsageError` for a count below 1, `DeviceError` where the device cannot be opened.
    """
    if driver == "local-task":
        threads = usable_cpus() if threads is None else threads
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise UsageError(f"threads must be a positive integer, not {threads!r}")
        if threads == 1:
            driver = "local-sync"
    else:
        threads = 1
    with setup_lock:
        key = driver, threads
        device = _devices.get(key) or _in_software.get(key)
        if device is None:
            device = _create(driver, threads, _CACHING.get(driver))
            (_in_software if device.in_software else _devices)[key] = device
        return device


def accounting_device(driver: str) -> Device:
    """Open an unshared device with allocator statistics, which keeps no released buffers.
    ``local-task`` has none, so ``local-sync`` is opened instead. Raises `DeviceError`."""
    with setup_lock:
        return _create("local-sync" if driver == "local-task" else driver, 1)


def _create(driver: str, threads: int, allocators: list[str] | None = None) -> Device:
    runtime = import_runtime()
    binding = runtime._binding
    try:
        if driver == "local-task":
            # The worker count is a process-wide flag, read when a driver is created. So the driver
            # must be new: the cached one keeps the count it was created with.
            runtime.flags.parse_flags(
                f"--task_topology_group_count={threads}", f"--task_worker_stack_size={STACK_BYTES}"
            )
        with placed_workers(threads if driver == "local-task" else 0), without_mpi():
            hal, index, name = _open_first(binding.create_hal_driver(driver), driver, allocators)
    except (RuntimeError, ValueError) as error:
        help_ = f"; {_HELP[driver]}" if driver in _HELP else ""
        raise DeviceError(f"cannot open device '{driver}': {brief(error)}{help_}") from error
    return Device(hal, threads, driver, index, _haltpoll(threads), is_software(name))


def _haltpoll(threads: int) -> Haltpoll | None:
    """A poller for several workers with a core each, unless a control group limits CPU time; else
    None."""
    cpus = own_cpus(threads)
    if threads == 1 or not cpus or usable_cpus() < threads or not may_poll():
        return None
    return Haltpoll(cpus)


def _open_first(driver: Any, name: str, allocators: list[str] | None) -> tuple[Any, int, str]:
    """Open the driver's first device; return it, its index, and its name."""
    devices = ranked_devices(driver)
    if not devices:
        raise ValueError("the driver finds no device")
    number = devices[0]["device_id"]
    # The runtime numbers CUDA and HIP devices from 1: its 0 stands for any device.
    index = number - 1 if name in ("cuda", "hip") else 0
    return driver.create_device(devices[0], allocators=allocators), index, devices[0]["name"]


def ranked_devices(driver: Any) -> list[dict[str, Any]]:
    """The devices that a runtime driver finds, software devices last."""
    return sorted(driver.query_available_devices(), key=lambda each: is_software(each["name"]))


def is_software(name: str) -> bool:
    """Return whether the device with that name is a GPU implemented in software, on the CPU."""
    return "llvmpipe" in name


def brief(error: Exception) -> str:
    """The first line of a runtime error, without its source location."""
    first = str(error).split("\n")[0].strip().removesuffix(":")
    return re.sub(r"^([\w ]+: )?\S*/runtime/src/iree/\S+:\d+: ", "", first)


def import_runtime() -> Any:
    """Import `iree.runtime` on first use. Raises `DeviceError` if it is not installed."""
    try:
        import iree.runtime
    except ImportError as error:
        raise DeviceError(
            f"running a model needs the package iree-base-runtime: {error}"
        ) from error
    return iree.runtime
