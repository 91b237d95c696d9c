"""The outcome of a case."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class CaseStatus(StrEnum):
    """The status of a case."""

    PASS = "pass"
    WRONG = "wrong answer"
    UNSUPPORTED = "unsupported"
    ERROR = "error"
    CRASH = "crash"
    HANG = "hang"


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of one case."""

    name: str
    status: CaseStatus
    detail: str = ""
    native: bool = True
    """True if the whole case was compiled, without parts on the host."""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True if the results were correct."""
        return self.status is CaseStatus.PASS

    def to_json(self) -> dict[str, Any]:
        """Return the dict that `from_json` reads."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}

    @staticmethod
    def from_json(written: dict[str, Any]) -> "CaseOutcome":
        """Return the outcome that `to_json` wrote. Raises ValueError, TypeError or KeyError for
        other data."""
        return CaseOutcome(**{**written, "status": CaseStatus(written["status"])})
