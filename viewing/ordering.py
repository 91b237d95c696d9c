"""Order of nodes on their layers, with few edge crossings."""

from bisect import bisect_right, insort

from .layering import Layered

SWEEPS = 8
PATIENCE = 2
"""Number of sweeps without improvement after which the search ends."""


def order_layers(graph: Layered) -> list[list[int]]:
    """The layers, each in order from left to right.

    In alternating downward and upward sweeps, nodes are sorted by the mean position of their
    neighbours; the order with the fewest crossings wins.
    """
    layers = _first_order(graph)
    best, fewest, waited = [list(layer) for layer in layers], crossings(graph, layers), 0
    for sweep in range(SWEEPS):
        if not fewest or waited == PATIENCE:
            break
        downwards = sweep % 2 == 0
        order = range(1, len(layers)) if downwards else range(len(layers) - 2, -1, -1)
        neighbours = graph.up if downwards else graph.down
        position = _positions(layers)
        for rank in order:
            _sort_layer(layers[rank], neighbours, position)
        found = crossings(graph, layers)
        waited += 1
        if found < fewest:
            best, fewest, waited = [list(layer) for layer in layers], found, 0
    return best


def crossings(graph: Layered, layers: list[list[int]]) -> int:
    """The number of pairs of edges that cross."""
    position = _positions(layers)
    total = 0
    for layer in layers[:-1]:
        if len(layer) < 2:
            continue
        seen: list[int] = []
        for node in layer:
            ends = [position[below] for below in graph.down[node]]
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _first_order(graph: Layered) -> list[list[int]]:
    """The order of a depth-first walk along the edges."""
    layers: list[list[int]] = [[] for _ in graph.layers()]
    seen = [False] * len(graph.rank)
    for start in range(graph.count):
        waiting = [] if seen[start] else [start]
        while waiting:
            node = waiting.pop()
            if seen[node]:
                continue
            seen[node] = True
            layers[graph.rank[node]].append(node)
            waiting += [below for below in reversed(graph.down[node]) if not seen[below]]
    return layers


def _positions(layers: list[list[int]]) -> dict[int, int]:
    return {node: position for layer in layers for position, node in enumerate(layer)}


def _sort_layer(layer: list[int], neighbours: list[list[int]], position: dict[int, int]) -> None:
    if len(layer) < 2:
        return
    means = {}
    for node in layer:
        near = neighbours[node]
        means[node] = sum(position[other] for other in near) / len(near) if near else position[node]
    layer.sort(key=means.__getitem__)
    position.update(zip(layer, range(len(layer)), strict=True))
