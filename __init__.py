"""graphc: a graph compiler whose every stage is Python.

    model = graphc.compile("model.onnx")     # or graphc.load("model.vmfb")
    y = model(x)

Names are imported when they are first used, so that ``graphc.load`` needs neither the compiler
nor ONNX.
"""

import importlib
import time
from typing import TYPE_CHECKING, Any

from . import aliases

if TYPE_CHECKING:
    from .compile_model import compile
    from .compiler.check import check
    from .compiler.entry_points import EntryModel, compile_entry_points
    from .compiler.explain import explain
    from .debugging import trace
    from .errors import GraphcError
    from .frontend.onnx import import_onnx
    from .passes.infra.pipeline import run_pipeline
    from .passes.infra.report import Report
    from .profiling import profile
    from .quantization import quantize
    from .runtime import (
        CompiledModel,
        DeviceTensor,
        TensorSpec,
        aligned_empty,
        load,
        load_entry_points,
    )

_IMPORTED = time.time_ns()
aliases.install()

"""`_IMPORTED`: earliest time at which running code was read from its sources, in ns since the
epoch."""

_EXPORTS = {
    "CompiledModel": ".runtime",
    "DeviceTensor": ".runtime",
    "EntryModel": ".compiler.entry_points",
    "GraphcError": ".errors",
    "Report": ".passes.infra.report",
    "TensorSpec": ".runtime",
    "aligned_empty": ".runtime",
    "check": ".compiler.check",
    "compile": ".compile_model",
    "compile_entry_points": ".compiler.entry_points",
    "explain": ".compiler.explain",
    "import_onnx": ".frontend.onnx",
    "load": ".runtime",
    "load_entry_points": ".runtime",
    "profile": ".profiling",
    "quantize": ".quantization",
    "run_pipeline": ".passes.infra.pipeline",
    "trace": ".debugging",
}

__all__ = [
    "CompiledModel",
    "DeviceTensor",
    "EntryModel",
    "GraphcError",
    "Report",
    "TensorSpec",
    "aligned_empty",
    "check",
    "compile",
    "compile_entry_points",
    "explain",
    "import_onnx",
    "load",
    "load_entry_points",
    "profile",
    "quantize",
    "run_pipeline",
    "trace",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'graphc' has no attribute '{name}'")
    value = getattr(importlib.import_module(_EXPORTS[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
