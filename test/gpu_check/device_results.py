"""Results of runs on devices: ``docs/gpu/``, one file for each target and device."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from conformance.suite_results import SuiteResults, readable_json, results_from_json

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "gpu"


@dataclass(frozen=True)
class DeviceReport:
    """One run on one device."""

    results: SuiteResults
    """Results of the cases that are compiled as a whole, at least for the CPU."""
    matching: str
    """The regular expression that selected the cases; empty if all were selected."""
    on_host: int
    """Number of cases with parts on the host, which were left out."""
    machine: Mapping[str, Any]
    """The machine of the run: system, CPU, and what the driver reports about the device."""
    models: Mapping[str, Any]
    """Results of each model: its status, its largest difference from the CPU's outputs relative to
    their largest element, the allowed difference, milliseconds per run, and the date."""

    @property
    def device(self) -> str:
        """The name that the device reports, without the parts in parentheses."""
        return re.sub(r"\s*\([^()]*(\([^()]*\))*[^()]*\)", "", self.results.run.device)

    @property
    def models_passed(self) -> int:
        """Number of models whose outputs are correct."""
        return sum(model["status"] == "pass" for model in self.models.values())

    def file_name(self) -> str:
        """The file name: ``cuda-nvidia-h200.json``, or ``cuda-nvidia-h200-some.json`` for some
        cases only."""
        text = f"{self.results.run.target} {self.device} {'some' if self.matching else ''}"
        return "-".join(re.findall(r"[a-z0-9]+", text.lower())) + ".json"

    def over(self, earlier: "DeviceReport") -> "DeviceReport":
        """This report, completed with results of `earlier` that it lacks: models, or all cases."""
        kept = self if self.results.total else earlier
        models = {**earlier.models, **self.models}
        return replace(self, results=kept.results, on_host=kept.on_host, models=models)

    def to_json(self) -> str:
        """Return the JSON text that `read_report` reads."""
        written = asdict(self)
        return readable_json({**written.pop("results"), **written})


def read_report(path: Path) -> DeviceReport:
    """Read the report in a file."""
    written = json.loads(path.read_text(encoding="utf-8"))
    own = {name: written.pop(name) for name in ("matching", "on_host", "machine", "models")}
    return DeviceReport(results_from_json(written), **own)


def read_reports() -> list[DeviceReport]:
    """Read all reports, in the order of targets and devices."""
    return [read_report(path) for path in sorted(FOLDER.glob("*.json"))]
