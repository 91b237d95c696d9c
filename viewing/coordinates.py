"""Horizontal coordinates: nodes are aligned with their neighbours, and never overlap.

In alternating downward and upward sweeps over the layers, each node moves to the median of its
neighbours on the previous layer. Nodes that would come too close to each other are placed side by
side, at the median of their desired positions (isotonic regression by pooling adjacent violators).
Lines have more weight than nodes, so that they stay straight.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from statistics import median

from .layering import Layered

SWEEPS = 4
LINE_WEIGHT = 4


def place_nodes(
    graph: Layered, layers: Sequence[Sequence[int]], widths: Sequence[float], gap: float
) -> list[float]:
    """The x of the centre of each node and bend; neighbours on a layer are at least `gap` apart."""
    offsets = [_offsets(layer, widths, gap) for layer in layers]
    x = [0.0] * len(graph.rank)
    for layer, positions in zip(layers, offsets, strict=True):
        for node, position in zip(layer, positions, strict=True):
            x[node] = position - positions[-1] / 2
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        near = graph.up if downwards else graph.down
        order = range(1, len(layers)) if downwards else range(len(layers) - 2, -1, -1)
        for rank in order:
            wishes = [_wish(graph, node, near[node], x) for node in layers[rank]]
            positions = _fit(wishes, offsets[rank])
            for node, position in zip(layers[rank], positions, strict=True):
                x[node] = position
    return x


def _offsets(layer: Sequence[int], widths: Sequence[float], gap: float) -> list[float]:
    """The distance of each node from the first one, if nodes are packed as closely as allowed."""
    steps = [(widths[a] + widths[b]) / 2 + gap for a, b in pairwise(layer)]
    return list(accumulate(steps, initial=0.0))


def _wish(graph: Layered, node: int, near: Sequence[int], x: Sequence[float]) -> tuple[float, int]:
    """The desired x of `node`, regardless of others, and its weight."""
    if not near:
        return x[node], 1
    lines = node >= graph.count and any(other >= graph.count for other in near)
    return median([x[other] for other in near]), LINE_WEIGHT if lines else 1


def _fit(wishes: Sequence[tuple[float, int]], offsets: Sequence[float]) -> list[float]:
    """Positions close to the desired ones, at least as far apart as the offsets."""
    pools: list[list[tuple[float, int]]] = []
    values: list[float] = []
    for (wish, weight), offset in zip(wishes, offsets, strict=True):
        pool, value = [(wish - offset, weight)], wish - offset
        while values and values[-1] > value:
            pool = pools.pop() + pool
            values.pop()
            value = _weighted_median(pool)
        pools.append(pool)
        values.append(value)
    starts = [value for pool, value in zip(pools, values, strict=True) for _ in pool]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


def _weighted_median(pool: Sequence[tuple[float, int]]) -> float:
    ordered = [value for value, weight in sorted(pool) for _ in range(weight)]
    return median(ordered)
