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
    from .compiler.explain import explain
    from .debugging import trace
    from .errors import GraphcError
    from .frontend.onnx import import_onnx
    from .passes.infra.pipeline import run_pipeline
    from .passes.infra.report import Report
    from .profiling import profile
    from .quantization import quantize
    from .runtime import CompiledModel, DeviceTensor, TensorSpec, aligned_empty, load

_IMPORTED = time.time_ns()
aliases.install()

"""`_IMPORTED`: earliest time at which running code was read from its sources, in ns since the
epoch."""

_EXPORTS = {
    "CompiledModel": ".runtime",
    "DeviceTensor": ".runtime",
    "GraphcError": ".errors",
    "Report": ".passes.infra.report",
    "TensorSpec": ".runtime",
    "aligned_empty": ".runtime",
    "check": ".compiler.check",
    "compile": ".compile_model",
    "explain": ".compiler.explain",
    "import_onnx": ".frontend.onnx",
    "load": ".runtime",
    "profile": ".profiling",
    "quantize": ".quantization",
    "run_pipeline": ".passes.infra.pipeline",
    "trace": ".debugging",
}

__all__ = [
    "CompiledModel",
    "DeviceTensor",
    "GraphcError",
    "Report",
    "TensorSpec",
    "aligned_empty",
    "check",
    "compile",
    "explain",
    "import_onnx",
    "load",
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
