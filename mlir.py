"""The one place that names the MLIR Python bindings.

The rest of graphc writes ``from .mlir import ir``; exchanging the wheel that carries the bindings
means editing this file alone.
"""

import importlib
from typing import Any

from torch_mlir import ir
from torch_mlir._mlir_libs._mlir import globals as _globals
from torch_mlir.dialects import ext, func

# Where the bindings look for the op classes of a dialect: ours stand here. Without this they
# search the file system again at each op they hand to Python.
_globals.append_dialect_search_prefix(f"{__package__}.dialects")

_WHEN_WANTED = {
    **dict.fromkeys(("passmanager", "rewrite"), "torch_mlir"),
    **dict.fromkeys(
        ("arith", "cf", "linalg", "llvm", "math", "memref", "scf", "tensor", "vector"),
        "torch_mlir.dialects",
    ),
}
"""Modules that are imported when they are first asked for: `linalg` alone takes a tenth of a
second, and who only reads models asks for none of them."""

__all__ = ["ext", "func", "ir"]


def __getattr__(name: str) -> Any:
    if name not in _WHEN_WANTED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{_WHEN_WANTED[name]}.{name}")
    globals()[name] = module
    return module
