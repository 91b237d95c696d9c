"""The outcome of an input."""

import hashlib
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from graphc.errors import GraphcError

PACKAGE = Path(__file__).resolve().parents[2]


class EscapeError(Exception):
    """A read outside the folder of a model."""


@dataclass(frozen=True)
class InputOutcome:
    """The outcome: `name` is ``ok``, the name of a kind of `GraphcError`, or the failure.

    `violation` is its location, empty if there is no violation; `message` gives details.
    """

    name: str
    violation: str = ""
    message: str = field(default="", compare=False)

    @property
    def label(self) -> str:
        """A file name, the same for violations that look the same."""
        digest = hashlib.sha256(f"{self.name}{self.violation}".encode()).hexdigest()
        return f"{self.name}-{digest[:8]}"


def outcome_of(run: Callable[[], object]) -> InputOutcome:
    """Call `run` and return the outcome. Exceptions other than `GraphcError` are violations."""
    try:
        run()
    except GraphcError as error:
        return InputOutcome(type(error).__name__)
    except Exception as error:
        return InputOutcome(type(error).__name__, _location(error), _one_line(error))
    return InputOutcome("ok")


def _location(error: BaseException) -> str:
    """The innermost line of graphc that `error` passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename.startswith(str(PACKAGE)) and ".venv" not in f.filename]
    frame = (own or frames)[-1]
    return f"{os.path.relpath(frame.filename, PACKAGE)}:{frame.name}"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
