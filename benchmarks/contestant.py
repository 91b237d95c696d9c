"""Contestants: runtimes with a model, each in a process of its own.

Side effects of a runtime on its process (spinning threads, global flags, retained memory) do not
affect the others.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .loaders import LOADERS, LOOPS
from .measure import MeasurementPlan, burst, warm_up
from .memory import family, family_bytes, forget_peak, peak_bytes
from .peers import PeerError, Terms

SAMPLE_SECONDS = 0.1
"""Interval between memory samples of a compiling process; a sample takes milliseconds."""


@dataclass(frozen=True)
class Loaded:
    """Facts that a runtime reports once the model is ready."""

    options: Mapping[str, object]
    compile_seconds: float
    run_peak_bytes: int
    results: list[np.ndarray]
    first_run_seconds: float = 0.0
    """Duration of the first call, which may compile, too."""
    host_nodes: int = 0


class Contestant:
    """`runtime` with the model at `path`, warmed up.

    Raises PeerError if it cannot run it, or has not answered after `patience` seconds.
    """

    def __init__(
        self,
        runtime: str,
        path: Path,
        terms: Terms,
        feed: Mapping[str, np.ndarray],
        plan: MeasurementPlan,
        patience: float | None = None,
    ):
        context = multiprocessing.get_context("spawn")
        self._runtime, self._patience = runtime, patience
        self._connection, theirs = context.Pipe()
        arguments = (theirs, runtime, path, terms, dict(feed), plan)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self.compile_peak_bytes, start = 0, time.monotonic()
        while not self._connection.poll(SAMPLE_SECONDS):
            now = family_bytes(self._process.pid or 0)
            self.compile_peak_bytes = max(self.compile_peak_bytes, now)
            if patience is not None and time.monotonic() - start > patience:
                self._give_up()
        self.loaded: Loaded = self._receive()

    def burst(self) -> tuple[float, ...]:
        """Run one burst; return the times of its runs in milliseconds."""
        with suppress(BrokenPipeError):  # of a process that has ended, as the answer will say
            self._connection.send("burst")
        return self._receive()

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.join()

    def _receive(self) -> Any:
        try:
            if not self._connection.poll(self._patience):
                self._give_up()
            answer = self._connection.recv()
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            raise PeerError(f"{self._runtime}: its process ended with code {code}") from None
        if isinstance(answer, PeerError):
            raise answer
        return answer

    def _give_up(self) -> NoReturn:
        """End the process, and those that it has started."""
        for pid in list(family(self._process.pid or 0)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.join()
        raise PeerError(f"{self._runtime}: no answer after {self._patience:g} s")


def _serve(
    connection: Connection,
    runtime: str,
    path: Path,
    terms: Terms,
    feed: Mapping[str, np.ndarray],
    plan: MeasurementPlan,
) -> None:
    try:
        peer = (LOADERS | LOOPS)[runtime](path, terms)
        forget_peak()
        # Copied, since some runtimes return views that the next run overwrites.
        start = time.perf_counter()
        results = [np.array(output) for output in peer.run(feed)]
        first = time.perf_counter() - start
        warm_up(lambda: peer.run(feed), plan)
        loaded = Loaded(
            peer.options, peer.compile_seconds, peak_bytes(), results, first, peer.host_nodes
        )
    except Exception as error:  # any error of a runtime: the others go on
        text = str(error) if isinstance(error, PeerError) else f"{type(error).__name__}: {error}"
        connection.send(PeerError(text.splitlines()[0] if text else type(error).__name__))
        return
    connection.send(loaded)
    while True:
        try:
            connection.recv()
        except EOFError:
            os._exit(0)  # the parent has closed the connection
        connection.send(burst(lambda: peer.run(feed), plan))
