"""Where on its layer each node stands: straight lines, no overlaps.

U. Brandes and B. Köpf, "Fast and simple horizontal coordinate assignment" (2001): four layouts,
each aligned with neighbours above or below and packed to the left or right, and of each node the
mean of the two places in the middle. The order and the distances of all four hold for it, too.
"""

from collections.abc import Sequence
from itertools import pairwise

from .layering import Layered

Conflicts = set[tuple[int, int]]


def place_nodes(
    graph: Layered, layers: Sequence[Sequence[int]], widths: Sequence[float], gap: float
) -> list[float]:
    """The x of the middle of each node and bend; neighbours on a layer stand `gap` apart."""
    conflicts = _conflicts(graph, layers)
    candidates: list[list[float]] = []
    for above in (True, False):
        for left in (True, False):
            rows = [list(row) if left else list(row)[::-1] for row in layers]
            rows = rows if above else rows[::-1]
            near = graph.up if above else graph.down
            root = _align(rows, near, conflicts)
            places = _compact(rows, root, widths, gap)
            candidates.append(places if left else [-x for x in places])
    _bring_together(candidates, widths)
    middles = []
    for four in zip(*candidates, strict=True):
        _, low, high, _ = sorted(four)
        middles.append((low + high) / 2)
    return middles


def _conflicts(graph: Layered, layers: Sequence[Sequence[int]]) -> Conflicts:
    """Edges that cross a line between two bends: the line stays straight, they give way."""
    place = {node: i for layer in layers for i, node in enumerate(layer)}
    found: Conflicts = set()
    for upper, lower in pairwise(layers):
        first, scanned = 0, 0
        for i, node in enumerate(lower):
            inner = _bend_above(graph, node)
            if inner is None and i < len(lower) - 1:
                continue
            last = len(upper) - 1 if inner is None else place[inner]
            for other in lower[scanned : i + 1]:
                for above in graph.up[other]:
                    crosses = place[above] < first or place[above] > last
                    if crosses and not (above >= graph.count and other >= graph.count):
                        found.add((above, other))
            scanned, first = i + 1, last
    return found


def _bend_above(graph: Layered, node: int) -> int | None:
    if node < graph.count:
        return None
    return next((above for above in graph.up[node] if above >= graph.count), None)


def _align(rows: list[list[int]], near: list[list[int]], conflicts: Conflicts) -> list[int]:
    """Blocks of nodes in one vertical line: the first node of the block of each."""
    count = len(near)
    root, linked = list(range(count)), [False] * count
    place = {node: i for row in rows for i, node in enumerate(row)}
    for row in rows:
        furthest = -1
        for node in row:
            others = sorted(near[node], key=place.__getitem__)
            half = (len(others) - 1) // 2
            for other in others[half : len(others) // 2 + 1]:
                free = not linked[other] and place[other] > furthest
                if root[node] != node or not free or _in_conflict(other, node, conflicts):
                    continue
                root[node], linked[other] = root[other], True
                furthest = place[other]
    return root


def _in_conflict(a: int, b: int, conflicts: Conflicts) -> bool:
    return (a, b) in conflicts or (b, a) in conflicts


def _compact(
    rows: list[list[int]], root: list[int], widths: Sequence[float], gap: float
) -> list[float]:
    """Pack the blocks to the left, then pull each as far to the right as its neighbours allow."""
    left: dict[int, list[tuple[int, float]]] = {}
    right: dict[int, list[tuple[int, float]]] = {}
    for row in rows:
        for a, b in pairwise(row):
            distance = (widths[a] + widths[b]) / 2 + gap
            left.setdefault(root[b], []).append((root[a], distance))
            right.setdefault(root[a], []).append((root[b], distance))
    blocks = {root[node] for row in rows for node in row}
    order = _topological(blocks, left, right)
    x = dict.fromkeys(order, 0.0)
    for block in order:
        x[block] = max((x[a] + d for a, d in left.get(block, ())), default=0.0)
    for block in reversed(order):
        limit = min((x[b] - d for b, d in right.get(block, ())), default=x[block])
        x[block] = max(x[block], limit)
    return [x[root[node]] for node in range(len(root))]


def _topological(
    blocks: set[int],
    left: dict[int, list[tuple[int, float]]],
    right: dict[int, list[tuple[int, float]]],
) -> list[int]:
    waits = {block: len(left.get(block, ())) for block in blocks}
    order = [block for block in sorted(blocks) if not waits[block]]
    for block in order:
        for other, _ in right.get(block, ()):
            waits[other] -= 1
            if not waits[other]:
                order.append(other)
    return order


def _bring_together(candidates: list[list[float]], widths: Sequence[float]) -> None:
    """Move the layouts over the narrowest: packed to the left by their left edges, others right."""
    if not widths:
        return
    sides = []
    for places in candidates:
        halves = [width / 2 for width in widths]
        low = min(x - half for x, half in zip(places, halves, strict=True))
        high = max(x + half for x, half in zip(places, halves, strict=True))
        sides.append((low, high))
    low, high = min(sides, key=lambda side: side[1] - side[0])
    for number, (own_low, own_high) in enumerate(sides):
        shift = low - own_low if number % 2 == 0 else high - own_high
        candidates[number] = [x + shift for x in candidates[number]]
