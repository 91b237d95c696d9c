"""Calls that stop wherever they need a compiled program.

They are calls of ordinary functions: each runs in a thread of its own, and only one of these
threads runs at a time.
"""

import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Request:
    """A program to compile, and the options of the backend that programs of one module share."""

    program: bytes
    options: Mapping[str, Any]


@dataclass(frozen=True)
class SharedModule:
    """A compiled module of several programs, seen as that of program `number`.

    It is not the bytes of a module: those have the code of other programs, too.
    """

    contents: bytes
    number: int

    def __len__(self) -> int:
        return len(self.contents)


class WaitingCall(threading.Thread):
    """A call that waits, where it asks for a compiled program, until it is to go on."""

    def __init__(self, call: Callable[[], Any]):
        super().__init__(daemon=True)
        self._call = call
        self._turn, self._pause = threading.Semaphore(0), threading.Semaphore(0)
        self._result: Any = None
        self._error: BaseException | None = None
        self._before: Any = None
        self._known: list[tuple[Request, SharedModule]] = []
        self.request: Request | None = None
        """The program that the call waits for, None once it has ended."""
        self.timeout: float | None = None
        """Seconds that it grants the backend for that."""
        self.answer: SharedModule | None = None
        """The module with what it waits for, None if that is to be compiled alone."""
        self.failed_alone = False
        """True once a program that it asked for has not compiled alone."""
        self.seconds = 0.0
        """Seconds that the call has run."""

    def run(self) -> None:
        try:
            self._result = self._call()
        except BaseException as error:  # pytest's own outcomes are no `Exception`
            self._error = error
        self.request = None
        self._pause.release()

    def advance(self) -> None:
        """Run the call until it waits for a program again, or to its end."""
        start, self._before = time.perf_counter(), _state_of_process()
        if self.ident is None:
            self.start()
        else:
            self._turn.release()
        self._pause.acquire()
        self.seconds += time.perf_counter() - start

    def result(self) -> Any:
        """The result of a call that has ended; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._result

    def module(self, request: Request, timeout: float | None = None) -> SharedModule | None:
        """The module with the program of `request` and those of other calls, None if there is none.

        The thread of the call waits for it. It does not while it has changed what other calls would
        find changed.
        """
        known = next((made for asked, made in self._known if asked == request), None)
        if known is not None or _state_of_process() != self._before:
            return known
        self.request, self.timeout, self.answer = request, timeout, None
        self._pause.release()
        self._turn.acquire()
        if self.answer is not None:
            self._known.append((request, self.answer))
        return self.answer


def _state_of_process() -> tuple[Any, ...]:
    """The state of the process that a call may change for a while."""
    levels = logging.root.manager.disable, logging.getLogger("graphc").level
    streams = sys.stdout, sys.stderr
    return [*warnings.filters], streams, levels, dict(os.environ), os.getcwd()
