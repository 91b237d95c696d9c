"""Translation of the runtime's errors to graphc's."""

import re
from collections.abc import Callable, Sequence

from ...errors import (
    DeviceError,
    DeviceLostError,
    ExecutionError,
    GraphcError,
    ModuleFileError,
    OutOfMemoryError,
)
from .device import Device

STATUS_ERRORS = (RuntimeError, IndexError, ValueError, MemoryError)
"""Exceptions for the status codes of the runtime, and numpy's `MemoryError`."""

_LOST = re.compile(
    r"VK_ERROR_DEVICE_LOST"
    r"|DATA_LOSS; while invoking native function hal\.fence\.await"  # Vulkan's, seen by the waiter
    r"|CUDA_ERROR_(ILLEGAL_ADDRESS|ILLEGAL_INSTRUCTION|MISALIGNED_ADDRESS|INVALID_ADDRESS_SPACE"
    r"|INVALID_PC|HARDWARE_STACK_ERROR|ASSERT|LAUNCH_FAILED|LAUNCH_TIMEOUT|ECC_UNCORRECTABLE"
    r"|NVLINK_UNCORRECTABLE|CONTEXT_IS_DESTROYED)"
    r"|hipError(IllegalAddress|ECCNotCorrectable|LaunchFailure|LaunchTimeOut|Assert"
    r"|ContextIsDestroyed)"
)
_FOREIGN = re.compile(
    r"INCOMPATIBLE"
    r"|CUDA_ERROR_(NO_BINARY_FOR_GPU|INVALID_IMAGE|INVALID_PTX|INVALID_SOURCE)"
    r"|hipError(NoBinaryForGpu|InvalidImage|InvalidKernelFile|InvalidSource)"
)
_MEMORY = "RESOURCE_EXHAUSTED"
_REQUIRED = re.compile(r"FAILED_PRECONDITION; (?P<node>[^:]+): (?P<problem>.*?);?\s*$", re.DOTALL)
"""A failed run-time check of the program, at a node of the model."""
_INPUT = re.compile(
    r"INVALID_ARGUMENT; input(?P<input>\d+) shape dimension (?P<axis>\d+) mismatch; "
    r"expected (?P<wanted>\d+) but have (?P<size>\d+)"
)


def call_error(
    failed: str,
    device: Device,
    error: Exception,
    inputs: Sequence[str] = (),
    needs: Callable[[], str] = str,
) -> GraphcError:
    """The graphc error for a failed call on `device`; `failed` reads "model 'x' failed".

    A lost device is given up. `inputs` are the names of the model's inputs, in order; `needs`
    describes the predicted memory use, if known.
    """
    text = str(error)
    if _is_lost(device, text):
        return _lost(failed, device, text)
    if _MEMORY in text or isinstance(error, MemoryError):
        return OutOfMemoryError(f"{failed}: {out_of_memory(device, needs())} ({text})")
    if "resolved to an empty buffer range" in text:
        text = f"on Vulkan, nothing is computed with tensors that have no elements ({text})"
    if required := _REQUIRED.search(text):
        return ExecutionError(f"{failed} at node {required['node']}: {required['problem']}")
    if (found := _INPUT.search(text)) and int(found["input"]) < len(inputs):
        text = (
            f"input '{inputs[int(found['input'])]}' has {found['size']} elements along axis "
            f"{found['axis']}, where the nodes that take it need {found['wanted']}"
        )
    return ExecutionError(f"{failed}: {text}")


def _is_lost(device: Device, text: str) -> bool:
    return not device.is_local and _LOST.search(text) is not None


def _lost(failed: str, device: Device, text: str) -> DeviceLostError:
    device.give_up()
    return DeviceLostError(
        f"{failed}: {device} was lost in mid-run, by a fault, a limit on time, or because it "
        "went away; what was on it is gone: bring tensors there again, in a new process if that "
        f"fails ({text})"
    )


def out_of_memory(device: Device, needs: str = "") -> str:
    """The message for exhausted memory: the device, what it `needs` if known, and a remedy."""
    known = f"; {needs}" if needs else ""
    return (
        f"there is no memory for it on {device}{known}: use smaller inputs, or close models and "
        "drop tensors that are no longer needed"
    )


def setup_error(origin: str, device: Device, error: Exception) -> GraphcError:
    """The graphc error for a module of the file `origin` that cannot be loaded on `device`.

    A lost device is given up.
    """
    text = str(error)
    if _is_lost(device, text):
        return _lost(origin, device, text)
    if "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" in text:
        return DeviceError(f"{origin}: NVIDIA's driver is too old for the module: {text}")
    if _FOREIGN.search(text):
        return DeviceError(
            f"{origin}: the module was compiled for another device or architecture; compile the "
            f"model for the one that is here (gc-run --list-devices): {text}"
        )
    if _MEMORY in text or isinstance(error, MemoryError):
        return OutOfMemoryError(f"{origin}: {out_of_memory(device)} ({text})")
    return ModuleFileError(f"{origin}: the module cannot be set up: {text}")
