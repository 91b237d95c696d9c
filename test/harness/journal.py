"""The journal of a long run: a file of JSON lines from which the run can be resumed.

The first line describes the run and its environment; each further line is the outcome of a case.
"""

import json
from collections.abc import Hashable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from graphc.errors import OutputError, UsageError


class Ended(Protocol):
    """The outcome of one case."""

    def to_json(self) -> dict[str, Any]:
        """Return the dict that `from_json` of its class reads."""
        ...


R = TypeVar("R")
"""The dataclass of a run. Outcomes belong together if their runs are equal."""
E = TypeVar("E", bound=Ended)
"""The class of an outcome, with `to_json` and `from_json`."""


class Journal(Generic[R, E]):
    """The journal of a run in progress; it contains outcomes as soon as they are added."""

    run_type: ClassVar[Any]
    outcome_type: ClassVar[Any]

    def __init__(self, path: Path, run: R, resume: bool):
        """Begin the file for `run`, or with `resume` continue it.

        Raises `UsageError` if the file exists and is not to be resumed, or if it belongs to another
        run; `OutputError` if it cannot be written.
        """
        self.run = run
        self.outcomes: dict[Any, E] = {}
        """Outcomes that the file had before, by `key`."""
        if path.exists():
            if not resume:
                raise UsageError(f"'{path}' is there already: --resume goes on with it")
            self._take_up(path)
        try:
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"cannot write to '{path}': {error.strerror}") from error
        if not self._file.tell():
            self._write({"run": asdict(run)})  # type: ignore[call-overload]

    @staticmethod
    def key(outcome: Any) -> Hashable:
        """The identity of the case of `outcome`."""
        return outcome.name

    @classmethod
    def read(cls, path: Path) -> tuple[R, dict[Any, E]]:
        """The run and the outcomes in a file. Raises `UsageError` if it is not a journal."""
        try:
            first, *rest = _whole_lines(path.read_bytes()).splitlines()
            run = cls.run_type(**json.loads(first)["run"])
            outcomes = [cls.outcome_type.from_json(json.loads(line)) for line in rest]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UsageError(f"'{path}' is no file of results: {error}") from error
        return run, {cls.key(outcome): outcome for outcome in outcomes}

    def add(self, outcome: E) -> None:
        """Append `outcome` to the file."""
        self._write(outcome.to_json())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take_up(self, path: Path) -> None:
        with path.open("rb+") as file:
            file.truncate(len(_whole_lines(file.read())))
        if not path.stat().st_size:
            return
        earlier, self.outcomes = self.read(path)
        require_same(path, earlier, self.run)
        self.run = earlier

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


def require_same(path: Path, theirs: Any, ours: Any) -> None:
    """Raise `UsageError` if the run of a file differs from `ours`."""
    if theirs != ours:
        pairs = ((each.name, getattr(theirs, each.name), getattr(ours, each.name))
                 for each in fields(ours) if each.compare)  # fmt: skip
        differences = "; ".join(f"{name} is {a!r}, not {b!r}" for name, a, b in pairs if a != b)
        raise UsageError(f"'{path}' is of another run: {differences}")


def _whole_lines(contents: bytes) -> bytes:
    """`contents` without the incomplete last line that a killed run leaves."""
    return contents[: contents.rfind(b"\n") + 1]
