"""What a long run leaves behind as it goes: a file of JSON lines, from which it can be taken up.

The first line says what was run and with what, each further one how a case ended.
"""

import json
from collections.abc import Hashable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from graphc.errors import OutputError, UsageError


class Ended(Protocol):
    """How one case ended."""

    def to_json(self) -> dict[str, Any]:
        """What `from_json` of its class reads."""
        ...


R = TypeVar("R")
"""The dataclass of a run. Outcomes belong together where runs are equal."""
E = TypeVar("E", bound=Ended)
"""The class of an outcome, with `to_json` and `from_json`."""


class Journal(Generic[R, E]):
    """The file of a run that goes on; outcomes are in it as soon as they are added."""

    run_type: ClassVar[Any]
    outcome_type: ClassVar[Any]

    def __init__(self, path: Path, run: R, resume: bool):
        """Begin the file for `run`, or with `resume` go on with it.

        Raises `UsageError` where the file is there and is not to be resumed, or is of another run;
        `OutputError` where it cannot be written.
        """
        self.run = run
        self.outcomes: dict[Any, E] = {}
        """What was in the file before, by what `key` says."""
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
        """What tells the case of `outcome` from others."""
        return outcome.name

    @classmethod
    def read(cls, path: Path) -> tuple[R, dict[Any, E]]:
        """The run and the outcomes in a file. Raises `UsageError` where it is none of a run's."""
        try:
            first, *rest = _whole_lines(path.read_bytes()).splitlines()
            run = cls.run_type(**json.loads(first)["run"])
            outcomes = [cls.outcome_type.from_json(json.loads(line)) for line in rest]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UsageError(f"'{path}' is no file of results: {error}") from error
        return run, {cls.key(outcome): outcome for outcome in outcomes}

    def add(self, outcome: E) -> None:
        """Keep `outcome`."""
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
    """Raise `UsageError` where the run of a file is another one than `ours`."""
    if theirs != ours:
        pairs = ((each.name, getattr(theirs, each.name), getattr(ours, each.name))
                 for each in fields(ours) if each.compare)  # fmt: skip
        differences = "; ".join(f"{name} is {a!r}, not {b!r}" for name, a, b in pairs if a != b)
        raise UsageError(f"'{path}' is of another run: {differences}")


def _whole_lines(contents: bytes) -> bytes:
    """`contents` without the half of a line that a run leaves which is killed."""
    return contents[: contents.rfind(b"\n") + 1]
