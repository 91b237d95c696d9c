"""Times and rates of a generation."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

_PROBE_BYTES = 256 << 20
_PROBES = 4


@dataclass
class GenerationStatistics:
    """Numbers of tokens, and the times at which they came, in seconds."""

    prompt_tokens: int = 0
    begin: float = field(default_factory=time.perf_counter)
    arrivals: list[float] = field(default_factory=list)

    def start(self, prompt_tokens: int) -> None:
        """Begin to measure, with a prompt of so many tokens that are to be computed."""
        self.prompt_tokens, self.begin, self.arrivals = prompt_tokens, time.perf_counter(), []

    def record_token(self) -> None:
        """Record that a token has come."""
        self.arrivals.append(time.perf_counter())

    @property
    def time_to_first_token(self) -> float | None:
        """Seconds from the prompt to the first token; None if there is none."""
        return self.arrivals[0] - self.begin if self.arrivals else None

    @property
    def prefill_rate(self) -> float | None:
        """Tokens of the prompt by the time to the first token."""
        first = self.time_to_first_token
        return self.prompt_tokens / first if first else None

    @property
    def decode_rate(self) -> float | None:
        """Tokens per second behind the first; None for fewer than two."""
        if len(self.arrivals) < 2:
            return None
        return (len(self.arrivals) - 1) / (self.arrivals[-1] - self.arrivals[0])


def peak_resident_bytes() -> int | None:
    """The largest size that this process had in memory; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def read_bandwidth(threads: int = 1) -> float:
    """Bytes per second that `threads` threads read from memory together, by summing an array beyond
    all caches; the most of some attempts."""
    array, times = np.ones(_PROBE_BYTES // 8, np.int64), []
    parts = np.array_split(array, threads)
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_PROBES):
            begin = time.perf_counter()
            list(pool.map(np.sum, parts))
            times.append(time.perf_counter() - begin)
    return array.nbytes / min(times)
