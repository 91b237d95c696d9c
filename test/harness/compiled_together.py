"""Tests of one file whose programs are compiled by one call of the backend.

Most of the time of a small compile is spent on things that do not depend on the program, or that
programs have in common. So all tests of a file begin together, and each waits where it asks for
compiled code (`compiled_with_others`). The programs of all are compiled as one module, and each
test goes on when it is its turn. They are ordinary functions: each runs in a thread of its own,
and only one of these threads runs at a time.
"""

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from graphc.errors import BackendError

from .joint_program import join, joint_name

MOST = 8
"""Maximum number of programs in a module. Some passes of the backend take more than proportional
time: modules of 40 programs gain nothing over those of 4."""


@dataclass(frozen=True)
class JointModule:
    """A compiled module, and the number of one of its programs."""

    contents: bytes
    number: int

    def name(self, entry: str) -> str:
        """The name of the entry point `entry` of the program."""
        return joint_name(self.number, entry)


Compile = Callable[[bytes], bytes]


class WaitingTest(threading.Thread):
    """The call of a test, which stops where it needs a compiled program for the first time."""

    def __init__(self, call: Callable[[], None]):
        super().__init__(daemon=True)
        self._call = call
        self._turn, self._pause = threading.Semaphore(0), threading.Semaphore(0)
        self._error: BaseException | None = None
        self.program: bytes | None = None
        """The program that the test waits for, None if it ended without."""
        self.compile: Compile | None = None
        """The compiler of that program."""
        self.compiled: JointModule | None = None
        """The module of `program` and others, None if it is to be compiled alone."""

    def run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # pytest's own outcomes are no `Exception`
            self._error = error
        self._pause.release()

    def begin(self) -> None:
        """Run the test until it waits for a compiled program, or to its end."""
        self.start()
        self._pause.acquire()

    def end(self) -> None:
        """Run the test to its end; raise what it raises."""
        if self.is_alive():
            self._turn.release()
            self.join()
        if self._error is not None:
            raise self._error

    def wait_for(self, program: bytes, compile: Compile) -> None:
        """Wait for the compiled `program`, in the thread of the test."""
        self.program, self.compile = program, compile
        self._pause.release()
        self._turn.acquire()


class CompiledTogether:
    """Tests by any key, which begin together when the first of them is to run."""

    def __init__(self, calls: Mapping[Hashable, Callable[[], None]]):
        self._tests = {key: WaitingTest(call) for key, call in calls.items()}
        self._have_begun = False

    def run(self, key: Hashable) -> None:
        """Run the test of `key`; raise what it raises."""
        if not self._have_begun:
            self._have_begun = True
            self._begin()
        self._tests.pop(key).end()

    def _begin(self) -> None:
        for test in self._tests.values():
            test.begin()
        waiting = [test for test in self._tests.values() if test.program is not None]
        for first in range(0, len(waiting), MOST):
            _compile(waiting[first : first + MOST])


def _compile(tests: Sequence[WaitingTest]) -> None:
    """Compile the programs of `tests` as one module. If that fails, they are compiled one by one,
    to show whose fault it is."""
    if len(tests) < 2:
        return
    compile = tests[0].compile
    assert compile is not None
    programs = [test.program for test in tests if test.program is not None]
    try:
        contents = compile(join(programs))
    except BackendError:
        return
    numbers = {program: number for number, program in enumerate(dict.fromkeys(programs))}
    for test, program in zip(tests, programs, strict=True):
        test.compiled = JointModule(contents, numbers[program])


def compiled_with_others(program: bytes, compile: Compile) -> JointModule | None:
    """The module with `program` and those of other tests of the file; None if there is none.

    All of them must come with the same `compile`, which takes a program for the backend.
    """
    test = threading.current_thread()
    if not isinstance(test, WaitingTest):
        return None
    if test.program is None:
        test.wait_for(program, compile)
    return test.compiled if test.program == program else None
