"""Values that nodes read, and a valid order of the nodes."""

import heapq
from collections.abc import Iterable, Iterator, Sequence

import onnx


def read_names(node: onnx.NodeProto) -> dict[str, None]:
    """The names that `node` reads, in order: its inputs, and the outer values of its subgraphs."""
    names = dict.fromkeys(name for name in node.input if name)
    if node.op_type == "Gradient":  # the only operator that names its operands in attributes
        names |= dict.fromkeys(_named_values(node))
    for subgraph in subgraphs(node):
        names |= dict.fromkeys(_free_names(subgraph))
    return names


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs among the attributes of `node`."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _named_values(node: onnx.NodeProto) -> Iterator[str]:
    for attribute in node.attribute:
        if attribute.name in ("xs", "zs", "y"):
            yield from (name.decode() for name in (*attribute.strings, attribute.s) if name)


def _free_names(graph: onnx.GraphProto) -> Iterator[str]:
    known = {i.name for i in graph.input} | {t.name for t in graph.initializer}
    known |= {tensor.values.name for tensor in graph.sparse_initializer}
    known |= {name for node in graph.node for name in node.output}
    for node in graph.node:
        yield from (name for name in read_names(node) if name not in known)
    yield from (output.name for output in graph.output if output.name not in known)


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
