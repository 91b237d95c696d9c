"""Synchronization with the producer of a DLPack tensor, on devices with streams.

In DLPack the producer orders its work before a stream that the consumer names. The runtime does not
expose its streams, so that is the default stream, and the host waits for it.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from .device import Device
from .dlpack import DeviceType

LEGACY_STREAM = {DeviceType.CUDA: 1, DeviceType.ROCM: 0}
"""The default stream as `__dlpack__` takes it."""

_LIBRARIES = {"cuda": ("libcuda.so.1", "nvcuda.dll"), "hip": ("libamdhip64.so", "amdhip64.dll")}


def wait_for_producer(device: Device) -> None:
    """Wait for the default stream of `device`; other threads go on. Raises `RuntimeError`."""
    library = load_library(device.driver)
    (_wait_cuda if device.driver == "cuda" else _wait_hip)(library, device.index)


def load_library(driver: str) -> Any:
    """The driver's library, which the runtime has already loaded. Raises `RuntimeError`."""
    problems = []
    for name in _LIBRARIES[driver]:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            problems.append(str(error))
    raise RuntimeError("; ".join(problems))


def _wait_cuda(cuda: Any, index: int) -> None:
    """Wait in the device's primary context, which the runtime and other libraries share."""
    call = _checked(cuda, "CUDA")
    context = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(index))
    try:
        call("cuCtxPushCurrent_v2", context)
        try:
            call("cuStreamSynchronize", ctypes.c_void_p(LEGACY_STREAM[DeviceType.CUDA]))
        finally:
            call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
    finally:
        call("cuDevicePrimaryCtxRelease_v2", ctypes.c_int(index))


def _wait_hip(hip: Any, index: int) -> None:
    """Wait with the thread's current device set to `index`, and restore it."""
    call = _checked(hip, "HIP")
    current = ctypes.c_int()
    call("hipGetDevice", ctypes.byref(current))
    call("hipSetDevice", ctypes.c_int(index))
    try:
        call("hipStreamSynchronize", ctypes.c_void_p(LEGACY_STREAM[DeviceType.ROCM]))
    finally:
        call("hipSetDevice", current)


def _checked(library: Any, name: str) -> Callable[..., None]:
    def call(function: str, *arguments: Any) -> None:
        if status := getattr(library, function)(*arguments):
            raise RuntimeError(f"{function} failed with {name}'s error {status}")

    return call
