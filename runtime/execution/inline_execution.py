"""Inline execution: short calls stay on the caller's thread.

Handing a call to workers and back costs several wake-ups: 20 us on one machine, 300 us on another.
The gain depends on the model, the sizes and the machine, so it is measured: the first calls run on
the workers, the next ones on the caller's thread, and the faster way is kept. The results are
bit-identical either way, as the code is the same.
"""

import math
import statistics
import threading
from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from ..device.device_tensor import DeviceTensor
from ..threads.ab_testing import ABTest
from .execution_context import CallSpec
from .session import Session
from .work_model import WorkModel

SHORT = 1e-3
"""Duration in seconds. Models that always take longer on the workers are not tried inline."""
_WARM_UP = 2
_ROUNDS = 5
_LONG = 0.25
"""Duration in seconds of calls of which fewer are compared: noise is a small part of them."""
_LONG_WARM_UP = 1
_LONG_ROUNDS = 2
_PATIENCE = 3
"""Number of long calls in a row that show that the work has grown; a single one may be noise."""
_HOPELESS = 1.5
"""Ratio of times from which on the caller's thread gets no further calls to compare."""


class AdaptiveSession:
    """Runs a module on the workers of `shared`, or inline in a session made by `open_alone` if its
    calls take less than `short` seconds, or it `has_loops`: their rounds are short calls, one
    after the other."""

    def __init__(
        self,
        shared: Session,
        open_alone: Callable[[], Session],
        short: float = SHORT,
        has_loops: bool = False,
    ):
        self.device = shared.device
        self._shared = shared
        self._open_alone: Callable[[], Session] | None = open_alone
        self._alone: Session | None = None
        self._choice = Choice(math.inf if has_loops else short)
        self._has_loops = has_loops
        self._opening = threading.Lock()

    def invoke(
        self, inputs: Sequence[np.ndarray | DeviceTensor], call_spec: CallSpec
    ) -> list[np.ndarray | DeviceTensor]:
        """As `Session.invoke`."""
        choice = self._choice
        if choice.decided_on_workers:
            return self._shared.invoke(inputs, call_spec)
        size = 0
        for array in inputs:  # a plain loop: a whole call may take only a few microseconds
            size += array.nbytes
        inline = self._alone  # once, as a call in another thread may give it up
        if size <= choice.alone_up_to and inline is not None:
            begin = perf_counter()
            outputs = inline.invoke(inputs, call_spec)
            seconds = perf_counter() - begin
            if seconds > choice.short or choice.long_calls:
                choice.watch(seconds)
                self._give_up_if_decided()
            return outputs
        alone = choice.alone(size)
        session = (inline or self._on_own_thread()) if alone else self._shared
        begin = perf_counter()
        outputs = session.invoke(inputs, call_spec)
        seconds = perf_counter() - begin
        results = sum(array.nbytes for array in outputs) if self._has_loops else 0
        choice.record(alone, size, seconds, results)
        self._give_up_if_decided()
        return outputs

    def close(self) -> None:
        """As `Session.close`."""
        self._shared.close()
        with self._opening:
            self._open_alone = None
            if self._alone is not None:
                self._alone.close()

    def _give_up_if_decided(self) -> None:
        """Free the session of the caller's thread, once calls of others have ended, if all calls go
        to the workers from now on."""
        if self._choice.decided_on_workers:
            self._alone = None

    def _on_own_thread(self) -> Session:
        with self._opening:
            if self._alone is None:
                # A closed session reports that itself.
                self._alone = self._open_alone() if self._open_alone else self._shared
            return self._alone


class Choice:
    """The choice that follows from tests of calls on the workers (A) and the caller's thread (B).

    The median is compared, as any call may have waited for a core. Only calls with inputs of the
    same total size as the first call's are compared, at one size of outputs (see `work_model`). If
    the caller's thread is faster, that holds for smaller ones, too, and larger ones are compared
    when they come; if it is not, the workers keep all calls that are not smaller.
    """

    def __init__(self, short: float = SHORT) -> None:
        self.short = short
        """The duration in seconds of calls that are tried on the caller's thread."""
        self._size: int | None = None
        """The total size of the inputs whose calls are compared."""
        self._test, self._work = _new_test(), WorkModel()
        self.long_calls = 0
        """Number of latest calls on the caller's thread that were long, in a row."""
        self.decided_on_workers = False
        """True once measuring is over and all calls go to the workers."""
        self.alone_up_to = -1
        """Total size of the inputs in bytes up to which calls stay on the caller's thread."""
        self._shared_from = math.inf
        """That from which on calls go to the workers."""

    def alone(self, size: int) -> bool:
        """Return whether the next call, with inputs of `size` bytes, runs on the caller's
        thread."""
        return size <= self.alone_up_to or (size == self._size and self._test.uses_b)

    def record(self, alone: bool, size: int, seconds: float, results: int = 0) -> None:
        """Record a call that took `seconds`, with inputs of `size` bytes, and outputs of `results`
        where these tell how much there was to do."""
        if self.decided_on_workers or size >= self._shared_from:
            return
        if size <= self.alone_up_to:
            if alone:
                self.watch(seconds)
            return
        if self._size is None:
            self._size, self._test, self._work = size, _new_test(seconds), WorkModel()
        if size == self._size:
            if alone:
                seconds = self._work.at_median(results, seconds)
            else:
                self._work.record(results, seconds)
            self._test.record(alone, seconds)
            self._judge(size)

    def watch(self, seconds: float) -> None:
        """Record a call on the caller's thread after that was chosen.

        A model with loops may take longer for the same sizes: then calls return to the workers.
        """
        if seconds <= self.short:
            self.long_calls = 0
            return
        self.long_calls += 1
        if self.long_calls == _PATIENCE:
            self._settle_on_workers()

    def _judge(self, size: int) -> None:
        shared, alone = self._test.seconds
        if not self._test.is_over:
            if not self._test.uses_b:
                return
            # the minimum, for the same reason
            if min(shared) > self.short or (alone and min(alone) > _HOPELESS * max(shared)):
                self._share_from(size)
        elif self._test.uses_b:
            self.alone_up_to, self._size = size, None
        else:
            self._share_from(size)

    def _share_from(self, size: int) -> None:
        self._shared_from, self._size = size, None
        if self.alone_up_to < 0:
            self._settle_on_workers()

    def _settle_on_workers(self) -> None:
        self.decided_on_workers, self.alone_up_to, self._size = True, -1, None


def _new_test(first: float = 0) -> ABTest:
    """The test of calls of which the `first` one took so many seconds."""
    warm_up, rounds = (_LONG_WARM_UP, _LONG_ROUNDS) if first > _LONG else (_WARM_UP, _ROUNDS)
    return ABTest(statistics.median, windows=2, window=warm_up + rounds, ignored=warm_up)
