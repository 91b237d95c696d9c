"""The time that calls take by the size of their outputs, for models with loops.

A loop that data ends, such as that of a decoder, runs more often in one call than in another with
inputs of the same sizes, and its outputs are as much larger. So durations are compared at one size
of outputs, to which each is scaled by what calls take by size.
"""

import itertools
import statistics


class WorkModel:
    """Seconds as a linear function of the bytes of the outputs, by a fit that outliers do not
    change: the median of the slopes of all pairs of calls (Theil and Sen)."""

    def __init__(self) -> None:
        self._calls: list[tuple[int, float]] = []

    def record(self, size: int, seconds: float) -> None:
        """Record a call with outputs of `size` bytes."""
        self._calls.append((size, seconds))

    def at_median(self, size: int, seconds: float) -> float:
        """The duration of a call with outputs of the median size that was recorded, where one with
        outputs of `size` bytes took `seconds`."""
        sizes, durations = zip(*self._calls, strict=True)
        slope = self._slope()
        typical = statistics.median(sizes)
        start = statistics.median(t - slope * (s - typical) for s, t in self._calls)
        least = min(durations) / 2  # far outside of what was recorded, a line may end below 0
        return seconds * max(start, least) / max(start + slope * (size - typical), least)

    def _slope(self) -> float:
        pairs = itertools.combinations(self._calls, 2)
        slopes = [(t - u) / (s - r) for (r, u), (s, t) in pairs if r != s]
        return max(statistics.median(slopes), 0.0) if slopes else 0.0
