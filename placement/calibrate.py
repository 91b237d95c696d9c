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
from .region_graph import HOST
from .region_work import works_of
from .regions import RegionPartitioner

Progress = Callable[[str, int, int], None]

REFERENCE_DEVICE = "cpu"
"""Device of the matmul that times are related to."""


def calibrate(
    devices: Sequence[str],
    threads: int | None = None,
    progress: Progress = lambda stage, done, total: None,
    models: Sequence[onnx.ModelProto] | None = None,
) -> Calibration:
    """Measure `devices`: the time of a call, of each class of operators, and of transfers.

    Models that a device refuses are left out for it. `models` replaces those that are measured. All
    times are those of the machine at its best moment of the calibration: they are measured in turns
    with a matmul, and multiplied by the least time of that. Raises `UsageError` for unknown devices
    and `DeviceError` for those that are not here.
    """
    backends = open_backends(devices, threads)
    near_bytes = near_cache_bytes(threads)
    total = COUNT if models is None else len(models)
    ratios: dict[str, list[tuple[float, Features]]] = {name: [] for name in backends}
    (reference_backend,) = open_backends([REFERENCE_DEVICE], threads).values()
    with ReferenceSpeed(reference_backend) as reference:
        calls = _measure(_call_model(), backends, reference)
        for number, model in enumerate(calibration_models() if models is None else models):
            progress("operators", number, total)
            described = model_features(model, near_bytes)
            for name, ratio in _measure(model, backends, reference).items():
                ratios[name].append((ratio, described))
        unit = reference.best
    found = Calibration(this_machine(threads), reference_seconds=unit)
    for name, pairs in ratios.items():
        call = calls[name]
        samples = [Sample(max(ratio - call, 0.0) * unit, terms) for ratio, terms in pairs]
        found.costs[name] = DeviceCosts(call * unit, near_bytes, samples=samples)
        found.costs[name].refit()
    for name, backend in backends.items():
        if backend.memory != HOST:
            progress(f"transfers of {name}", total, total)
            found.links |= measure_links(name, threads)
    return found


def near_cache_bytes(threads: int | None = None) -> int:
    """The second-level caches of so many threads."""
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
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "call", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
