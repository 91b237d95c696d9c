"""What became of a case."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a case ended."""

    PASS = "pass"
    WRONG = "wrong answer"
    UNSUPPORTED = "unsupported"
    ERROR = "error"
    CRASH = "crash"
    HANG = "hang"


@dataclass(frozen=True)
class Outcome:
    """One case, run."""

    name: str
    status: Status
    detail: str = ""
    native: bool = True
    """Whether all of it was compiled: no part on the host."""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the numbers were right."""
        return self.status is Status.PASS
