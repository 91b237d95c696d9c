"""A model whose parts run on different devices, as a hybrid model does on two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..compiler.driver import make_options, plan_metadata
from ..errors import PlacementError, UsageError
from ..frontend.onnx import PartitionPlan
from ..frontend.onnx.partitioning.placement import Placement
from ..runtime import CompiledModel, PartSpec
from ..runtime.execution.hybrid import Runnable
from ..runtime.model import hybrid_model
from .backends import PartBackend
from .measurement import whole_part
from .regions import ModelRegion, RegionPartitioner


@dataclass(frozen=True)
class PlacedPart(PartSpec):
    """Nodes that run together on one device."""

    device: str = ""

    def __str__(self) -> str:
        return f"{self.device}: {len(self.nodes)} node(s)"


def open_parts(
    plan: PartitionPlan, device_of: Mapping[str, str], backends: Mapping[str, PartBackend]
) -> CompiledModel:
    """The model with each node on its device, in as few parts as the dependencies allow.

    Raises `UsageError` if `device_of` names unknown nodes or devices or leaves out a node, and
    `PlacementError` for a part that its device refuses.
    """
    placement = plan.placement
    partitioner = RegionPartitioner(placement)
    placed = [index for index in partitioner.live() if not partitioner.is_shared(index)]
    _require_known(placement, placed, device_of, backends)
    homes = _homes(partitioner, placed, [device_of.get(n.name, "") for n in placement.nodes])
    parts: list[tuple[PartSpec, Runnable]] = []
    regions = partitioner.with_values(homes)
    devices = [
        device_of[placement.nodes[r.home[0]].name] if r.home else next(iter(backends))
        for r in regions
    ]
    results = {output.name for output in placement.model.graph.output}
    for region, device in zip(regions, devices, strict=True):
        names = tuple(placement.nodes[index].name for index in region.home)
        spec = PlacedPart(
            backends[device].compiles, names, tuple(region.part.inputs),
            tuple(region.part.outputs), device=device,
        )  # fmt: skip
        staying = [
            name
            for name in region.part.outputs
            if name not in results and _readers(name, regions, devices) == {device}
        ]
        try:
            opened = backends[device].open(whole_part(placement, region.part), staying)
            parts.append((spec, opened))
        except PlacementError:
            for _, runnable in parts:
                runnable.close()
            raise
    name = placement.model.graph.name or "model"
    return hybrid_model(plan_metadata(plan, name, make_options("cpu")), parts, None, None)


def _readers(name: str, regions: Sequence[ModelRegion], devices: Sequence[str]) -> set[str]:
    """The devices of the regions that read value `name`."""
    pairs = zip(regions, devices, strict=True)
    return {device for region, device in pairs if name in region.part.inputs}


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
