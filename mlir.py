"""The one place that names the MLIR Python bindings.

The rest of graphc writes ``from .mlir import ir``; exchanging the wheel that carries the bindings
means editing this file alone.
"""

from torch_mlir import ir, passmanager, rewrite
from torch_mlir._mlir_libs._mlir import globals as _globals
from torch_mlir.dialects import arith, cf, ext, func, linalg, math, memref, scf, tensor, vector

# Where the bindings look for the op classes of a dialect: ours stand here. Without this they
# search the file system again at each op they hand to Python.
_globals.append_dialect_search_prefix(f"{__package__}.dialects")

__all__ = [
    "arith",
    "cf",
    "ext",
    "func",
    "ir",
    "linalg",
    "math",
    "memref",
    "passmanager",
    "rewrite",
    "scf",
    "tensor",
    "vector",
]
