"""The last word on a placement: the model in parts beside the best single device.

Predictions add up what was measured apart; only the model itself shows what that leaves out.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from ..benchmarks.measure import MeasurementPlan
from ..frontend.onnx import PartitionPlan
from .backends import PartBackend
from .measurement import seconds_in_turns
from .placed_model import open_parts
from .plan import PlacementPlan

PLACED = "placed"
PLAN = MeasurementPlan(rounds=10, burst_seconds=0.05)
GAIN = 0.98
"""A model in parts must take at most this share of the time of the best single device."""


def measure_placed(
    parts: PartitionPlan,
    plan: PlacementPlan,
    backends: Mapping[str, PartBackend],
    feeds: Mapping[str, Any],
) -> dict[str, float]:
    """Seconds of a call of the model in parts (``placed``) and on the best single device.

    Nothing if the plan needs one device alone, or no device can run the whole model.
    """
    if len(set(plan.device_of.values())) < 2 or not plan.single:
        return {}
    best = min(plan.single, key=lambda name: plan.single[name])
    alone = dict.fromkeys(plan.device_of, best)
    models = {
        PLACED: open_parts(parts, plan.device_of, backends),
        best: open_parts(parts, alone, backends),
    }
    try:
        calls = {name: partial(model.run, None, feeds) for name, model in models.items()}
        return seconds_in_turns(calls, PLAN)
    finally:
        for model in models.values():
            model.close()


def gains(measured: Mapping[str, float]) -> bool:
    """True if the model in parts is faster by more than the noise of a measurement."""
    return measured[PLACED] <= GAIN * min(s for name, s in measured.items() if name != PLACED)
