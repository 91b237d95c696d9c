"""Calibration of a machine: its devices measured on models of each class of operators."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import onnx
from onnx import TensorProto, helper

from ..errors import PlacementError
from ..profiling.machine import this_machine
from ..runtime import resolve_target
from ..runtime.device.discovery import on_this_machine
from ..runtime.threads.usable_cpus import usable_cpus
from .backends import PartBackend, open_backends
from .calibration import Calibration
from .calibration_models import COUNT, calibration_models, random_feeds
from .cost_model import DeviceCosts, Features, Sample, features
from .links import measure_links
from .model_parts import plan_model
from .reference_speed import ReferenceSpeed
from .region_graph import HOST, Link
from .region_work import value_bytes, works_of
from .regions import RegionPartitioner

Progress = Callable[[str, int, int], None]
Transferred = tuple[Sequence[int], Sequence[int]]
"""Bytes of each input and of each output."""

CALL_BYTES = 32
"""Size of the input and of the output of the model whose call is measured."""
REFERENCE_DEVICE = "cpu"
"""Device of the matmul that times are related to."""


def calibrate(
    devices: Sequence[str],
    threads: int | None = None,
    progress: Progress = lambda stage, done, total: None,
    models: Sequence[onnx.ModelProto] | None = None,
) -> Calibration:
    """Measure `devices`: the time of a call, of each class of operators, and of transfers.

    Models that a device refuses are left out for it. Transfers are no part of the times of
    operators. `models` replaces those that are measured. All
    times are those of the machine at its best moment of the calibration: they are measured in turns
    with a matmul, and multiplied by the least time of that. Raises `UsageError` for unknown devices
    and `DeviceError` for those that are not here.
    """
    backends = open_backends(devices, threads)
    found = Calibration(this_machine(threads))
    for name, backend in backends.items():
        if backend.memory != HOST:
            found.links |= measure_links(name, threads)
    near_bytes = near_cache_bytes(threads)
    total = COUNT if models is None else len(models)
    ratios: dict[str, list[tuple[float, Features, Transferred]]] = {name: [] for name in backends}
    (reference_backend,) = open_backends([REFERENCE_DEVICE], threads).values()
    with ReferenceSpeed(reference_backend) as reference:
        calls = _measure(_call_model(), backends, reference)
        for number, model in enumerate(calibration_models() if models is None else models):
            progress("operators", number, total)
            described = model_features(model, near_bytes), _transferred(model)
            for name, ratio in _measure(model, backends, reference).items():
                ratios[name].append((ratio, *described))
        unit = reference.best
    for name, measured in ratios.items():
        moved = [
            moved_seconds(found.links, backends[name].memory, *each) for _, _, each in measured
        ]
        here = moved_seconds(found.links, backends[name].memory, (CALL_BYTES,), (CALL_BYTES,))
        call = max(calls[name] * unit - here, 0.0)
        samples = [
            Sample(max(ratio * unit - transfers - call, 0.0), terms)
            for (ratio, terms, _), transfers in zip(measured, moved, strict=True)
        ]
        found.costs[name] = DeviceCosts(call, near_bytes, samples=samples)
        found.costs[name].refit()
    found.reference_seconds = unit
    return found


def moved_seconds(
    links: Mapping[tuple[str, str], Link],
    memory: str,
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> float:
    """Seconds to bring values of these sizes to a device's memory, and others back to the host."""
    if memory == HOST:
        return 0.0
    there, back = links[HOST, memory], links[memory, HOST]
    return sum(map(there.seconds, inputs)) + sum(map(back.seconds, outputs))


def _transferred(model: onnx.ModelProto) -> Transferred:
    """The sizes of the inputs and outputs of a model of fixed sizes."""
    types = plan_model(model).placement.types
    inputs = [value_bytes(types.get(each.name), {}) for each in model.graph.input]
    return inputs, [value_bytes(types.get(each.name), {}) for each in model.graph.output]


def near_cache_bytes(threads: int | None = None) -> int:
    """The L2 caches of so many threads."""
    return on_this_machine(resolve_target("cpu")).cpu.l2_bytes * (threads or usable_cpus())


def model_features(model: onnx.ModelProto, near_bytes: int) -> Features:
    """The features of all regions of a model of fixed sizes."""
    placement = plan_model(model).placement
    return features(works_of(placement, RegionPartitioner(placement).regions(), {}), near_bytes)


def _measure(
    model: onnx.ModelProto, backends: Mapping[str, PartBackend], reference: ReferenceSpeed
) -> dict[str, float]:
    """The time of a call of `model` on each backend that accepts it, over that of `reference`."""
    opened: dict[str, Any] = {}
    try:
        for name, backend in backends.items():
            try:
                opened[name] = backend.open(model)
            except PlacementError:  # the device lacks the operator
                continue
        feeds = random_feeds(model)
        return reference.ratios({n: partial(each.run, feeds) for n, each in opened.items()})
    finally:
        for each in opened.values():
            each.close()


def _call_model() -> onnx.ModelProto:
    """A model that takes next to no time beside its call."""
    shape = [CALL_BYTES // 4]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "call", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
