"""A placement: the device of every node, with the reasons in seconds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import OutputError, UsageError
from .explanation import explain, summarize
from .region_graph import DeviceTable, RegionGraph, RegionValue

FORMAT = 1


@dataclass(frozen=True)
class PlacedRegion:
    """A region on its device, and the predicted seconds of a whole call by its alternatives.

    `total_if_moved` maps other devices to the time of a call with this region alone moved there.
    """

    nodes: tuple[str, ...]
    device: str
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    total_if_moved: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class PlacedValue:
    """A value that regions give to regions or the caller, by their indices; None for the caller.

    `crossings` has the predicted seconds of its way to each device that it is moved to.
    """

    name: str
    bytes: int
    producer: int | None
    consumers: tuple[int, ...]
    is_output: bool = False
    crossings: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class PlacementPlan:
    """The devices of all nodes of a model, and the predicted seconds of a call.

    `single` has the predicted seconds of a call on each device that can run the whole model.
    `measured` has those of the model in parts (``placed``) and of the best single device, if parts
    of it were predicted to gain; the plan is that of the faster one.
    """

    devices: tuple[str, ...]
    regions: tuple[PlacedRegion, ...]
    seconds: float | None = None
    single: Mapping[str, float] = field(default_factory=dict[str, float])
    measured: Mapping[str, float] = field(default_factory=dict[str, float])
    values: tuple[PlacedValue, ...] = ()

    @property
    def device_of(self) -> dict[str, str]:
        """The device of each node, by its name."""
        return {node: region.device for region in self.regions for node in region.nodes}

    def to_json(self) -> str:
        """The text of a placement file, in which the device of any node may be edited. Its `why`
        is for readers, and for the page of gc-view."""
        content = {"format": FORMAT, "devices": list(self.devices), "nodes": self.device_of}
        return json.dumps({**content, "why": self.reasons()}, indent=1)

    def reasons(self) -> dict[str, Any]:
        """The predicted and measured times as plain values, ready for JSON."""
        regions = [
            {
                "nodes": list(region.nodes),
                "device": region.device,
                "seconds": dict(region.seconds),
                "moving": {name: total - (self.seconds or 0.0)
                           for name, total in region.total_if_moved.items()},
            }
            for region in self.regions
        ]  # fmt: skip
        values = [asdict(value) for value in self.values]
        totals = {"seconds": self.seconds, "single": dict(self.single)}
        return {**totals, "measured": dict(self.measured), "regions": regions, "values": values}

    def explanation(self) -> str:
        """The reasons in full: each region with the cost of moving it, and every transfer."""
        return "\n".join(explain(self.reasons(), self.devices))

    def __str__(self) -> str:
        return "\n".join(summarize(self.reasons()))


def make_placement_plan(
    graph: RegionGraph, assignment: Sequence[str], table: DeviceTable
) -> PlacementPlan:
    """The plan for `assignment`, with its predicted seconds and those of its alternatives."""

    def moved(index: int, device: str) -> float:
        return graph.seconds([*assignment[:index], device, *assignment[index + 1 :]], table)

    placed = [
        PlacedRegion(
            region.nodes,
            device,
            dict(region.seconds),
            {name: moved(index, name) for name in region.seconds if name != device},
        )
        for index, (region, device) in enumerate(zip(graph.regions, assignment, strict=True))
    ]
    single = {
        name: graph.seconds([name] * len(placed), table)
        for name in table.devices
        if all(name in region.seconds for region in graph.regions)
    }
    values = tuple(_placed_value(graph, value, assignment, table) for value in graph.values)
    seconds = graph.seconds(assignment, table)
    return PlacementPlan(table.devices, tuple(placed), seconds, single, values=values)


def _placed_value(
    graph: RegionGraph, value: RegionValue, assignment: Sequence[str], table: DeviceTable
) -> PlacedValue:
    source = graph.source(value, assignment)
    ways = {
        destination: graph.crossing_seconds(value, source, destination, table)
        for destination in sorted(graph.destinations(value, assignment))
    }
    crossings = {destination: seconds for destination, seconds in ways.items() if seconds}
    return PlacedValue(
        value.name, value.bytes, value.producer, value.consumers, value.is_output, crossings
    )


def read_device_of(path: Path) -> dict[str, str]:
    """The device of each node in a placement file. Raises `UsageError`."""
    try:
        content = json.loads(path.read_text())
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r} is not {FORMAT}")
        return {str(node): str(device) for node, device in content["nodes"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"'{path}' is no placement file: {error}") from error


def write_plan(plan: PlacementPlan, path: Path) -> None:
    """Write `plan` to a placement file. Raises `OutputError`."""
    try:
        path.write_text(plan.to_json() + "\n")
    except OSError as error:
        raise OutputError(f"cannot write '{path}': {error.strerror}") from error
