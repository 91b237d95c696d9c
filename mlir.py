"""The one place that names the MLIR Python bindings.

The rest of graphc writes ``from .mlir import ir``; exchanging the wheel that carries the bindings
means editing this file alone.
"""

from torch_mlir import ir, passmanager, rewrite
from torch_mlir.dialects import arith, ext, func, linalg, math, memref, scf, tensor, vector

__all__ = [
    "arith",
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
