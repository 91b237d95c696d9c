"""Assignment of nodes to layers, with bends where long edges pass through a layer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

BENDS_PER_NODE, FREE_BENDS = 3, 300
NEAR = 4
"""Number of layers that any edge may cross, regardless of the total."""


@dataclass
class Layered:
    """A graph whose edges all go from one layer to the next.

    Nodes from `count` on are bends: points on edges that cross several layers. All edges that leave
    a node share one line of bends. `up` and `down` are the neighbours of each node and bend;
    `bends` are the bends of each node, from the layer below it downwards. `remote` edges have no
    bends: the lines would be too many to follow, and too slow to place.
    """

    count: int
    rank: list[int]
    up: list[list[int]]
    down: list[list[int]]
    bends: dict[int, list[int]] = field(default_factory=dict)
    remote: set[tuple[int, int]] = field(default_factory=set)

    def layers(self) -> list[list[int]]:
        """The nodes and bends of each layer, in the order of their numbers."""
        found: list[list[int]] = [[] for _ in range(max(self.rank, default=-1) + 1)]
        for node, rank in enumerate(self.rank):
            found[rank].append(node)
        return found


def layered(count: int, edges: Sequence[tuple[int, int]]) -> Layered:
    """The layers of a graph of `count` nodes, whose edges go from smaller to larger numbers."""
    rank = _ranks(count, edges)
    graph = Layered(count, list(rank), [[] for _ in range(count)], [[] for _ in range(count)])
    distinct = dict.fromkeys(edges)
    limit = _longest(rank, distinct)
    for source, target in distinct:
        if rank[target] - rank[source] - 1 > limit:
            graph.remote.add((source, target))
        else:
            _connect(graph, source, target)
    return graph


def _longest(rank: Sequence[int], edges: Iterable[tuple[int, int]]) -> int:
    """The maximum number of bends of an edge, so that the total stays within the budget."""
    needed: dict[int, set[int]] = {}
    for source, target in edges:
        needed.setdefault(source, set()).add(rank[target] - rank[source] - 1)
    lengths = sorted(length for lengths in needed.values() for length in lengths)
    budget = BENDS_PER_NODE * len(rank) + FREE_BENDS
    limit = NEAR
    for length in lengths:
        budget -= length
        if budget < 0:
            return limit
        limit = max(limit, length)
    return limit


def _connect(graph: Layered, source: int, target: int) -> None:
    line = graph.bends.setdefault(source, [])
    needed = graph.rank[target] - graph.rank[source] - 1
    while len(line) < needed:
        bend = len(graph.rank)
        graph.rank.append(graph.rank[source] + len(line) + 1)
        graph.up.append([])
        graph.down.append([])
        _link(graph, line[-1] if line else source, bend)
        line.append(bend)
    _link(graph, line[needed - 1] if needed else source, target)


def _link(graph: Layered, above: int, below: int) -> None:
    graph.down[above].append(below)
    graph.up[below].append(above)


def _ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The length of the longest path to each node; nodes with at least as many users as operands
    move down to their first user."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        above[target].append(source)
        below[source].append(target)
    rank = [0] * count
    for node in range(count):
        rank[node] = max((rank[source] + 1 for source in above[node]), default=0)
    for node in reversed(range(count)):
        if below[node] and len(above[node]) <= len(below[node]):
            rank[node] = min(rank[target] for target in below[node]) - 1
    return rank
