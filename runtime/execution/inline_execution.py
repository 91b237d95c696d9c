"""Short calls stay on the caller's thread.

Handing a call to workers and back costs some wake-ups, 20 us on one machine and 300 on another.
What is gained depends on the model, the sizes and the machine, so it is measured: the first calls
run on the workers, the next ones on the caller's own thread, and the faster way is kept. The
results are the same bits either way: it is the same code.
"""

import statistics
import threading
from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from ..device.device_tensor import DeviceTensor
from .execution_context import Plan
from .session import Session

SHORT = 1e-3
"""Seconds. Whoever always takes longer on the workers is not tried without them."""

_WARM_UP = 2
_ROUNDS = 5
_PATIENCE = 3
"""So many long calls in a row, and the work has grown: a single one may be the machine's fault."""


class AdaptiveSession:
    """Runs a module on the workers of `shared`, or alone in a session that `open_alone` makes."""

    def __init__(self, shared: Session, open_alone: Callable[[], Session]):
        self.device = shared.device
        self._shared = shared
        self._open_alone: Callable[[], Session] | None = open_alone
        self._alone: Session | None = None
        self._choice = Choice()
        self._opening = threading.Lock()

    def invoke(
        self, inputs: Sequence[np.ndarray | DeviceTensor], plan: Plan
    ) -> list[np.ndarray | DeviceTensor]:
        """As `Session.invoke`."""
        choice = self._choice
        if choice.settled_on_workers:
            return self._shared.invoke(inputs, plan)
        size = 0
        for array in inputs:  # a call may take no longer than a few such lines
            size += array.nbytes
        if size <= choice.alone_up_to and self._alone is not None:
            begin = perf_counter()
            outputs = self._alone.invoke(inputs, plan)
            seconds = perf_counter() - begin
            if seconds > SHORT or choice.long_calls:
                choice.watch(seconds)
            return outputs
        alone = choice.alone(size)
        session = (self._alone or self._on_own_thread()) if alone else self._shared
        begin = perf_counter()
        outputs = session.invoke(inputs, plan)
        choice.note(alone, size, perf_counter() - begin)
        return outputs

    def close(self) -> None:
        """As `Session.close`."""
        self._shared.close()
        with self._opening:
            self._open_alone = None
            if self._alone is not None:
                self._alone.close()

    def _on_own_thread(self) -> Session:
        with self._opening:
            if self._alone is None:
                # A closed session says so itself.
                self._alone = self._open_alone() if self._open_alone else self._shared
            return self._alone


class Choice:
    """What a model's calls have shown so far.

    Calls are compared where their inputs have as many bytes as those of the first one; what is
    found holds for those and smaller ones.
    """

    def __init__(self) -> None:
        self._size: int | None = None
        self._seconds: dict[bool, list[float]] = {False: [], True: []}
        self.long_calls = 0
        """In a row, on the caller's thread, up to the last one."""
        self.settled_on_workers = False
        """Whether nothing is to be measured any more, and all calls go to the workers."""
        self.alone_up_to = -1
        """Bytes of inputs up to which all calls stay on the caller's thread."""

    def alone(self, size: int) -> bool:
        """Whether the next call, with inputs of `size` bytes, stays on the caller's thread."""
        if self._is_settled():
            return size <= self.alone_up_to
        return size == self._size and len(self._seconds[False]) >= _WARM_UP + _ROUNDS

    def note(self, alone: bool, size: int, seconds: float) -> None:
        """A call has taken so many `seconds`."""
        if self._is_settled():
            if alone:
                self.watch(seconds)
            return
        if self._size is None:
            self._size = size
        if size != self._size:
            return
        taken = self._seconds[alone]
        taken.append(seconds)
        if len(taken) >= _WARM_UP + _ROUNDS:
            self._judge(alone)

    def watch(self, seconds: float) -> None:
        """A call that stayed on the caller's thread for good has taken so long.

        Loops may run longer for the same sizes: then the workers are wanted after all.
        """
        if seconds <= SHORT:
            self.long_calls = 0
            return
        self.long_calls += 1
        if self.long_calls == _PATIENCE:
            self._settle_on_workers()

    def _is_settled(self) -> bool:
        return self.settled_on_workers or self.alone_up_to >= 0

    def _judge(self, tried_alone: bool) -> None:
        shared, alone = (self._seconds[way][_WARM_UP:] for way in (False, True))
        if not tried_alone:
            if min(shared) > SHORT:  # any of them may have waited for a processor
                self._settle_on_workers()
        elif statistics.median(alone) < statistics.median(shared):
            self.alone_up_to = self._size or 0
        else:
            self._settle_on_workers()

    def _settle_on_workers(self) -> None:
        self.settled_on_workers, self.alone_up_to = True, -1
