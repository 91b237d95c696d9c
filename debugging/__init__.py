"""What to do when something is wrong: look at values, compare them, and find what breaks them.

Nothing is imported until it is asked for: gc-run compares results without the compiler.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .trace import Step, Trace, trace

_EXPORTS = {"Step": "trace", "Trace": "trace", "trace": "trace"}

__all__ = ["Step", "Trace", "trace"]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_EXPORTS[name]}", __name__), name)
