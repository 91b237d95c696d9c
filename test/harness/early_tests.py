"""Tests of one file that run before it is their turn, so that they are compiled together.

They run at the turn of the first of them, round by round (`compiled_together`). What a test prints
and raises is kept, and comes when it is the turn of the test. A module that does not compile though
the programs of all its tests do is the failure of the first of them.
"""

import io
import sys
from collections.abc import Callable, Hashable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from itertools import islice

from .compiled_together import run_together
from .waiting_call import WaitingCall

AT_ONCE = 60
"""Maximum number of tests that run at the same time: what they have allocated stays until they
end."""


class _EarlyTest(WaitingCall):
    """The call of a test, with what it prints."""

    def __init__(self, call: Callable[[], None]):
        super().__init__(call)
        self._output, self._errors = io.StringIO(), io.StringIO()

    def advance(self) -> None:
        with redirect_stdout(self._output), redirect_stderr(self._errors):
            super().advance()

    def end(self) -> None:
        """Print what the test has printed, and raise what it has raised."""
        sys.stdout.write(self._output.getvalue())
        sys.stderr.write(self._errors.getvalue())
        self.result()


class EarlyTests:
    """Tests by any key, in the order of their turns."""

    def __init__(self, calls: Mapping[Hashable, Callable[[], None]]):
        self._left = dict(calls)
        self._ended: dict[Hashable, _EarlyTest] = {}
        self._lost: dict[Hashable, Exception] = {}
        self.seconds: dict[Hashable, float] = {}
        """Seconds that a test took, by the keys of tests that had their turns. The time of the
        backend for several tests counts for none."""

    def run(self, key: Hashable) -> None:
        """Have the turn of the test of `key`; raise what it raises."""
        if key in self._lost:
            raise self._lost.pop(key)
        if key not in self._ended:
            self._run_from(key)
        test = self._ended.pop(key)
        self.seconds[key] = test.seconds
        test.end()

    def _run_from(self, key: Hashable) -> None:
        chosen = islice((each for each in self._left if each != key), AT_ONCE - 1)
        tests = {each: _EarlyTest(self._left.pop(each)) for each in [key, *chosen]}
        try:
            errors = run_together(list(tests.values()))
        except Exception as error:
            self._lost |= dict.fromkeys(tests.keys() - {key}, error)
            raise
        self._ended |= tests
        if errors:
            raise errors[0]
