"""Times of regions predicted from a calibration, without running them."""

from collections.abc import Mapping, Sequence

from ..errors import UsageError
from ..frontend.onnx.node_work import RegionWork
from ..frontend.onnx.partitioning.placement import Placement
from .backends import PartBackend
from .cost_model import DeviceCosts
from .in_context import TimesInContext
from .measurement import RegionTimes
from .plan import PlacementPlan
from .regions import ModelRegion, RegionPartitioner

GAIN = 0.85
"""A model in parts must be predicted to take at most this share of the time of the best single
device: predictions of parts are rarely off by more."""


def predict_regions(
    partitioner: RegionPartitioner,
    placement: Placement,
    regions: Sequence[ModelRegion],
    works: Sequence[RegionWork],
    backends: Mapping[str, PartBackend],
    costs: Mapping[str, DeviceCosts],
) -> list[RegionTimes]:
    """The times of regions with these `works` on each backend that is known to run them.

    A target of graphc runs what it compiles; ONNX Runtime and the host are taken to run all. Raises
    `UsageError` for a device that was not calibrated.
    """
    for name in backends:
        if name not in costs:
            raise UsageError(
                f"the device '{name}' was not calibrated: gc-calibrate --devices {name}"
            )
    found: list[RegionTimes] = []
    for region, work in zip(regions, works, strict=True):
        times = RegionTimes()
        refused = [index for index in region.home if not partitioner.native[index]]
        for name, backend in backends.items():
            if backend.compiles and refused:
                times.refusals[name] = f"{name}: {placement.nodes[refused[0]].reason}"
            else:
                times.seconds[name] = costs[name].seconds([work])
        found.append(times)
    return found


def with_calls(
    times: Sequence[RegionTimes], costs: Mapping[str, DeviceCosts]
) -> list[TimesInContext]:
    """Predicted `times`, where each value that crosses devices costs half a call on each side."""
    return [
        TimesInContext(each.seconds, {name: costs[name].call / 2 for name in each.seconds})
        for each in times
    ]


def is_predicted_to_gain(plan: PlacementPlan) -> bool:
    """True unless a single device is predicted to be about as fast."""
    if not plan.single or len(set(plan.device_of.values())) < 2:
        return True
    return (plan.seconds or 0.0) <= GAIN * min(plan.single.values())
