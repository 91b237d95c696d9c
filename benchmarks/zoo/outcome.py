"""Outcomes of the zoo: figures of each runtime with each model and size, and the file of a run."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graphc.errors import UsageError
from graphc.runtime.files.output_file import write_atomically

NAMED, FIXED = "graphc", "graphc, sizes fixed"
"""graphc with the sizes as the model names them, and with those of the call."""
MEASUREMENT = "measurement"
"""The failure of a runtime that had started."""


@dataclass(frozen=True)
class RuntimeFigures:
    """Figures of one runtime with one model and size."""

    median_ms: float
    compile_seconds: float
    """Loading or compilation, and the first call."""
    run_peak_bytes: int
    difference: float | None
    """Largest difference of a float from ONNX Runtime without optimisations, relative to the
    largest element of its output; None without such outputs, or without that reference."""
    unequal: float | None
    """Share of elements of other outputs that differ; None as above."""
    host_nodes: int = 0


@dataclass(frozen=True)
class ZooOutcome:
    """The outcome of one model at one size."""

    model: str
    size: str
    figures: Mapping[str, RuntimeFigures] = field(default_factory=dict)
    """Figures by runtime: `NAMED`, `FIXED`, and the peers."""
    ratios: Mapping[str, float] = field(default_factory=dict)
    """Time of the best peer over that of `NAMED` and `FIXED`."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Messages of the runtimes that failed."""

    @property
    def key(self) -> tuple[str, str]:
        """The model and the size."""
        return self.model, self.size

    @property
    def failed(self) -> bool:
        """True if graphc failed, with open or fixed sizes."""
        return bool({NAMED, FIXED, MEASUREMENT} & set(self.failures))

    @staticmethod
    def from_json(written: Mapping[str, Any]) -> "ZooOutcome":
        """The outcome of which `written` is the dict."""
        figures = {name: RuntimeFigures(**each) for name, each in written["figures"].items()}
        return ZooOutcome(**{**written, "figures": figures})


@dataclass(frozen=True)
class ZooPackageRow:
    """A package as the page lists it."""

    requirement: str
    licence: str
    licence_file: str


@dataclass
class ZooRun:
    """A run: where, with which versions, and its outcomes so far."""

    date: str
    machine: str
    threads: int
    rounds: int
    burst_seconds: float
    versions: Mapping[str, str]
    load_average: float = 0.0
    """Load of the machine before the run: above zero, it is shared, and times are rough."""
    packages: dict[str, ZooPackageRow] = field(default_factory=dict)
    outcomes: list[ZooOutcome] = field(default_factory=list)

    def find(self, model: str, size: str) -> ZooOutcome | None:
        """The outcome of `model` at `size`, or None."""
        return next((each for each in self.outcomes if each.key == (model, size)), None)

    def require_same(self, earlier: "ZooRun", path: Path) -> None:
        """Raise `UsageError` if the outcomes of `earlier`, read from `path`, do not belong here."""
        fields = ("machine", "threads", "rounds", "burst_seconds", "versions")
        differing = [each for each in fields if getattr(self, each) != getattr(earlier, each)]
        if differing:
            raise UsageError(f"'{path}' is of a run with other {', '.join(differing)}")

    def write(self, path: Path) -> None:
        """Write the run as JSON. Raises `OutputError`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(asdict(self), indent=1) + "\n").encode())


def read_run(path: Path) -> ZooRun:
    """The run in the file at `path`. Raises `UsageError` if it holds none."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        packages = {name: ZooPackageRow(**row) for name, row in written["packages"].items()}
        outcomes = [ZooOutcome.from_json(each) for each in written["outcomes"]]
        return ZooRun(**{**written, "packages": packages, "outcomes": outcomes})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(f"'{path}' is no file of results: {error}") from error
