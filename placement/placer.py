"""Placement of a model's nodes on devices by their measured cost."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..compiler.driver import make_options, plan_parts
from ..compiler.model_signature import value_specs
from ..dialects import graph
from ..frontend.onnx import PartitionPlan
from ..frontend.onnx.partitioning.placement import Placement, ValueType
from ..passes.infra.report import Report
from ..runtime import CompiledModel, ProgressEvent, TensorSpec, ValueSpec
from .backends import PartBackend, open_backends
from .calibration import Calibration, read_calibration, write_calibration
from .confirmation import PLACED, gains, measure_placed
from .in_context import in_context
from .links import measure_links
from .measurement import RegionTimes, measure_regions
from .placed_model import open_parts
from .plan import PlacementPlan, make_placement_plan, read_device_of
from .region_graph import HOST, DeviceTable, Region, RegionGraph, RegionValue
from .regions import ModelRegion, RegionPartitioner
from .solver import assign

Feeds = Mapping[str, Any] | Callable[[Sequence[TensorSpec | ValueSpec]], Mapping[str, Any]]

_TEXT_BYTES = 4096
"""Assumed size of a value that is no tensor of numbers."""


def place(
    model: "str | os.PathLike[str] | bytes | Any",
    devices: Sequence[str],
    feeds: Feeds,
    *,
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
    calibration: str | os.PathLike[str] | None = None,
    progress: Callable[[ProgressEvent], None] | None = None,
) -> PlacementPlan:
    """Choose a device for every node of an ONNX model so that a call takes the least time.

    `devices` are targets of graphc (``cpu``, ``vulkan``), ``onnxruntime``, and ``host`` for numpy,
    in order of preference. The regions of the model are measured on each of them with `feeds`, an
    array for each input or a function that makes them from the specs of the inputs, and compared.
    A placement in parts is measured as a whole, too, and dropped unless it gains. `dims` fixes the
    sizes of the model, `calibration` names a file in which the times are kept for other models and
    calls.

    Raises `UsageError` for unknown devices, `PlacementError` for a region that none can run, and
    `VerificationError` if two devices differ by more than rounding.
    """
    started = time.monotonic()

    def notify(stage: str) -> None:
        if progress is not None:
            progress(ProgressEvent(stage, time.monotonic() - started))

    path = None if calibration is None else Path(calibration)
    backends = open_backends(devices, threads)
    known = read_calibration(path, threads)
    parts = _partition(model, dims)
    placement = parts.placement
    if callable(feeds):
        feeds = feeds(value_specs(parts.inputs()))
    partitioner = RegionPartitioner(placement)
    regions = partitioner.regions()
    times = measure_regions(placement, regions, backends, feeds, known, notify)
    notify("the whole model")
    whole = _measure_whole(placement, partitioner, times, backends, feeds, known)
    table = _table(backends, known, threads)
    if path is not None:
        write_calibration(known, path)
    region_graph = _region_graph(placement, regions, times, whole)
    assignment = assign(region_graph, table)
    plan = make_placement_plan(region_graph, assignment, table)
    notify("the placed model")
    measured = measure_placed(parts, plan, backends, feeds)
    if measured and not gains(measured):
        best = next(name for name in measured if name != PLACED)
        plan = make_placement_plan(region_graph, [best] * len(regions), table)
    return replace(plan, measured=measured)


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
    return open_parts(_partition(model, dims), device_of, backends)


def _partition(model: Any, dims: Mapping[str, int] | None) -> PartitionPlan:
    """The nodes of `model`, and the types of its values."""
    return plan_parts(model, make_options("cpu", dims=dims), Report())


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


def _measure_whole(
    placement: Placement,
    partitioner: RegionPartitioner,
    times: Sequence[RegionTimes],
    backends: Mapping[str, PartBackend],
    feeds: Mapping[str, Any],
    known: Calibration,
) -> dict[str, float]:
    """The seconds of the whole model on each device that runs all of its regions."""
    able = {name: each for name, each in backends.items() if all(name in t.seconds for t in times)}
    home = [index for index in partitioner.live() if not partitioner.is_shared(index)]
    if not able or not home:
        return {}
    (measured,) = measure_regions(placement, partitioner.with_values([home]), able, feeds, known)
    return measured.seconds


def _region_graph(
    placement: Placement,
    regions: Sequence[ModelRegion],
    times: Sequence[RegionTimes],
    whole: Mapping[str, float],
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
            value_bytes(placement.types.get(name)),
            producer.get(name),
            tuple(consumers.get(name, ())),
            name in outputs,
        )
        for name in dict.fromkeys([*consumers, *(o for o in outputs if o in producer)])
    ]
    edges = [len(region.part.inputs) + len(region.part.outputs) for region in regions]
    seconds = in_context([each.seconds for each in times], edges, whole)
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


def value_bytes(type_: ValueType) -> int:
    """The size of a value of `type_` in memory, with unknown sizes taken as 1."""
    return graph.known_bytes(type_) if isinstance(type_, graph.TensorType) else _TEXT_BYTES
