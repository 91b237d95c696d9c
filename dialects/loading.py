"""Dialects in MLIR contexts."""

import threading
from io import BytesIO
from typing import ClassVar

from ..mlir import ext, ir

_lock = threading.Lock()


class LoadableDialect(ext.Dialect, name="loadable"):
    """Base of our dialects: the definition is built from Python once and then loaded into each
    context."""

    _definition: ClassVar[tuple[int, bytes] | None] = None

    @classmethod
    def load(cls) -> None:
        """Register the dialect in the current context; a second call does nothing."""
        if ir.Context.current.is_dialect_loaded(cls.DIALECT_NAMESPACE):
            return
        with _lock:  # threads that compile have contexts of their own, and the class in common
            super().load()
            cls._mlir_module = None  # or the context, and every constant in it, would live on

    @classmethod
    def _emit_module(cls) -> ir.Module:
        """The IRDL definition: as bytecode it is there in a seventh of the time."""
        if cls._definition is None or cls._definition[0] != len(cls.operations):
            bytecode = BytesIO()
            super()._emit_module().operation.write_bytecode(bytecode)
            cls._definition = len(cls.operations), bytecode.getvalue()
        return ir.Module.parse(cls._definition[1])
