"""Debugging of wrong results: tracing, verification, bisection, reduction.

Names are imported on first use: gc-run compares results without the compiler.
"""

import importlib
from typing import TYPE_CHECKING, Any

from .. import aliases

if TYPE_CHECKING:
    from .bisection import bisect
    from .bisection_result import BisectionResult
    from .reduction import Reduced, reduce
    from .tracing import Step, Trace, trace
    from .verification import verify
    from .verification_result import Verification

_EXPORTS = {
    "BisectionResult": "bisection_result",
    "Reduced": "reduction",
    "Step": "tracing",
    "Trace": "tracing",
    "Verification": "verification_result",
    "bisect": "bisection",
    "reduce": "reduction",
    "trace": "tracing",
    "verify": "verification",
}

__all__ = [
    "BisectionResult",
    "Reduced",
    "Step",
    "Trace",
    "Verification",
    "bisect",
    "reduce",
    "trace",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        return aliases.attribute(__name__, name)
    return getattr(importlib.import_module(f".{_EXPORTS[name]}", __name__), name)
