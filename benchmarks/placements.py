"""Placed models beside each device alone, in turns.

    python -m graphc.benchmarks.placements model.onnx ... [--host-cases] [--calibration FILE]
        [--predict] [--devices cpu,onnxruntime] [--threads 1] [--json FILE]

A placement may take at most 1.02 times as long as the best single device: the last column says of
how many devices the model in parts makes use. `--host-cases` adds small models of strings,
sequences and images. The exit code is 1 if a model takes longer.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..debugging.random_feeds import make_feeds
from ..errors import PlacementError, VerificationError
from ..placement import open_placed, place
from ..placement.plan import PlacedRegion, PlacementPlan
from ..runtime import TensorSpec
from .compare import machine
from .host_models import host_cases
from .measure import MeasurementPlan, in_turns
from .table import format_table

LIMIT = 1.02
PLAN = MeasurementPlan(rounds=10, burst_seconds=0.1)
HEADER = ("model", "placed ms", "best ms", "best device", "ratio", "devices")


@dataclass(frozen=True)
class PlacementRow:
    """Milliseconds of a call of a placed model, and those on the best single device."""

    model: str
    placed: float
    best: float
    device: str
    ratio: float
    """The median over rounds of the ratio; 1 for a model that is placed on that device alone."""
    devices: tuple[str, ...]

    def cells(self) -> tuple[str, ...]:
        """The texts of a row of the table."""
        times = (f"{self.placed:.3f}", f"{self.best:.3f}", self.device, f"{self.ratio:.3f}")
        return (self.model, *times, ", ".join(self.devices))


def compare_placed(
    name: str, model: Any, feeds: Any, devices: tuple[str, ...], options: Mapping[str, Any]
) -> PlacementRow | None:
    """The row of `model`; None if no single device runs it."""
    kept: dict[str, Any] = {}

    def remembered(specs: Any) -> Mapping[str, Any]:
        kept.update(feeds(specs) if callable(feeds) else feeds)
        return kept

    plan = place(model, devices, remembered, **options)
    with ExitStack() as stack:
        calls: dict[str, Callable[[], Any]] = {}
        for each, device_of in _assignments(plan).items():
            try:
                opened = stack.enter_context(
                    open_placed(model, device_of, threads=options["threads"])
                )
            except PlacementError as error:
                print(f"{name}: {each}: {error}", file=sys.stderr)
                continue
            calls[each] = partial(opened.run, None, kept)
        timings = in_turns(calls, PLAN)
    placed = timings.pop("placed")
    if not timings:
        return None
    best = min(timings, key=lambda each: timings[each].median)
    used = tuple(sorted(set(plan.device_of.values())))
    ratio = 1.0 if used == (best,) else placed.ratio(timings[best])
    return PlacementRow(name, placed.median, timings[best].median, best, ratio, used)


def _assignments(plan: PlacementPlan) -> dict[str, PlacementPlan]:
    """The plan, and one for each device that runs the whole model."""
    alone = {
        device: PlacementPlan(
            plan.devices, tuple(PlacedRegion(region.nodes, device) for region in plan.regions)
        )
        for device in plan.single
    }
    return {"placed": plan, **alone}


def _models(flags: argparse.Namespace) -> Iterator[tuple[str, Any, Any]]:
    """The name, the model and the feeds of each case."""
    for path in flags.models:
        yield path.stem, str(path), _random_feeds
    if flags.host_cases:
        for case in host_cases((1000,)):
            yield case.name, case.model, case.feeds


def _random_feeds(specs: Any) -> dict[str, Any]:
    return make_feeds([spec for spec in specs if isinstance(spec, TensorSpec)], {}, {}, 0)


def main() -> int:
    """Compare the models of the command line; returns the exit code."""
    flags = _parser().parse_args()
    options = {
        "threads": flags.threads,
        "calibration": flags.calibration,
        "measure": not flags.predict,
    }
    rows: list[PlacementRow] = []
    for name, model, feeds in _models(flags):
        try:
            row = compare_placed(name, model, feeds, tuple(flags.devices.split(",")), options)
        except (PlacementError, VerificationError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        if row is not None:
            print(" ".join(row.cells()), file=sys.stderr, flush=True)
            rows.append(row)
    print(format_table(HEADER, [row.cells() for row in rows]))
    worse = [row.model for row in rows if row.ratio > LIMIT]
    print(f"{len(rows)} models, {len(worse)} more than 2 % worse than the best device: {worse}")
    if flags.json is not None:
        written = {"machine": machine(), "rows": [asdict(row) for row in rows]}
        flags.json.write_text(json.dumps(written, indent=1) + "\n")
    return 1 if worse else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Placed models beside each device alone.")
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--host-cases", action="store_true")
    parser.add_argument("--devices", default="cpu,onnxruntime")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--calibration", type=Path)
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--json", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main())
