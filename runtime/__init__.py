"""How programs run: targets, the backend compiler, modules on disk, and models ready to run.

Nothing is imported until it is asked for, so that a tool that only compiles does not load the
runtime, and a program that only runs models does not load the compiler.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .child_process import ProgressEvent
    from .compiler import compile_module
    from .device_tensor import DeviceTensor
    from .discovery import DeviceInfo, find_devices
    from .hybrid import PartSpec
    from .memory import aligned_empty
    from .metadata import ModelMetadata, TensorSpec
    from .model import CompiledModel, load
    from .targets import Target, resolve_target
    from .values import ValueSpec

_EXPORTS = {
    "CompiledModel": "model",
    "DeviceInfo": "discovery",
    "DeviceTensor": "device_tensor",
    "ModelMetadata": "metadata",
    "PartSpec": "hybrid",
    "ProgressEvent": "child_process",
    "Target": "targets",
    "TensorSpec": "metadata",
    "ValueSpec": "values",
    "aligned_empty": "memory",
    "compile_module": "compiler",
    "find_devices": "discovery",
    "load": "model",
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
