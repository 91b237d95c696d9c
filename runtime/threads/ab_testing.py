"""Online A/B tests: of two ways to run calls, the one that takes less time is found and kept."""

import threading
from collections.abc import Callable, Sequence

Statistic = Callable[[Sequence[float]], float]


class ABTest:
    """Compares the durations of calls that run in way A with those in way B.

    `windows` of `window` calls each alternate between the ways, A first, so that a temporary
    slowdown of the machine affects both; the first calls of a window, `ignored`, do not count. B
    wins if the `statistic` of its durations is smaller. The test begins anew after `hold` further
    calls, if given. Several threads may record calls.
    """

    def __init__(
        self,
        statistic: Statistic,
        *,
        windows: int,
        window: int,
        ignored: int,
        hold: int | None = None,
    ):
        self._statistic = statistic
        self._window, self._ignored, self._hold = window, ignored, hold
        self._total = windows * window
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._calls = 0
        self.is_over = False
        """True once `uses_b` is the result."""
        self.uses_b = False
        """True if the next call is to run in way B: a part of the test or, afterwards, its
        result."""
        self.seconds: tuple[list[float], list[float]] = ([], [])
        """The durations that count, of A and of B."""

    def record(self, is_b: bool, seconds: float) -> None:
        """Record a call in way B, or A, that took `seconds`.

        Until the test is over, one in the other way than `uses_b` is not counted: it began before
        the latest window.
        """
        with self._lock:
            if self.is_over:
                self._calls += 1
                if self._hold is not None and self._calls == self._total + self._hold:
                    self._begin()
            elif is_b == self.uses_b:
                self._count(seconds)

    def _count(self, seconds: float) -> None:
        if self._calls % self._window >= self._ignored:
            self.seconds[self.uses_b].append(seconds)
        self._calls += 1
        if self._calls < self._total:
            self.uses_b = self._calls // self._window % 2 == 1
        else:
            a, b = map(self._statistic, self.seconds)
            self.uses_b = b < a
            self.is_over = True
