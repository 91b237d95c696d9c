"""Python's garbage collector during a compilation."""

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_OBJECTS = 50_000
"""New objects after which the collector looks for garbage; it does after 700 by default."""

_lock = threading.Lock()
_running = 0
_before = (0, 0, 0)


@contextmanager
def rare_collections() -> Generator[None]:
    """A context in which the garbage collector of the process starts rarely, in all threads.

    A compilation makes hundreds of thousands of objects that live on, classes of the compiler among
    them, and little garbage in cycles. Looking for that 300 times takes 4 % of its time in Python.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _running, _before
    with _lock:
        _running += 1
        if _running == 1:
            _before = gc.get_threshold()
            if 0 < _before[0] < _OBJECTS:
                gc.set_threshold(_OBJECTS, *_before[1:])


def _leave() -> None:
    global _running
    with _lock:
        _running -= 1
        # A threshold that somebody has set meanwhile stays.
        if _running == 0 and gc.get_threshold() == (_OBJECTS, *_before[1:]):
            gc.set_threshold(*_before)
