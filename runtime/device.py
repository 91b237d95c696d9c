"""Devices, one per driver and worker count, shared by all models of the process."""

import ctypes
import os
import re
import threading
from dataclasses import dataclass
from typing import Any

from ..errors import DeviceError, UsageError
from .affinity import placed_workers
from .cpu import usable_cpus

STACK_BYTES = 1 << 20
"""Of each worker. The backend keeps tiles on the stack, and the spilled registers of unrolled
loops come on top: more than the 128 KiB that a worker has by default."""

# Creating an instance, a driver, a context or an executable writes unguarded process-wide state
# inside IREE, so that all of it happens under this lock. Running a model does not take it.
setup_lock = threading.RLock()


@dataclass
class Device:
    """An opened HAL device.

    `threads` is the number of workers that share one call. Device memory dies with the device, so
    whoever hands out memory of it keeps a reference to it. `is_local` says that it is the process's
    own memory.
    """

    hal: Any
    threads: int
    is_local: bool = True
    forked: bool = False

    def refuse_forked(self) -> None:
        """Raises `DeviceError`: in a forked child, a call would wait for workers forever."""
        raise DeviceError(
            "this process was forked after the model was loaded, and a device does not "
            "survive a fork: load the model in the child, or start it with 'spawn'"
        )


_instance: Any = None
_devices: dict[tuple[str, int], Device] = {}


def _abandon_workers() -> None:
    """In a forked child: the threads stayed behind, so no device can be used or even freed.

    Every device has threads, that of ``local-sync`` too. Freeing it would wait for them to end, so
    each gets a reference that nobody gives back.
    """
    for device in _devices.values():
        device.forked = True
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(device.hal))
    _devices.clear()


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

    `threads` counts for ``local-task`` alone and defaults to the processors this process may use.
    Each count has its own set of workers, so that models opened with different counts live side by
    side. One worker means ``local-sync``: the caller's own thread, with no hand-over.

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
        device = _devices.get((driver, threads))
        if device is None:
            device = _devices[driver, threads] = _create(driver, threads)
        return device


def accounting_device(driver: str) -> Device:
    """A device that nobody else has, and that keeps an account of what is allocated on it: with
    workers the processor keeps none. Raises `DeviceError`."""
    with setup_lock:
        return _create("local-sync" if driver == "local-task" else driver, 1)


def _create(driver: str, threads: int) -> Device:
    runtime = import_runtime()
    binding = runtime._binding
    try:
        if driver == "local-task":
            # The worker count is a process-wide flag, read when a driver is created. So the driver
            # must be new: the cached one keeps the count of whoever came first.
            runtime.flags.parse_flags(
                f"--task_topology_group_count={threads}", f"--task_worker_stack_size={STACK_BYTES}"
            )
        with placed_workers(threads if driver == "local-task" else 0):
            hal = _open_first(binding.create_hal_driver(driver))
    except (RuntimeError, ValueError) as error:
        raise DeviceError(f"cannot open device '{driver}': {brief(error)}") from error
    return Device(hal, threads, is_local=driver.startswith("local-"))


def _open_first(driver: Any) -> Any:
    devices = ranked_devices(driver)
    if not devices:
        raise ValueError("the driver finds no device")
    return driver.create_device(devices[0])


def ranked_devices(driver: Any) -> list[dict[str, Any]]:
    """What a driver of the runtime's finds, devices in software last."""
    return sorted(driver.query_available_devices(), key=lambda each: is_software(each["name"]))


def is_software(name: str) -> bool:
    """Whether nothing but the processor itself works behind the device that calls itself so."""
    return "llvmpipe" in name


def brief(error: Exception) -> str:
    """The first line of what the runtime says, without the place in its source."""
    first = str(error).split("\n")[0].strip().removesuffix(":")
    return re.sub(r"^(Error creating driver: )?\S*/runtime/src/iree/\S+:\d+: ", "", first)


def import_runtime() -> Any:
    """`iree.runtime`, imported when it is first needed. Raises `DeviceError` if not installed."""
    try:
        import iree.runtime
    except ImportError as error:
        raise DeviceError(
            f"running a model needs the package iree-base-runtime: {error}"
        ) from error
    return iree.runtime
