"""Loops that do nothing but read or copy memory, as contestants beside runtimes.

How fast memory is changes within minutes where machines share it, so that a bandwidth compares only
with what is measured in turns with it.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from .peers import Peer, Terms

READING, COPYING = "reading-loop", "copying-loop"
_ARRAY_BYTES = 512 << 20
_OFFSET = (1 << 20) + 4096
"""Bytes beyond a power of two between arrays, which are a third slower to copy at a power."""
LOOP_BYTES = {READING: _ARRAY_BYTES, COPYING: 2 * _ARRAY_BYTES}
"""Bytes that a run of each loop reads, and writes: what STREAM counts (McCalpin, 1995)."""


def load_reading_loop(path: Path, terms: Terms) -> Peer:
    """The sum of an array beyond all caches."""
    del path
    return _loop(READING, np.sum, _arrays(1), terms.threads)


def load_copying_loop(path: Path, terms: Terms) -> Peer:
    """The copy of an array beyond all caches."""
    del path
    return _loop(COPYING, np.copyto, _arrays(2), terms.threads)


def _arrays(count: int) -> list[np.ndarray]:
    made = [np.ones((_ARRAY_BYTES + number * _OFFSET) // 8, np.int64) for number in range(count)]
    return [array[number * _OFFSET // 8 :] for number, array in enumerate(made)]


def _loop(
    name: str, function: Callable[..., Any], arrays: Sequence[np.ndarray], threads: int
) -> Peer:
    """Runs of `function`, with each thread on its part of `arrays`."""
    start = time.perf_counter()
    parts = [np.array_split(array, threads) for array in arrays]
    pool = ThreadPoolExecutor(threads)

    def run(_: Any) -> list[np.ndarray]:
        list(pool.map(function, *parts))
        return []

    return Peer(name, {"numpy": np.__version__}, time.perf_counter() - start, run)
