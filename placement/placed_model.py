"""A model whose parts run on different devices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ExecutionError, FeedError, GraphcError, PlacementError, UsageError
from ..frontend.onnx.partitioning.placement import Placement
from ..runtime.execution.hybrid import Runnable
from .backends import PartBackend
from .measurement import whole_part
from .regions import RegionPartitioner


@dataclass(frozen=True)
class PlacedPart:
    """Nodes that run together on one device, and the names of what they take and give."""

    device: str
    nodes: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class PlacedModel:
    """Runs the parts of a model one after the other, each on its device.

    Feeds and results are arrays on the host. Values that no later part reads are freed.
    """

    def __init__(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        parts: Sequence[tuple[PlacedPart, Runnable]],
    ):
        self.inputs = tuple(inputs)
        """Names of the model's inputs."""
        self.outputs = tuple(outputs)
        """Names of the model's outputs, in the order of results."""
        self.parts = tuple(part for part, _ in parts)
        """The parts in the order in which they run."""
        self._runnables = [runnable for _, runnable in parts]
        self._closed = False

    def run(self, output_names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[Any]:
        """Run the model; return the outputs named, or all for None.

        Raises `FeedError` for inputs that are missing or unknown, `UsageError` for outputs that
        the model lacks and for a closed model, and `ExecutionError`, which names the device and
        the first node of the part that failed.
        """
        if self._closed:
            raise UsageError("the model is closed")
        if set(feeds) != set(self.inputs):
            raise FeedError(f"feeds are {sorted(feeds)}, the model takes {sorted(self.inputs)}")
        wanted = self.outputs if output_names is None else tuple(output_names)
        if unknown := [name for name in wanted if name not in self.outputs]:
            raise UsageError(f"no output named '{unknown[0]}'; there are {list(self.outputs)}")
        values = dict(feeds)
        for number, part in enumerate(self.parts):
            values |= self._run_part(number, {name: values[name] for name in part.inputs})
            for name in self._dead_after(number):
                values.pop(name, None)
        return [values[name] for name in wanted]

    def close(self) -> None:
        """Free all parts."""
        self._closed = True
        while self._runnables:
            self._runnables.pop().close()

    def _run_part(self, number: int, feeds: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self._runnables[number].run(feeds)
        except GraphcError as error:
            part = self.parts[number]
            where = f"part {number} on '{part.device}', which begins with '{part.nodes[0]}'"
            raise ExecutionError(f"{where}: {error}") from error

    def _dead_after(self, number: int) -> set[str]:
        needed = set(self.outputs).union(*(part.inputs for part in self.parts[number + 1 :]))
        return {*self.parts[number].inputs, *self.parts[number].outputs} - needed


def open_parts(
    placement: Placement, device_of: Mapping[str, str], backends: Mapping[str, PartBackend]
) -> PlacedModel:
    """The model with each node on its device, in as few parts as the dependencies allow.

    Raises `UsageError` if `device_of` names unknown nodes or devices or leaves out a node, and
    `PlacementError` for a part that its device refuses.
    """
    partitioner = RegionPartitioner(placement)
    placed = [index for index in partitioner.live() if not partitioner.is_shared(index)]
    _require_known(placement, placed, device_of, backends)
    homes = _homes(partitioner, placed, [device_of.get(n.name, "") for n in placement.nodes])
    parts: list[tuple[PlacedPart, Runnable]] = []
    for region in partitioner.with_values(homes):
        names = tuple(placement.nodes[index].name for index in region.home)
        device = device_of[names[0]]
        spec = PlacedPart(device, names, tuple(region.part.inputs), tuple(region.part.outputs))
        try:
            parts.append((spec, backends[device].open(whole_part(placement, region.part))))
        except PlacementError:
            for _, runnable in parts:
                runnable.close()
            raise
    constants = {tensor.name for tensor in placement.model.graph.initializer}
    inputs = [i.name for i in placement.model.graph.input if i.name not in constants]
    return PlacedModel(inputs, [o.name for o in placement.model.graph.output], parts)


def _require_known(
    placement: Placement,
    placed: Sequence[int],
    device_of: Mapping[str, str],
    backends: Mapping[str, PartBackend],
) -> None:
    names = {node.name for node in placement.nodes}
    if unknown := [name for name in device_of if name not in names]:
        raise UsageError(f"the placement names the node '{unknown[0]}', which the model lacks")
    if missing := [n for i in placed if (n := placement.nodes[i].name) not in device_of]:
        raise UsageError(f"the placement has no device for the node '{missing[0]}'")
    for name, device in device_of.items():
        if device not in backends:
            raise UsageError(
                f"the placement puts '{name}' on '{device}'; the devices are {', '.join(backends)}"
            )


def _homes(
    partitioner: RegionPartitioner, placed: Sequence[int], devices: Sequence[str]
) -> list[list[int]]:
    """Nodes by part, in the order in which the parts run.

    The level of a node is the number of times that a path to it changes devices; nodes of the same
    level and device do not depend on other devices' nodes of that level.
    """
    levels: dict[int, int] = {}
    homes: dict[tuple[int, str], list[int]] = {}
    for index in placed:
        producers = partitioner.producers(index)
        changes = [levels[p] + (devices[p] != devices[index]) for p in producers]
        levels[index] = max(changes, default=0)
        homes.setdefault((levels[index], devices[index]), []).append(index)
    return [homes[key] for key in sorted(homes)]
