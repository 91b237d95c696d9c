"""Tests of one file whose programs are compiled by few calls of the backend.

Much of the time of a small compile is spent on things that do not depend on the program, or that
programs have in common. So the tests of a file begin together, and each waits where it asks for
compiled code. Their programs are compiled as one module, and each test goes on when it is its
turn. They are ordinary functions: each runs in a thread of its own, and only one of these threads
runs at a time.
"""

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphc.errors import BackendError
from graphc.runtime import compile_module as _compile_module
from graphc.runtime import load as _load
from graphc.runtime.iree_compile.input_program import InputProgram
from graphc.runtime.iree_compile.temporary_folder import temporary_folder

from .joint_program import join, joint_name

MOST = 20
"""Maximum number of programs in a module. Some passes of the backend take more than proportional
time."""

NOT_MEMOIZED = "--iree-hal-memoization=false"
"""Record command buffers in each call. Otherwise each becomes a function, an initializer and a
global, which dozens of the backend's passes visit: a third of the time of programs of many small
dispatches."""

_SHARED = {"target", "threads", "opt_level", "data_tiling", "extra_flags"}
"""Options of `compile_module` that programs of one module have in common. With others set, a
program is compiled alone."""


@dataclass(frozen=True)
class ModuleOfTests:
    """A compiled module of several programs, seen as that of program `number`.

    It is not the bytes of a module: those have the code of other tests, too.
    """

    contents: bytes
    number: int

    def __len__(self) -> int:
        return len(self.contents)


class WaitingTest(threading.Thread):
    """The call of a test, which stops where it needs a compiled program for the first time."""

    def __init__(self, call: Callable[[], None]):
        super().__init__(daemon=True)
        self._call = call
        self._turn, self._pause = threading.Semaphore(0), threading.Semaphore(0)
        self._error: BaseException | None = None
        self.program: bytes | None = None
        """The program that the test waits for, None if it ended without."""
        self.options: Mapping[str, Any] = {}
        """The options of the backend for that program."""
        self.compiled: ModuleOfTests | None = None
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

    def module(self, program: bytes, options: Mapping[str, Any]) -> ModuleOfTests | None:
        """The module with `program` and those of other tests, None if there is none.

        The thread of the test waits for the first one.
        """
        if self.program is None:
            self.program, self.options = program, options
            self._pause.release()
            self._turn.acquire()
        return self.compiled if (program, options) == (self.program, self.options) else None


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
        alike: list[list[WaitingTest]] = []
        for test in self._tests.values():
            test.begin()
            if test.program is None:
                continue
            group = next((each for each in alike if each[0].options == test.options), None)
            if group is None:
                alike.append([test])
            else:
                group.append(test)
        for group in alike:
            for first in range(0, len(group), MOST):
                _compile(group[first : first + MOST])


def _compile(tests: Sequence[WaitingTest]) -> None:
    """Compile the programs of `tests` as one module. If that fails, they are compiled one by one,
    to show whose fault it is."""
    if len(tests) < 2:
        return
    programs = [test.program for test in tests if test.program is not None]
    options = tests[0].options
    target = replace(options["target"], fallback=())  # fallbacks apply to single programs only
    flags = dict.fromkeys((*options.get("extra_flags", ()), NOT_MEMOIZED))
    try:
        contents = _compile_module(
            join(programs), **{**options, "target": target, "extra_flags": tuple(flags)}
        )
    except BackendError:
        return
    numbers = {program: number for number, program in enumerate(dict.fromkeys(programs))}
    for test, program in zip(tests, programs, strict=True):
        test.compiled = ModuleOfTests(contents, numbers[program])


def compile_module(program: bytes | Path | InputProgram, **options: Any) -> bytes | ModuleOfTests:
    """`graphc.runtime.compile_module`, together with the programs of other tests if it is called in
    one that began with them."""
    test = threading.current_thread()
    given = {key: value for key, value in options.items() if key in _SHARED}
    others = [value for key, value in options.items() if key not in _SHARED and key != "name"]
    if not isinstance(test, WaitingTest) or any(value is not None for value in others):
        return _compile_module(program, **options)
    program = _contents(program)
    module = test.module(program, given)
    return _compile_module(program, **options) if module is None else module


def _contents(program: bytes | Path | InputProgram) -> bytes:
    if isinstance(program, bytes):
        return program
    if isinstance(program, Path):
        return program.read_bytes()
    with temporary_folder() as folder:
        return program.file(folder).read_bytes()


def load(source: Any, **options: Any) -> Any:
    """`graphc.load`, also for a `ModuleOfTests`."""
    if not isinstance(source, ModuleOfTests):
        return _load(source, **options)
    return _load(source.contents, **options, entry=joint_name(source.number))
