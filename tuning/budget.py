"""The time that a search may take, as users give it."""

import math
from typing import Any

from ..errors import UsageError

BUDGETS = {"quick": 30.0, "full": 600.0}
"""Seconds by name."""


def budget_seconds(tune: Any) -> float:
    """The seconds that ``tune="quick"``, ``"full"`` or a number means. Raises `UsageError`."""
    if isinstance(tune, str) and tune in BUDGETS:
        return BUDGETS[tune]
    if isinstance(tune, int | float) and not isinstance(tune, bool) and 0 < tune < math.inf:
        return float(tune)
    names = ", ".join(f'"{name}"' for name in BUDGETS)
    raise UsageError(f"tune is False, {names} or a positive number of seconds, not {tune!r}")
