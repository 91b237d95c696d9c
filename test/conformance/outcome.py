"""What became of a case."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


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

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}

    @staticmethod
    def from_json(written: dict[str, Any]) -> "Outcome":
        """What `to_json` wrote. ValueError, TypeError or KeyError for anything else."""
        return Outcome(**{**written, "status": Status(written["status"])})
