"""Idle polling: cores are kept awake between consecutive short calls.

An idle core halts. Waking it takes an inter-processor interrupt and the exit from the halt: some
microseconds, tens of them on virtual machines, and milliseconds if the host has given the core to
another guest. A call wakes its workers, some of them again between kernels, and the caller at its
end.

So from one short call to the next each worker's core runs a thread that polls a lock, as Linux does
for virtual machines (``haltpoll``), and the workers of other runtimes do. Its scheduling class is
``SCHED_IDLE`` (`sched(7)`): workers, callers and other processes preempt it when they wake.

The benefit depends on the machine, so it is measured. If wake-ups are fast, polling only harms: the
scheduler lets a thread run undisturbed for a while if it is alone on its core, but with a poller
it never is. At the end of a call, the caller and a worker may then block each other until the next
tick (Linux 6.18: one call in seven takes 4 to 10 ms longer).
"""

import ctypes
import logging
import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from .ab_testing import ABTest

SHORT = 10e-3
"""Maximum duration in seconds of calls that poll. A longer call would gain some tenths of a
millisecond and lose them again: kernels take up to 3 % longer if the other cores never rest
(docs/performance.md)."""

LINGER = 20e-3
"""Time in seconds that cores stay awake after a call. Calls count as consecutive if their ends are
less than that apart."""

WINDOW = 16
"""Number of consecutive calls measured the same way, with polling or without."""

_SETTLING = 2
"""Number of calls ignored at the start of a window, while pollers may be starting or ending."""
_WINDOWS = 8
"""Number of windows in a trial, alternately without and with polling."""
HOLD = 4096
"""Number of calls made the better way before a new trial, as the load of a machine changes."""

POLICY_VARIABLE = "OMP_WAIT_POLICY"
"""Environment variable: ``passive`` disables polling, as in OpenMP (specification 5.2, section
21.2.7)."""

_LOCK_BYTES = 64
"""Size and alignment of a lock: one per cache line."""

logger = logging.getLogger("graphc")


class Haltpoll:
    """Keeps `cpus` awake for `LINGER` seconds after consecutive short calls, if that makes
    calls shorter on average."""

    def __init__(self, cpus: Sequence[int]):
        self._pollers = [_Poller(cpu) for cpu in cpus]
        self._changed = threading.Condition()
        self._trial = trial()
        self._latest = 0.0
        self._wanted = False
        threading.Thread(target=self._keep_awake, name="graphc-idle-polling", daemon=True).start()

    def record_call(self, seconds: float) -> None:
        """Record the end of a call that took `seconds`."""
        with self._changed:
            before, self._latest = self._latest, time.monotonic()
            if seconds >= SHORT or self._latest - before >= LINGER:
                return
            self._trial.record(self._trial.uses_b, seconds)
            if self._trial.uses_b != self._wanted:
                self._wanted = self._trial.uses_b
                self._changed.notify()

    def _keep_awake(self) -> None:
        """Run forever in a thread of its own, so that callers do not wait for thread creation."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted)
            try:
                for poller in self._pollers:
                    poller.start()
                self._await_end()
            except OSError as error:  # no more threads, or the class is refused: polling ends
                logger.info("CPUs are not kept awake: %s", error)
                return
            finally:
                for poller in self._pollers:
                    poller.stop()

    def _await_end(self) -> None:
        """Wait until calls stop being consecutive, or polling is switched off."""
        with self._changed:
            while self._wanted:
                rest = self._latest + LINGER - time.monotonic()
                if rest <= 0:
                    self._wanted = False
                else:
                    self._changed.wait(rest)


def trial() -> ABTest:
    """The test of calls without polling (A) and with it (B).

    The mean is compared, not the median: both the benefit and the cost of polling are rare long
    calls.
    """
    return ABTest(statistics.fmean, windows=_WINDOWS, window=WINDOW, ignored=_SETTLING, hold=HOLD)


def may_poll() -> bool:
    """Return whether the system has `SCHED_IDLE`, and the user has not disabled polling."""
    passive = os.environ.get(POLICY_VARIABLE, "").strip().lower() == "passive"
    return hasattr(os, "SCHED_IDLE") and not passive


class _Poller:
    """A thread that runs only C code, so it neither needs the GIL nor blocks it.

    It spins on a lock, which `stop` releases.
    """

    def __init__(self, cpu: int):
        self._cpu_mask = _mask(cpu)
        self._memory = (ctypes.c_char * (2 * _LOCK_BYTES))()
        start = ctypes.addressof(self._memory)
        self._lock = ctypes.c_void_p(start + -start % _LOCK_BYTES)
        self._runs = False
        _call("pthread_spin_init", self._lock, 0)
        _call("pthread_spin_lock", self._lock)

    def start(self) -> None:
        """Start polling. Raises OSError."""
        if _c("pthread_spin_trylock")(self._lock) == 0:  # the last thread has not taken it yet
            self._runs = True
            return
        thread = self._create()
        self._runs = True
        _call("pthread_detach", thread)
        _call("pthread_setschedparam", thread, os.SCHED_IDLE, ctypes.byref(ctypes.c_int(0)))
        _call(
            "pthread_setaffinity_np", thread, ctypes.c_size_t(len(self._cpu_mask)), self._cpu_mask
        )

    def stop(self) -> None:
        """Release the lock: the thread takes it and ends."""
        if self._runs:
            self._runs = False
            _call("pthread_spin_unlock", self._lock)

    def _create(self) -> ctypes.c_ulong:
        """Create the thread, with all signals blocked."""
        thread = ctypes.c_ulong()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _call("pthread_create", ctypes.byref(thread), None, _c("pthread_spin_lock"), self._lock)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return thread


def _mask(cpu: int) -> bytes:
    """The CPU mask with `cpu` alone, in the format of `sched_setaffinity(2)`."""
    return (1 << cpu).to_bytes(-(-(cpu + 1) // 64) * 8, "little")


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the C library. Raises OSError."""
    error = _c(name)(*arguments)
    if error:
        raise OSError(error, f"{name}: {os.strerror(error)}")


def _c(name: str) -> Callable[..., int]:
    """Look up a function of the C library. Raises OSError if there is none of that name."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except AttributeError as error:
        raise OSError(str(error)) from error
