"""Dialects in MLIR contexts."""

from collections.abc import Callable

from ..mlir import ext, ir


def load_once(dialect: type[ext.Dialect], load: Callable[[], None]) -> None:
    """Have `load` register `dialect` in the current context, unless it is there already."""
    if ir.Context.current.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
        return
    load()
    dialect._mlir_module = None  # or the context, and every constant in it, would live on
