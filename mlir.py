"""Import of the MLIR Python bindings.

The rest of graphc writes ``from .mlir import ir``, so another wheel with the bindings requires a
change to this file only.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from torch_mlir import ir
from torch_mlir._mlir_libs._mlir import globals as _globals
from torch_mlir.dialects import ext, func, irdl

from .op_builders import dialect

_DIALECTS = f"{__package__}.dialects"
_WITHOUT_CLASSES = ("flow", "hal", "iree_linalg_ext", "iree_tensor_ext", "stream", "util")
"""The dialects of IREE, of whose ops there are no classes."""

# The package in which the bindings find the op classes of our dialects. Without this, and without
# an empty module for those that have none, they search the file system again for each op that is
# passed to Python.
_globals.append_dialect_search_prefix(_DIALECTS)
for _name in _WITHOUT_CLASSES:
    sys.modules.setdefault(f"{_DIALECTS}.{_name}", ModuleType(f"{_DIALECTS}.{_name}"))

_WHEN_WANTED = {
    **dict.fromkeys(("passmanager", "rewrite"), lambda name: import_module(f"torch_mlir.{name}")),
    **dict.fromkeys(
        (
            *("arith", "cf", "linalg", "llvm", "math", "memref", "nvgpu", "scf", "tensor"),
            "vector",
        ),
        dialect,
    ),
}
"""Modules that are imported on first use: `linalg` alone takes 0.1 s, and reading models needs none
of them."""

_OPS_ARE_BUILT = (
    *("arith", "bufferization", "cf", "func", "gpu", "irdl", "linalg", "llvm", "math", "memref"),
    *("nvgpu", "nvvm", "scf", "tensor", "ub", "vector"),
)
"""The dialects of MLIR whose ops graphc builds."""

__all__ = ["create_context", "ext", "func", "ir", "irdl"]


def create_context() -> Any:
    """A context with the dialects that programs of graphc may need; the parser and MLIR's passes
    load others where they meet them. `ir.Context()` loads all that are registered, and takes three
    times as long."""
    context: Any = ir.Context(load_on_create_dialects=())  # type: ignore[attr-defined]
    for name in _OPS_ARE_BUILT:
        context.get_dialect_descriptor(name)  # unlike `dialects[name]`, it imports no module
    return context


def __getattr__(name: str) -> Any:
    if name not in _WHEN_WANTED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = module = _WHEN_WANTED[name](name)
    return module
