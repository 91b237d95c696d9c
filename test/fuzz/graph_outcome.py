"""The outcome of checking one graph."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class GraphStatus(StrEnum):
    """The status of a checked graph."""

    PASS = "pass"
    ILL_CONDITIONED = "ill-conditioned"
    """The results are beyond the tolerance, but not much farther from float64 than the reference.
    Or rounding decides the results for inputs that the graph was not drawn with."""
    UNSUPPORTED = "declared limit"
    """The model is refused as it should be, with the unsupported nodes named."""
    WRONG = "wrong answer"
    ERROR = "error"
    CRASH = "crash"
    HANG = "hang"


FINDINGS = (GraphStatus.WRONG, GraphStatus.ERROR, GraphStatus.CRASH, GraphStatus.HANG)
"""The statuses that are failures."""


@dataclass(frozen=True)
class GraphOutcome:
    """The outcome of one graph that was compiled and run."""

    index: int
    status: GraphStatus
    detail: str = ""
    nodes: int = 0
    operators: Sequence[str] = ()
    types: Sequence[str] = ()
    """Element types of all inputs and outputs."""
    opset: int = 0
    reference: str = ""
    """The reference that computed the expected outputs."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Number of rejected draws, by reason."""
    seconds: float = 0.0
    inputs: int = 0
    """Number of the inputs that showed it; 0 stands for the inputs that the graph was drawn
    with."""
    alone: bool = True
    """True if the outcome occurs without earlier calls, too."""

    @property
    def is_finding(self) -> bool:
        """True if the status is a failure."""
        return self.status in FINDINGS

    def to_json(self) -> dict[str, Any]:
        """Return the dict that `from_json` reads."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}

    @staticmethod
    def from_json(written: dict[str, Any]) -> "GraphOutcome":
        """Return the outcome that `to_json` wrote. Raises ValueError, TypeError or KeyError for
        other data."""
        return GraphOutcome(**{**written, "status": GraphStatus(written["status"])})
