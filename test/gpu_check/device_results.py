"""What a run on a device showed: ``docs/gpu/``, a file for each target and device."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from conformance.results import Results, readable_json, results_from_json

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "gpu"


@dataclass(frozen=True)
class DeviceReport:
    """One run on one device."""

    results: Results
    """Of the cases that are compiled as a whole, for the CPU at least."""
    matching: str
    """The cases were chosen by this expression; empty where all were."""
    on_host: int
    """Cases that have parts on the host, which were left out."""
    machine: Mapping[str, Any]
    """Where it ran: system, processors, and what the driver says of the device."""
    models: Mapping[str, Any]
    """Status of each model, its largest difference from the CPU's outputs relative to their
    largest element, what is allowed, milliseconds of a run, and the day."""

    @property
    def device(self) -> str:
        """What the device calls itself, without what it says in brackets."""
        return re.sub(r"\s*\([^()]*(\([^()]*\))*[^()]*\)", "", self.results.run.device)

    @property
    def models_passed(self) -> int:
        """Models whose outputs are right."""
        return sum(model["status"] == "pass" for model in self.models.values())

    def file_name(self) -> str:
        """``cuda-nvidia-h200.json``; of some cases alone, ``cuda-nvidia-h200-some.json``."""
        text = f"{self.results.run.target} {self.device} {'some' if self.matching else ''}"
        return "-".join(re.findall(r"[a-z0-9]+", text.lower())) + ".json"

    def over(self, earlier: "DeviceReport") -> "DeviceReport":
        """This report, with what `earlier` ran and this did not: models, or all cases."""
        kept = self if self.results.total else earlier
        models = {**earlier.models, **self.models}
        return replace(self, results=kept.results, on_host=kept.on_host, models=models)

    def to_json(self) -> str:
        """What `read_report` reads."""
        written = asdict(self)
        return readable_json({**written.pop("results"), **written})


def read_report(path: Path) -> DeviceReport:
    """The report in a file."""
    written = json.loads(path.read_text(encoding="utf-8"))
    own = {name: written.pop(name) for name in ("matching", "on_host", "machine", "models")}
    return DeviceReport(results_from_json(written), **own)


def read_reports() -> list[DeviceReport]:
    """All reports, by target and device."""
    return [read_report(path) for path in sorted(FOLDER.glob("*.json"))]
