"""The results of a run, as JSON."""

import json
import platform
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from harness.reliability import LongRun, finished

from .input_outcome import InputOutcome

FORMAT_VERSION = 1


@dataclass
class KindResults:
    """Results of the inputs of one kind. `outcomes` counts them by name."""

    inputs: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    violations: int = 0


@dataclass(frozen=True)
class Violation:
    """A violation by input `number` of its `kind`, kept in `file`."""

    kind: str
    number: int
    name: str
    where: str
    message: str
    file: str


@dataclass
class RobustnessResults:
    """The results of a whole run."""

    seed: int
    kinds: dict[str, KindResults] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)

    def add(self, kind: str, outcome: InputOutcome) -> None:
        """Count one input."""
        counted = self.kinds.setdefault(kind, KindResults())
        counted.inputs += 1
        counted.outcomes[outcome.name] += 1
        counted.violations += bool(outcome.violation)

    def add_violation(self, kind: str, number: int, outcome: InputOutcome, path: Path) -> None:
        """Note the violation of input `number`, which is kept in the file `path`."""
        found = Violation(kind, number, outcome.name, outcome.violation, outcome.message, str(path))
        self.violations.append(found)

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return sum(kind.inputs for kind in self.kinds.values())

    @property
    def seconds(self) -> float:
        """The total time in seconds."""
        return sum(kind.seconds for kind in self.kinds.values())

    def summary(self) -> LongRun:
        """The entry for ``docs/reliability.md`` of the run."""
        outcomes = sum((kind.outcomes for kind in self.kinds.values()), Counter())
        violations = sum(kind.violations for kind in self.kinds.values())
        counts = {"inputs": self.inputs}
        counts |= {f"of them {name}": kind.inputs for name, kind in self.kinds.items()}
        counts |= {"accepted": outcomes["ok"]}
        counts |= {"refused": self.inputs - outcomes["ok"] - violations}
        what = "broken and malicious models, compiled files and cache entries"
        return finished(
            what, "make robustness", counts, violations=violations, seconds=self.seconds
        )

    def write(self, path: Path, versions: dict[str, str]) -> None:
        """Write everything to `path`."""
        values = {
            "format_version": FORMAT_VERSION,
            "seed": self.seed,
            "inputs": self.inputs,
            "seconds": round(self.seconds),
            "versions": {"python": platform.python_version(), **versions},
            "kinds": {
                name: {
                    "inputs": kind.inputs,
                    "seconds": round(kind.seconds, 1),
                    "outcomes": dict(kind.outcomes.most_common()),
                    "violations": kind.violations,
                }
                for name, kind in self.kinds.items()
            },
            "violations": [asdict(violation) for violation in self.violations],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")

    def lines(self) -> list[str]:
        """A line for each kind."""
        return [
            f"{name:14} {kind.inputs:7} inputs {kind.seconds:6.0f} s {kind.violations} violations: "
            + ", ".join(f"{count} {what}" for what, count in kind.outcomes.most_common(6))
            for name, kind in self.kinds.items()
        ]
