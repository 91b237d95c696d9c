"""Dialects in MLIR contexts."""

import threading
from io import BytesIO
from typing import ClassVar

from ..mlir import ext, ir, irdl

_lock = threading.Lock()


class LoadableDialect(ext.Dialect, name="loadable"):
    """Base of our dialects: the definition is built from Python once and then loaded into each
    context.

    The dialects define ops only: types and attributes would have to be registered in each context.
    """

    _definition: ClassVar[tuple[int, bytes] | None] = None
    """The number of ops, and their IRDL as bytecode, which is parsed in half the time of text."""

    @classmethod
    def load(cls) -> None:
        """Register the dialect in the current context; a second call does nothing."""
        if ir.Context.current.is_dialect_loaded(cls.DIALECT_NAMESPACE):
            return
        with _lock:  # threads that compile have contexts of their own, and the class in common
            kept = vars(cls).get("_definition")  # its own, not that of a base
            if kept is None or kept[0] != len(cls.operations):
                cls._define()
            else:
                cls._load_definition(kept[1])

    @classmethod
    def _define(cls) -> None:
        """Build the definition, register the classes, which all contexts share, and load it."""
        super().load()
        assert cls._mlir_module is not None
        bytecode = BytesIO()
        cls._mlir_module.operation.write_bytecode(bytecode)
        cls._definition = len(cls.operations), bytecode.getvalue()
        cls._mlir_module = None  # or the context, and every constant in it, would live on

    @classmethod
    def _load_definition(cls, bytecode: bytes) -> None:
        """Load `bytecode` into the current context: a fifth of the time of `ext.Dialect.load`."""
        irdl.load_dialects(ir.Module.parse(bytecode))
        for op in cls.operations:
            op._attach_traits()
