"""Times of regions within a model, from their times alone and those of the whole.

A region that is measured alone pays for what a compiler saves where regions meet: a layout that is
converted once for all of them, an operand that never leaves the cache, the overhead of a call. The
whole model on one device shows how much that is. It is charged where a value crosses devices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TimesInContext:
    """Seconds of a region by device among its neighbours, and what each value costs that crosses
    its boundary."""

    seconds: Mapping[str, float]
    boundary_seconds: Mapping[str, float]


def in_context(
    alone: Sequence[Mapping[str, float]], edges: Sequence[int], whole: Mapping[str, float]
) -> list[TimesInContext]:
    """The times of regions which take `alone` seconds by device when each is a model of its own.

    `edges` counts the values that enter or leave each region, and `whole` has the seconds of the
    whole model on the devices that can run it. Times on other devices stay as they are.
    """
    factors = {
        device: seconds / max(sum(each.get(device, 0.0) for each in alone), 1e-12)
        for device, seconds in whole.items()
    }
    return [
        TimesInContext(
            {device: value * factors.get(device, 1.0) for device, value in times.items()},
            {
                device: value * max(0.0, 1 - factors.get(device, 1.0)) / max(count, 1)
                for device, value in times.items()
            },
        )
        for times, count in zip(alone, edges, strict=True)
    ]
