"""The runtime: targets, the backend compiler, modules on disk, and models ready to run.

Names are imported on first use, so that a tool that only compiles does not load the runtime, and a
program that only runs models does not load the compiler.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .device.device_tensor import DeviceTensor
    from .device.discovery import DeviceInfo, find_devices
    from .device.memory import aligned_empty
    from .execution.hybrid import PartSpec
    from .iree_compile.child_process import ProgressEvent
    from .iree_compile.compiler import compile_module
    from .loading import load, load_entry_points
    from .metadata import ModelMetadata, TensorSpec
    from .model import CompiledModel
    from .targets import Target, resolve_target
    from .values import ValueSpec

_EXPORTS = {
    "CompiledModel": "model",
    "DeviceInfo": "device.discovery",
    "DeviceTensor": "device.device_tensor",
    "ModelMetadata": "metadata",
    "PartSpec": "execution.hybrid",
    "ProgressEvent": "iree_compile.child_process",
    "Target": "targets",
    "TensorSpec": "metadata",
    "ValueSpec": "values",
    "aligned_empty": "device.memory",
    "compile_module": "iree_compile.compiler",
    "find_devices": "device.discovery",
    "load": "loading",
    "load_entry_points": "loading",
    "resolve_target": "targets",
}

__all__ = [
    "CompiledModel",
    "DeviceInfo",
    "DeviceTensor",
    "ModelMetadata",
    "PartSpec",
    "ProgressEvent",
    "Target",
    "TensorSpec",
    "ValueSpec",
    "aligned_empty",
    "compile_module",
    "find_devices",
    "load",
    "load_entry_points",
    "resolve_target",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_EXPORTS[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
