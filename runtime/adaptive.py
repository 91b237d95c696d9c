"""Short calls stay on the caller's thread.

Handing a call to workers and back costs some wake-ups, 20 us on one machine and 300 on another.
What is gained depends on the model, the sizes and the machine, so it is measured: the first calls
run on the workers, the next ones on the caller's own thread, and the faster way is kept. The
results are the same bits either way: it is the same code.
"""

import statistics
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from .device_tensor import DeviceTensor
from .lane import Plan
from .session import Session

SHORT = 1e-3
"""Seconds. Whoever takes longer on the workers is not tried without them."""

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
        if self._choice.settled_on_workers:
            return self._shared.invoke(inputs, plan)
        size = 0
        for array in inputs:  # a call may take no longer than a few such lines
            size += array.nbytes
        alone = self._choice.alone(size)
        session = (self._alone or self._on_own_thread()) if alone else self._shared
        begin = time.perf_counter()
        outputs = session.invoke(inputs, plan)
        self._choice.note(alone, size, time.perf_counter() - begin)
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
        self._verdict: bool | None = None
        self._long = 0

    @property
    def settled_on_workers(self) -> bool:
        """Whether nothing is to be measured any more, and all calls go to the workers."""
        return self._verdict is False

    def alone(self, size: int) -> bool:
        """Whether the next call, with inputs of `size` bytes, stays on the caller's thread."""
        if self._verdict is not None:
            return self._verdict and size <= (self._size or 0)
        return size == self._size and len(self._seconds[False]) >= _WARM_UP + _ROUNDS

    def note(self, alone: bool, size: int, seconds: float) -> None:
        """A call has taken so many `seconds`."""
        if self._verdict is not None:
            self._watch(alone, seconds)
            return
        if self._size is None:
            self._size = size
        if size != self._size:
            return
        taken = self._seconds[alone]
        taken.append(seconds)
        if len(taken) >= _WARM_UP + _ROUNDS:
            self._judge(alone)

    def _judge(self, tried_alone: bool) -> None:
        shared = statistics.median(self._seconds[False][_WARM_UP:])
        if tried_alone:
            self._verdict = statistics.median(self._seconds[True][_WARM_UP:]) < shared
        elif shared > SHORT:
            self._verdict = False

    def _watch(self, alone: bool, seconds: float) -> None:
        """Loops may run longer for the same sizes: then the workers are wanted after all."""
        if alone:
            self._long = self._long + 1 if seconds > SHORT else 0
            if self._long == _PATIENCE:
                self._verdict = False
