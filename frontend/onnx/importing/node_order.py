"""A valid order of the nodes of a graph."""

import heapq
from collections.abc import Iterable, Sequence

import onnx

from ....onnx_names import read_names


def in_order(nodes: Iterable[onnx.NodeProto]) -> Sequence[tuple[int, onnx.NodeProto]]:
    """The nodes of a graph with their indices in it, in topological order.

    They keep the order of the graph where that is valid; converters to f16 append their casts at
    the end, and runtimes sort. Nodes in a cycle come last.
    """
    numbered = list(enumerate(nodes))
    reads = [list(read_names(node)) for _, node in numbered]
    producers = {name: i for i, node in numbered for name in node.output if name}
    if all(producers.get(name, -1) < i for i, names in enumerate(reads) for name in names):
        return numbered
    readers: list[list[int]] = [[] for _ in numbered]
    missing = [0] * len(numbered)
    for i, names in enumerate(reads):
        for producer in {producers[name] for name in names if name in producers}:
            readers[producer].append(i)
            missing[i] += 1
    ready = [i for i, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for reader in readers[order[-1]]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, reader)
    placed = set(order)
    return [numbered[i] for i in (*order, *(i for i, _ in numbered if i not in placed))]
