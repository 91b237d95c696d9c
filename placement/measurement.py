"""Times of regions, measured on every backend with the values that the model really computes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx

from ..benchmarks.measure import MeasurementPlan, in_turns
from ..debugging.difference import difference, tolerance_of
from ..errors import PlacementError, VerificationError
from ..frontend.onnx.partitioning.part_model import part_model
from ..frontend.onnx.partitioning.partition import Part
from ..frontend.onnx.partitioning.placement import Placement
from ..frontend.onnx.structural_digest import structural_digest
from ..runtime.execution.hybrid import Runnable
from .backends import PartBackend
from .calibration import Calibration
from .regions import ModelRegion

QUANTIZED_TOLERANCE = 2e-2
"""Relative difference of floats that a step of 8-bit values may cause, where a tie is rounded
otherwise."""

PLAN = MeasurementPlan(rounds=5, burst_seconds=0.005, warmup_runs=1)
"""The measurement of a region."""

Notify = Callable[[str], None]


@dataclass
class RegionTimes:
    """Seconds of a call by backend, and why other backends cannot run the region."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    refusals: dict[str, str] = field(default_factory=dict[str, str])


def whole_part(placement: Placement, part: Part) -> onnx.ModelProto:
    """`part` as a model with all of its constants."""
    return part_model(placement, Part(False, part.nodes, part.inputs, part.outputs))


def measure_regions(
    placement: Placement,
    regions: Sequence[ModelRegion],
    backends: Mapping[str, PartBackend],
    feeds: Mapping[str, Any],
    calibration: Calibration,
    notify: Notify = lambda _: None,
) -> list[RegionTimes]:
    """The times of every region on each backend; those that `calibration` has are taken from it.

    The regions run one after the other on `feeds` and what follows from them, so that indices are
    valid and sizes are real. Every backend must agree with the first one that runs the region;
    otherwise `VerificationError` names the region and the output.
    """
    values: dict[str, Any] = dict(feeds)
    last_use = {name: n for n, region in enumerate(regions) for name in region.part.inputs}
    found: list[RegionTimes] = []
    for number, region in enumerate(regions):
        notify(f"region {number + 1} of {len(regions)}")
        model = whole_part(placement, region.part)
        inputs = {name: values[name] for name in region.part.inputs}
        digest = region_digest(model, inputs)
        times, results = _measure(digest, model, inputs, backends, calibration)
        if not times.seconds:
            reasons = "; ".join(times.refusals.values())
            raise PlacementError(f"{describe_region(placement, region)} runs nowhere: {reasons}")
        found.append(times)
        values |= results
        for name in [name for name in values if last_use.get(name, -1) <= number]:
            del values[name]
    return found


def region_digest(model: onnx.ModelProto, inputs: Mapping[str, Any]) -> str:
    """The digest of a region on `inputs`, whose shapes count where the model leaves sizes open."""
    digest = structural_digest(model)
    tensors = [info.type.tensor_type for info in model.graph.input]
    if all(dim.HasField("dim_value") for tensor in tensors for dim in tensor.shape.dim):
        return digest
    shapes = ",".join("x".join(map(str, np.shape(inputs[i.name]))) for i in model.graph.input)
    return f"{digest} {shapes}"


def _measure(
    digest: str,
    model: onnx.ModelProto,
    inputs: Mapping[str, Any],
    backends: Mapping[str, PartBackend],
    calibration: Calibration,
) -> tuple[RegionTimes, dict[str, Any]]:
    times = RegionTimes()
    known = calibration.regions.setdefault(digest, {})
    wanted = [name for name in backends if name not in known]
    opened: dict[str, Runnable] = {}
    results: dict[str, dict[str, Any]] = {}
    try:
        for name in (*wanted, *(name for name in known if name in backends)):
            if name in known and results:  # its time is known, and others gave the values
                break
            try:
                opened[name] = backends[name].open(model)
            except PlacementError as error:
                times.refusals[name] = str(error)
                continue
            results[name] = opened[name].run(inputs)
            _require_agreement(model, results, name)
        calls = {n: partial(each.run, inputs) for n, each in opened.items() if n in wanted}
        if calls:
            known |= seconds_in_turns(calls, PLAN)
    finally:
        for each in opened.values():
            each.close()
    times.seconds = {name: known[name] for name in backends if name in known}
    return times, next(iter(results.values()), {})


def seconds_in_turns(
    calls: Mapping[str, Callable[[], Any]], plan: MeasurementPlan
) -> dict[str, float]:
    """The median seconds of each call, measured in turns."""
    return {name: timing.median / 1e3 for name, timing in in_turns(calls, plan).items()}


def _require_agreement(
    model: onnx.ModelProto, results: Mapping[str, Mapping[str, Any]], name: str
) -> None:
    """Raise `VerificationError` if `name` and the first backend differ by more than rounding."""
    first = next(iter(results))
    for output, expected in results[first].items():
        if not agree(expected, results[name][output], _is_quantized(model)):
            nodes = ", ".join(node.name for node in model.graph.node[:3])
            raise VerificationError(
                f"value '{output}' of nodes {nodes}: '{name}' and '{first}' compute different "
                "results; exclude one of them with --devices, and report this"
            )


def agree(expected: Any, actual: Any, is_quantized: bool = False) -> bool:
    """True if two results are the same but for rounding.

    Where values are quantized, those of 8 bits may differ by a step.
    """
    if not isinstance(expected, np.ndarray) or expected.dtype.kind in "OSU":
        return repr(expected) == repr(actual)
    apart = difference(np.asarray(actual), expected)
    if is_quantized and expected.dtype.kind in "iu" and expected.dtype.itemsize == 1:
        return apart.absolute <= 1
    least = QUANTIZED_TOLERANCE if is_quantized and expected.dtype.kind == "f" else 0.0
    return apart.relative <= max(tolerance_of(expected.dtype, None), least)


def _is_quantized(model: onnx.ModelProto) -> bool:
    return any("Quantize" in node.op_type or "QLinear" in node.op_type for node in model.graph.node)


def describe_region(placement: Placement, region: ModelRegion) -> str:
    """The nodes of `region`, for messages."""
    names = [placement.nodes[index].name for index in region.home]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"region of {', '.join(names[:3])}{more}"
