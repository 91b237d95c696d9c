"""Placement of a model's nodes on devices by their measured cost."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..compiler.model_signature import value_specs
from ..errors import PlacementError, UsageError
from ..frontend.onnx import PartitionPlan
from ..frontend.onnx.partitioning.placement import Placement
from ..runtime import CompiledModel, ProgressEvent, TensorSpec, ValueSpec
from .backends import PartBackend, open_backends
from .calibration import Calibration, read_calibration, write_calibration
from .confirmation import PLACED, gains, measure_placed
from .in_context import TimesInContext, in_context
from .links import measure_links
from .measurement import RegionTimes, describe_region, measure_regions
from .model_parts import plan_model
from .placed_model import open_parts
from .plan import PlacementPlan, make_placement_plan, read_device_of
from .prediction import is_predicted_to_gain, predict_regions, with_calls
from .region_graph import HOST, DeviceTable, Region, RegionGraph, RegionValue
from .region_work import named_sizes, value_bytes, works_of
from .regions import ModelRegion, RegionPartitioner
from .solver import assign

Feeds = Mapping[str, Any] | Callable[[Sequence[TensorSpec | ValueSpec]], Mapping[str, Any]]


def place(
    model: "str | os.PathLike[str] | bytes | Any",
    devices: Sequence[str],
    feeds: Feeds,
    *,
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
    calibration: str | os.PathLike[str] | None = None,
    measure: bool = True,
    progress: Callable[[ProgressEvent], None] | None = None,
) -> PlacementPlan:
    """Choose a device for every node of an ONNX model so that a call takes the least time.

    `devices` are targets of graphc (``cpu``, ``vulkan``), ``onnxruntime``, and ``host`` for numpy,
    in order of preference. The regions of the model are measured on each of them with `feeds`, an
    array for each input or a function that makes them from the specs of the inputs, and compared.
    A placement in parts is measured as a whole, too, and dropped unless it gains. `dims` fixes the
    sizes of the model, `calibration` names a file in which the times are kept for other models and
    calls. Without `measure` nothing runs: the times are predicted from the costs that
    `gc-calibrate` wrote to that file, and no results are compared.

    Raises `UsageError` for unknown devices or, without `measure`, for those that were not
    calibrated, `PlacementError` for a region that none can run, and `VerificationError` if two
    devices differ by more than rounding.
    """
    started = time.monotonic()

    def notify(stage: str) -> None:
        if progress is not None:
            progress(ProgressEvent(stage, time.monotonic() - started))

    path = None if calibration is None else Path(calibration)
    if path is None and not measure:
        raise UsageError("a placement by predicted times needs the file of gc-calibrate")
    backends = open_backends(devices, threads)
    known = read_calibration(path, threads)
    task = _Task.of(plan_model(model, dims), backends, feeds, known)
    table = _table(backends, known, threads)
    seconds = task.measured(table, notify) if measure else task.predicted()
    if path is not None and measure:
        write_calibration(known, path)
    region_graph = _region_graph(task.placement, task.regions, seconds, task.sizes)
    plan = make_placement_plan(region_graph, assign(region_graph, table), table)
    if not measure:
        measured = {}
        best = None if is_predicted_to_gain(plan) else min(plan.single, key=plan.single.__getitem__)
    else:
        notify("the placed model")
        measured = measure_placed(task.parts, plan, backends, task.feeds)
        loses = measured and not gains(measured)
        best = next(name for name in measured if name != PLACED) if loses else None
    if best is not None:
        plan = make_placement_plan(region_graph, [best] * len(task.regions), table)
    return replace(plan, measured=measured)


@dataclass(frozen=True)
class _Task:
    """A model to be placed: its regions, and the devices and values that they run with."""

    parts: PartitionPlan
    backends: Mapping[str, PartBackend]
    feeds: Mapping[str, Any]
    known: Calibration
    partitioner: RegionPartitioner
    regions: Sequence[ModelRegion]
    sizes: Mapping[str, int]

    @classmethod
    def of(
        cls,
        parts: PartitionPlan,
        backends: Mapping[str, PartBackend],
        feeds: Feeds,
        known: Calibration,
    ) -> "_Task":
        if callable(feeds):
            feeds = feeds(value_specs(parts.inputs()))
        partitioner = RegionPartitioner(parts.placement)
        sizes = named_sizes(parts.placement, feeds)
        return cls(parts, backends, feeds, known, partitioner, partitioner.regions(), sizes)

    @property
    def placement(self) -> Placement:
        return self.parts.placement

    def measured(self, table: DeviceTable, notify: Callable[[str], None]) -> list[TimesInContext]:
        """The times of the regions, measured alone and in the whole model, without transfers."""
        regions, backends = self.regions, self.backends
        times = measure_regions(self.placement, regions, backends, self.feeds, self.known, notify)
        notify("the whole model")
        whole = self._measure_whole(times, table)
        edges = [len(region.part.inputs) + len(region.part.outputs) for region in regions]
        alone = [
            self._without_transfers(each.seconds, region, table)
            for each, region in zip(times, regions, strict=True)
        ]
        return in_context(alone, edges, whole)

    def _without_transfers(
        self, seconds: Mapping[str, float], region: ModelRegion, table: DeviceTable
    ) -> dict[str, float]:
        """Times of a region less those of its operands' and results' way from and to the host,
        where a region that is measured alone has them."""

        def crossing(name: str, source: str, destination: str) -> float:
            size = value_bytes(self.placement.types.get(name), self.sizes)
            return table.transfer(size, source, destination)

        return {
            device: max(
                0.0,
                each
                - sum(crossing(name, HOST, device) for name in region.part.inputs)
                - sum(crossing(name, device, HOST) for name in region.part.outputs),
            )
            for device, each in seconds.items()
        }

    def predicted(self) -> list[TimesInContext]:
        """The times of the regions by the costs of the calibration."""
        works = works_of(self.placement, self.regions, self.sizes)
        times = predict_regions(
            self.partitioner, self.placement, self.regions, works, self.backends, self.known.costs
        )
        for region, each in zip(self.regions, times, strict=True):
            if not each.seconds:
                reasons = "; ".join(each.refusals.values())
                what = describe_region(self.placement, region)
                raise PlacementError(f"{what} runs nowhere: {reasons}")
        return with_calls(times, self.known.costs)

    def _measure_whole(self, times: Sequence[RegionTimes], table: DeviceTable) -> dict[str, float]:
        """The seconds of the whole model on each device that runs all of its regions."""
        able = {n: each for n, each in self.backends.items() if all(n in t.seconds for t in times)}
        partitioner = self.partitioner
        home = [index for index in partitioner.live() if not partitioner.is_shared(index)]
        if not able or not home:
            return {}
        whole = partitioner.with_values([home])
        (measured,) = measure_regions(self.placement, whole, able, self.feeds, self.known)
        return self._without_transfers(measured.seconds, whole[0], table)


def open_placed(
    model: "str | os.PathLike[str] | bytes | Any",
    plan: PlacementPlan | str | os.PathLike[str],
    *,
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
) -> CompiledModel:
    """Prepare `model` to run with the devices of a plan, or of a placement file.

    The parts of the result are each a `PlacedPart`, with its device.

    Raises `UsageError` for a file that does not fit the model, and `PlacementError` for a part that
    its device refuses.
    """
    device_of = plan.device_of if isinstance(plan, PlacementPlan) else read_device_of(Path(plan))
    backends = open_backends(sorted(set(device_of.values())), threads)
    return open_parts(plan_model(model, dims), device_of, backends)


def _table(
    backends: Mapping[str, PartBackend], known: Calibration, threads: int | None
) -> DeviceTable:
    for name, backend in backends.items():
        if backend.memory != HOST and (HOST, backend.memory) not in known.links:
            known.links |= measure_links(name, threads)
    return DeviceTable(tuple(backends), _between(backends, known))


def _between(backends: Mapping[str, PartBackend], known: Calibration) -> dict[tuple[str, str], Any]:
    """Links by device; those between two devices with memories of their own go over the host."""
    memory = {HOST: HOST, **{name: backend.memory for name, backend in backends.items()}}
    links = {}
    for source, source_memory in memory.items():
        for destination, memory_there in memory.items():
            if source_memory == memory_there:
                continue
            hops = [(source_memory, HOST), (HOST, memory_there)]
            found = [known.links[hop] for hop in hops if hop[0] != hop[1]]
            links[source, destination] = sum(found[1:], found[0])
    return links


def _region_graph(
    placement: Placement,
    regions: Sequence[ModelRegion],
    seconds: Sequence[TimesInContext],
    sizes: Mapping[str, int],
) -> RegionGraph:
    nodes = placement.model.graph.node
    producer = {n: r for r, each in enumerate(regions) for i in each.home for n in nodes[i].output}
    consumers: dict[str, list[int]] = {}
    for number, region in enumerate(regions):
        for name in region.part.inputs:
            consumers.setdefault(name, []).append(number)
    outputs = {output.name for output in placement.model.graph.output}
    values = [
        RegionValue(
            name,
            value_bytes(placement.types.get(name), sizes),
            producer.get(name),
            tuple(consumers.get(name, ())),
            name in outputs,
        )
        for name in dict.fromkeys([*consumers, *(o for o in outputs if o in producer)])
    ]
    described = [
        Region(
            str(number),
            tuple(nodes[i].name for i in region.home),
            each.seconds,
            boundary_seconds=each.boundary_seconds,
        )
        for number, (region, each) in enumerate(zip(regions, seconds, strict=True))
    ]
    return RegionGraph(described, values)
