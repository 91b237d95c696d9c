"""Tests that take too long for `make test`, and what is kept of a run of them.

::

    python -m graphc.tools.long_tests "faults found" "make faults" faults.json test/debugging/real_models.py

What comes after the file is for pytest.
"""  # noqa: E501

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .reliability import finished, write_run


class Durations:
    """A plugin of pytest: how long each test took, and which did not pass."""

    def __init__(self) -> None:
        self.minutes: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest for each phase of a test, in the process that prints."""
        name = report.nodeid.rpartition("::")[2]
        self.minutes[name] = self.minutes.get(name, 0.0) + report.duration / 60
        if report.failed:
            self.failed.add(name)


def run_tests(what: str, command: str, path: Path, arguments: Sequence[str]) -> int:
    """Run pytest with `arguments`, and write what was seen to `path`. Returns pytest's code."""
    import pytest

    durations, start = Durations(), time.monotonic()
    code = int(pytest.main([*arguments], plugins=[durations]))
    minutes = sorted((name, round(each, 2)) for name, each in durations.minutes.items())
    counts: dict[str, float] = {"cases": len(minutes)}
    counts |= {f"min {name.removeprefix('test_')}": each for name, each in minutes}
    seconds = time.monotonic() - start
    run = finished(what, command, counts, violations=len(durations.failed), seconds=seconds)
    write_run(run, path)
    return code


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    what, command, path, *rest = arguments
    return run_tests(what, command, Path(path), rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
