"""Types of MLIR's `dialects.irdl`, which defines dialects in the context of a module."""

from . import ir

def load_dialects(module: ir.Module) -> None: ...
