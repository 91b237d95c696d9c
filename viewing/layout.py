"""Layered layout of a graph, from top to bottom.

Sugiyama's method: layers by longest paths, an order with few crossings, then coordinates. The run
time grows with the number of nodes and the number of layers that edges cross.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .coordinates import place_nodes
from .layering import Layered, layered
from .ordering import order_layers

LAYER_GAP, NODE_GAP, BEND_WIDTH = 46.0, 26.0, 6.0

Point = tuple[float, float]


@dataclass(frozen=True)
class GraphLayout:
    """Top left corners of the nodes and lines of the edges, in the order they were given.

    A line goes from the lower edge of its source, through points, to the upper edge of its target.
    `remote` edges are straight lines across other nodes, of which only the ends are drawn.
    """

    nodes: list[Point]
    edges: list[list[Point]]
    remote: set[tuple[int, int]]
    width: float
    height: float


def lay_out(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> GraphLayout:
    """Place nodes of the given widths and heights; edges go from smaller to larger numbers."""
    graph = layered(len(sizes), edges)
    layers = order_layers(graph)
    widths = [width for width, _ in sizes] + [BEND_WIDTH] * (len(graph.rank) - len(sizes))
    middles = place_nodes(graph, layers, widths, NODE_GAP)
    left = min((x - w / 2 for x, w in zip(middles, widths, strict=True)), default=0.0)
    middles = [x - left for x in middles]
    heights = [
        max((sizes[node][1] for node in layer if node < len(sizes)), default=0.0)
        for layer in layers
    ]
    tops = _tops(heights)
    nodes = [
        (middles[n] - sizes[n][0] / 2, tops[graph.rank[n]] + (heights[graph.rank[n]] - height) / 2)
        for n, (_, height) in enumerate(sizes)
    ]
    lines = [_line(graph, edge, sizes, nodes, middles, tops, heights) for edge in edges]
    width = max((x + w / 2 for x, w in zip(middles, widths, strict=True)), default=0.0)
    return GraphLayout(nodes, lines, graph.remote, width, tops[-1] + heights[-1] if layers else 0.0)


def _tops(heights: Sequence[float]) -> list[float]:
    tops, y = [], 0.0
    for height in heights:
        tops.append(y)
        y += height + LAYER_GAP
    return tops


def _line(
    graph: Layered,
    edge: tuple[int, int],
    sizes: Sequence[tuple[float, float]],
    nodes: Sequence[Point],
    middles: Sequence[float],
    tops: Sequence[float],
    heights: Sequence[float],
) -> list[Point]:
    source, target = edge
    points = [(middles[source], nodes[source][1] + sizes[source][1])]
    bends = [] if edge in graph.remote else graph.bends.get(source, [])
    for bend in bends[: graph.rank[target] - graph.rank[source] - 1]:
        rank = graph.rank[bend]
        points += [(middles[bend], tops[rank]), (middles[bend], tops[rank] + heights[rank])]
    return [*points, (middles[target], nodes[target][1])]
