"""Runs of tests that take too long for `make test`, and their stored results.

::

    python -m harness.long_tests "faults found" "make faults" faults.json test/debugging/real_models.py

The arguments after the file are for pytest.
"""  # noqa: E501

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .reliability import finished, write_run


class Observed:
    """A pytest plugin that notes durations, recorded properties and failures of tests."""

    def __init__(self) -> None:
        self.minutes: dict[str, float] = {}
        self.recorded: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest for each phase of a test, in the process that prints."""
        name = report.nodeid.rpartition("::")[2]
        self.minutes[name] = self.minutes.get(name, 0.0) + report.duration / 60
        if report.failed:
            self.failed.add(name)
        if report.when == "teardown":
            for label, value in report.user_properties:
                self._record(label, value)

    def _record(self, label: str, value: float) -> None:
        before = self.recorded.get(label, 0)
        self.recorded[label] = before + value if isinstance(value, int) else max(before, value)

    def counts(self) -> dict[str, float]:
        """The properties that the tests recorded (``record_property``).

        Integers are summed; of other numbers, the largest is kept. If nothing was recorded, the
        minutes of each test.
        """
        found: dict[str, float] = {"cases": len(self.minutes)}
        if self.recorded:
            return found | {label: _rounded(value) for label, value in self.recorded.items()}
        minutes = sorted((name, round(each, 2)) for name, each in self.minutes.items())
        return found | {f"min {name.removeprefix('test_')}": each for name, each in minutes}


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else round(value, 2)


def run_tests(what: str, command: str, path: Path, arguments: Sequence[str]) -> int:
    """Run pytest with `arguments` and write the results to `path`. Returns pytest's exit code."""
    import pytest

    observed, start = Observed(), time.monotonic()
    code = int(pytest.main([*arguments], plugins=[observed]))
    seconds = time.monotonic() - start
    run = finished(
        what, command, observed.counts(), violations=len(observed.failed), seconds=seconds
    )
    write_run(run, path)
    return code


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    what, command, path, *rest = arguments
    return run_tests(what, command, Path(path), rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
