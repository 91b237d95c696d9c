"""Predicted times of a model's parts beside those that a profile measured.

Regions of which one kernel computes nodes are one part, with all kernels of these regions.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..frontend.onnx.node_work import RegionWork
from ..profiling.rows import Measurements
from .backends import open_backends
from .calibrate import REFERENCE_DEVICE
from .cost_model import DeviceCosts, Sample, features, relative_error
from .model_parts import plan_model
from .reference_speed import ReferenceSpeed
from .region_work import named_sizes, works_of
from .regions import RegionPartitioner

LIMIT = 0.15
"""Relative error up to which a prediction counts as right."""
BETTER = 0.1
"""Share of the calls of a kernel that are not slower than the time that is taken for it."""
LEAST_SHARE = 1e-3
"""Share of the time of all kernels below which a part is left out of the count."""


@dataclass(frozen=True)
class ComparedPart:
    """A part with its predicted seconds and the measured ones."""

    nodes: tuple[str, ...]
    classes: tuple[str, ...]
    works: tuple[RegionWork, ...]
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Predicted time over measured time, minus 1."""
        return relative_error(self.predicted, self.measured)


@dataclass(frozen=True)
class ProfileComparison:
    """The parts of a model, those that take longest first.

    `slowdown` is the time of a matmul now over its time at the calibration: the measured seconds
    are divided by it.
    """

    parts: tuple[ComparedPart, ...]
    slowdown: float

    @property
    def within(self) -> float:
        """Share of the parts whose prediction is right, of those that are not negligible."""
        counted = self._counted()
        return sum(abs(p.error) <= LIMIT for p in counted) / len(counted) if counted else 1.0

    @property
    def time_within(self) -> float:
        """Share of the measured time that is in parts whose prediction is right."""
        total = sum(part.measured for part in self.parts)
        right = sum(part.measured for part in self.parts if abs(part.error) <= LIMIT)
        return right / total if total else 1.0

    def _counted(self) -> list[ComparedPart]:
        least = LEAST_SHARE * sum(part.measured for part in self.parts)
        return [part for part in self.parts if part.measured > least]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values, ready for JSON."""
        parts = [
            {
                "nodes": list(part.nodes),
                "classes": list(part.classes),
                "predicted": part.predicted,
                "measured": part.measured,
            }
            for part in self.parts
        ]
        totals = {"within": self.within, "time_within": self.time_within}
        return {"slowdown": self.slowdown, **totals, "parts": parts}

    def samples(self, near_bytes: int, origin: str) -> list[Sample]:
        """The measured times, to calibrate by."""
        return [
            Sample(part.measured, features(part.works, near_bytes), origin)
            for part in self._counted()
        ]

    def __str__(self) -> str:
        return "\n".join(_table(self))


def compare_profile(
    profile: Measurements,
    model: Any,
    dims: Mapping[str, int] | None,
    feeds: Mapping[str, Any],
    costs: DeviceCosts,
    slowdown: float = 1.0,
) -> ProfileComparison:
    """The parts of `model`, an ONNX model that was profiled on `feeds`, by `costs`."""
    placement = plan_model(model, dims).placement
    regions = RegionPartitioner(placement).regions()
    works = works_of(placement, regions, named_sizes(placement, feeds))
    names = [tuple(placement.nodes[index].name for index in region.home) for region in regions]
    parts = [
        ComparedPart(
            tuple(name for index in group for name in names[index]),
            tuple(dict.fromkeys(works[index].main.value for index in group)),
            tuple(works[index] for index in group),
            costs.seconds(works[index] for index in group),
            seconds / slowdown,
        )
        for group, seconds in _measured_groups(profile, names)
    ]
    return ProfileComparison(tuple(sorted(parts, key=lambda part: -part.measured)), slowdown)


def repeated(comparison: ProfileComparison, costs: DeviceCosts) -> ProfileComparison:
    """`comparison` with the predictions of other costs."""
    parts = [replace(part, predicted=costs.seconds(part.works)) for part in comparison.parts]
    return replace(comparison, parts=tuple(parts))


def _measured_groups(
    profile: Measurements, names: Sequence[Sequence[str]]
) -> list[tuple[list[int], float]]:
    """Regions with these node names, joined where a kernel computes nodes of several, and the
    seconds of their kernels. Kernels without nodes belong to none."""
    region_of = {name: index for index, each in enumerate(names) for name in each}
    joined = list(range(len(names)))

    def first(index: int) -> int:
        while joined[index] != index:
            index = joined[index]
        return index

    rows: list[tuple[int, float]] = []
    best = _best_times(profile)
    for row in profile.rows:
        found = sorted({first(region_of[name]) for name in row.nodes if name in region_of})
        for other in found[1:]:
            joined[other] = found[0]
        each = best.get((row.kernel, row.nodes))
        seconds = row.seconds if each is None else row.calls * each
        rows += [(found[0], seconds)] if found else []
    totals: dict[int, float] = defaultdict(float)
    for index, each in rows:
        totals[first(index)] += each
    groups: dict[int, list[int]] = defaultdict(list)
    for index in range(len(names)):
        groups[first(index)].append(index)
    return [(groups[index], each) for index, each in totals.items()]


def _best_times(profile: Measurements) -> dict[tuple[str, tuple[str, ...]], float]:
    """Seconds of a call by kernel and nodes at its better moments, as a calibration has them."""
    times: dict[tuple[str, tuple[str, ...]], list[float]] = defaultdict(list)
    for event, site in profile.events:
        times[site.kernel, site.nodes].append(event.end - event.start)
    return {key: float(np.quantile(each, BETTER)) for key, each in times.items()}


def slowdown_now(reference_seconds: float, threads: int | None = None) -> float:
    """The time of the matmul of a calibration now, over `reference_seconds`."""
    (backend,) = open_backends([REFERENCE_DEVICE], threads).values()
    with ReferenceSpeed(backend) as reference:
        return reference.seconds() / reference_seconds


SHOWN = 12


def _table(comparison: ProfileComparison) -> list[str]:
    """The parts whose predictions miss the most time, and the totals."""
    parts = comparison.parts
    missed = sorted(parts, key=lambda part: -abs(part.predicted - part.measured))[:SHOWN]
    lines = [f"{'measured':>12} {'predicted':>12} {'error':>7}  part"]
    for part in missed:
        first, *others = part.nodes
        more = f" and {len(others)} more" if others else ""
        lines.append(
            f"{1e3 * part.measured:9.3f} ms {1e3 * part.predicted:9.3f} ms {part.error:+7.0%}  "
            f"{', '.join(part.classes)}: {first}{more}"
        )
    predicted, measured = (sum(getattr(p, n) for p in parts) for n in ("predicted", "measured"))
    lines += [
        f"{len(parts)} parts: predicted {1e3 * predicted:.3f} ms, measured "
        f"{1e3 * measured:.3f} ms; {comparison.within:.0%} of the parts and "
        f"{comparison.time_within:.0%} of the time within {LIMIT:.0%}",
        f"a matmul took {comparison.slowdown:.2f} times as long as at the calibration; measured "
        "times are divided by that",
    ]
    return lines
