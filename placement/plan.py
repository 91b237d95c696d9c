"""A placement: the device of every node, with the reasons in seconds."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import OutputError, UsageError
from .region_graph import DeviceTable, RegionGraph

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

    @property
    def device_of(self) -> dict[str, str]:
        """The device of each node, by its name."""
        return {node: region.device for region in self.regions for node in region.nodes}

    def to_json(self) -> str:
        """The text of a placement file, in which the device of any node may be edited."""
        content = {"format": FORMAT, "devices": list(self.devices), "nodes": self.device_of}
        return json.dumps(content, indent=1)

    def __str__(self) -> str:
        return "\n".join(_explain(self))


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
    return PlacementPlan(table.devices, tuple(placed), graph.seconds(assignment, table), single)


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


def _explain(plan: PlacementPlan) -> Iterable[str]:
    yield f"predicted: {_milliseconds(plan.seconds)} a call"
    for name, seconds in plan.single.items():
        yield f"  all on {name}: {_milliseconds(seconds)}"
    for name, seconds in plan.measured.items():
        yield f"measured: {name} {_milliseconds(seconds)}"
    width = max((len(region.device) for region in plan.regions), default=0)
    for region in plan.regions:
        nodes = ", ".join(region.nodes[:3])
        nodes += f" and {len(region.nodes) - 3} more" if len(region.nodes) > 3 else ""
        times = ", ".join(f"{n} {_milliseconds(s)}" for n, s in region.seconds.items())
        moved = ", ".join(
            f"on {name} {_milliseconds(total - (plan.seconds or 0), sign=True)}"
            for name, total in region.total_if_moved.items()
        )
        yield f"{region.device.ljust(width)}  {nodes}: {times}" + (f"; {moved}" if moved else "")


def _milliseconds(seconds: float | None, *, sign: bool = False) -> str:
    return "unknown" if seconds is None else f"{seconds * 1e3:{'+' if sign else ''}.3f} ms"
