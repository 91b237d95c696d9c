"""Where comparisons of sizes look for what the form of a size does not show."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

prover: ContextVar[Callable[[Any], bool] | None] = ContextVar("prover", default=None)
"""Returns true for sizes (``int`` or `Dim`) that it knows to be 0 at least."""
