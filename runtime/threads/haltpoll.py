"""Processors that stay awake while short calls follow each other.

A processor that has nothing to do halts. To wake it takes an interrupt and its way back from there:
some microseconds, on virtual machines tens of them, and milliseconds where the host has given the
processor to somebody else. A call wakes its workers, between kernels some of them again, and at its
end the caller.

So from one short call to the next each processor of the workers has a thread that polls a lock, as
Linux does for virtual machines (``haltpoll``) and the workers of other runtimes do. It has the
class of threads that run where no other wants to (``SCHED_IDLE``, `sched(7)`): it gives way to
workers, callers and other processes when they wake.

Whether that makes calls shorter depends on the machine, so it is tried. Where waking is quick it
only harms: the scheduler lets a thread go on for a while undisturbed if it is alone on its
processor, and with a poller there none is. The end of a call may then find caller and worker in
each other's way until the next tick (Linux 6.18: one call in seven 4 to 10 ms longer).
"""

import ctypes
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

SHORT = 10e-3
"""Seconds. What a longer call would gain, some tenths of a millisecond, it loses again: kernels
take up to 3 % longer where the other processors never rest (docs/performance.md)."""

LINGER = 20e-3
"""Seconds that processors stay awake after a call. Calls follow each other if they end within so
many of each other."""

WINDOW = 16
"""Calls in a row that are tried the same way, with polling or without."""

_SETTLING = 2
"""Of a window, whose time says nothing: pollers may still be starting or ending."""
_WINDOWS = 8
"""Of a trial, in turns."""
HOLD = 4096
"""Calls that are made the better way, until it is tried anew: machines change."""

POLICY_VARIABLE = "OMP_WAIT_POLICY"
"""``passive`` in it forbids polling, as it does in OpenMP (specification 5.2, section 21.2.7)."""

_LOCK_BYTES = 64
"""Of a lock: no two of them in a cache line."""

logger = logging.getLogger("graphc")


class IdlePolling:
    """Keeps `processors` awake for `LINGER` seconds after a short call that follows another, where
    calls are shorter on average if it does."""

    def __init__(self, processors: Sequence[int]):
        self._pollers = [_Poller(processor) for processor in processors]
        self._changed = threading.Condition()
        self._trial = Trial()
        self._latest = 0.0
        self._wanted = False
        threading.Thread(target=self._keep_awake, name="graphc-idle-polling", daemon=True).start()

    def note_call(self, seconds: float) -> None:
        """A call of so many `seconds` has ended."""
        with self._changed:
            before, self._latest = self._latest, time.monotonic()
            if seconds >= SHORT or self._latest - before >= LINGER:
                return
            wanted = self._trial.note(seconds)
            if wanted != self._wanted:
                self._wanted = wanted
                self._changed.notify()

    def _keep_awake(self) -> None:
        """For good, in a thread of its own: callers need not wait until others are made."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted)
            try:
                for poller in self._pollers:
                    poller.start()
                self._await_end()
            except OSError as error:  # no more threads, or not of this class: calls go on
                logger.info("processors are not kept awake: %s", error)
                return
            finally:
                for poller in self._pollers:
                    poller.stop()

    def _await_end(self) -> None:
        """Until calls do not follow each other any more, or are made without."""
        with self._changed:
            while self._wanted:
                rest = self._latest + LINGER - time.monotonic()
                if rest <= 0:
                    self._wanted = False
                else:
                    self._changed.wait(rest)


class Trial:
    """Finds the way to make calls, with polling or without, that takes less time on average.

    Windows of calls take turns, so that what slows the machine down for a while slows both ways
    down. On average, not in the median: what polling is for, and what it may cost, are rare long
    calls.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._calls, self._polls = 0, False
        self._seconds = {False: 0.0, True: 0.0}

    def note(self, seconds: float) -> bool:
        """A call has taken so many `seconds`. Whether to poll from now on."""
        tried = self._calls
        self._calls += 1
        if tried < WINDOW * _WINDOWS and tried % WINDOW >= _SETTLING:
            self._seconds[self._polls] += seconds
        if self._calls < WINDOW * _WINDOWS:
            self._polls = self._calls // WINDOW % 2 == 1
        elif self._calls == WINDOW * _WINDOWS:
            self._polls = self._seconds[True] < self._seconds[False]
        elif self._calls == WINDOW * _WINDOWS + HOLD:
            self._begin()
        return self._polls


def may_poll() -> bool:
    """Whether the system has threads that give way to all others, and the user allows them."""
    passive = os.environ.get(POLICY_VARIABLE, "").strip().lower() == "passive"
    return hasattr(os, "SCHED_IDLE") and not passive


class _Poller:
    """A thread of C's alone, which never waits for Python's interpreter, nor makes it wait.

    It does nothing but take a lock, which is taken already whenever nobody has let go of it.
    """

    def __init__(self, processor: int):
        self._places = _mask(processor)
        self._memory = (ctypes.c_char * (2 * _LOCK_BYTES))()
        start = ctypes.addressof(self._memory)
        self._lock = ctypes.c_void_p(start + -start % _LOCK_BYTES)
        self._runs = False
        _call("pthread_spin_init", self._lock, 0)
        _call("pthread_spin_lock", self._lock)

    def start(self) -> None:
        """Poll. Raises OSError."""
        if _c("pthread_spin_trylock")(self._lock) == 0:  # the last thread has not taken it yet
            self._runs = True
            return
        thread = self._create()
        self._runs = True
        _call("pthread_detach", thread)
        _call("pthread_setschedparam", thread, os.SCHED_IDLE, ctypes.byref(ctypes.c_int(0)))
        _call("pthread_setaffinity_np", thread, ctypes.c_size_t(len(self._places)), self._places)

    def stop(self) -> None:
        """Let go of the lock: the thread takes it and ends."""
        if self._runs:
            self._runs = False
            _call("pthread_spin_unlock", self._lock)

    def _create(self) -> ctypes.c_ulong:
        """The thread; it leaves signals to others."""
        thread = ctypes.c_ulong()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _call("pthread_create", ctypes.byref(thread), None, _c("pthread_spin_lock"), self._lock)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return thread


def _mask(processor: int) -> bytes:
    """The set of `processor` alone, as `sched_setaffinity(2)` takes it."""
    return (1 << processor).to_bytes(-(-(processor + 1) // 64) * 8, "little")


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the C library. Raises OSError."""
    error = _c(name)(*arguments)
    if error:
        raise OSError(error, f"{name}: {os.strerror(error)}")


def _c(name: str) -> Callable[..., int]:
    """A function of the C library. Raises OSError if it has none of that name."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except AttributeError as error:
        raise OSError(str(error)) from error
