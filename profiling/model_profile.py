"""The profile of a model, dispatch by dispatch."""

from typing import Any

from .rows import Measurements
from .table import format_profile
from .trace import to_trace


class Profile(Measurements):
    """The profile of a model's runs, made by `graphc.profile`."""

    def table(self, most: int | None = None) -> str:
        """A table with a line for each of the `most` slowest dispatches, by default all."""
        return format_profile(self, most)

    def trace(self) -> dict[str, Any]:
        """The events in Chrome's trace format, which Perfetto opens."""
        return to_trace(self)

    def __str__(self) -> str:
        return self.table()
