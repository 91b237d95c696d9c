"""Sensitivity of a model to the quantisation of each node, and the fewest nodes to keep in f32."""

from collections.abc import Callable, Collection, Sequence

import onnx

from .metrics import LossMeter

Place = Callable[[Collection[str]], onnx.ModelProto]
"""Makes the model in which these nodes alone are quantised."""


def sensitivities(
    nodes: Sequence[str], place: Place, meter: LossMeter, tick: Callable[[int], None]
) -> dict[str, float]:
    """The relative RMS error of the outputs if one node alone is quantised, for each of `nodes`.

    `tick` is called with the number of nodes that are done.
    """
    found = {}
    for number, name in enumerate(nodes, 1):
        found[name] = meter.error(place([name]))
        tick(number)
    return found


def fewest_kept(ranking: Sequence[str], holds: Callable[[Sequence[str]], bool]) -> list[str]:
    """The shortest beginning of `ranking` that `holds` accepts, by bisection.

    The ranking is by falling sensitivity, so that a longer beginning loses less accuracy. All of
    it, which leaves nothing quantised, is taken to be accepted.
    """
    low, high = 0, len(ranking)
    while low < high:
        middle = (low + high) // 2
        if holds(ranking[:middle]):
            high = middle
        else:
            low = middle + 1
    return list(ranking[:high])
