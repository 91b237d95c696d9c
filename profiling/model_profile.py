"""Where the time of a run goes, dispatch by dispatch."""

from typing import Any

from .rows import Measurements
from .table import format_profile
from .trace import to_trace


class Profile(Measurements):
    """Where the time of a model's runs goes; `graphc.profile` makes it."""

    def table(self, most: int | None = None) -> str:
        """A line for each of the `most` slowest dispatches, all of them by default."""
        return format_profile(self, most)

    def trace(self) -> dict[str, Any]:
        """The events in the format of Chrome's traces, which Perfetto opens."""
        return to_trace(self)

    def __str__(self) -> str:
        return self.table()
