"""Division of a graph between ONNX Runtime and Python, in as few segments as possible.

Each node has a level: that of the nodes that it reads, plus one where it runs elsewhere. The nodes
of a level make one segment. `Constant` nodes belong to every segment that reads them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import onnx
from onnx import helper

from ...onnx_names import read_names


@dataclass(frozen=True)
class EngineSegment:
    """Nodes that run together, by their indices, and the names of the values that they read from
    and give to others."""

    in_session: bool
    nodes: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class Divider:
    """Divides the nodes of `graph`, which must be in topological order."""

    def __init__(self, graph: onnx.GraphProto):
        self._graph = graph
        self._reads = [read_names(node) for node in graph.node]
        self._producers = {
            name: index for index, node in enumerate(graph.node) for name in node.output if name
        }
        self._initializers = {tensor.name for tensor in graph.initializer}
        self._results = [output.name for output in graph.output]
        self._constants = {
            index
            for index, node in enumerate(graph.node)
            if node.op_type == "Constant" and not set(node.output) & set(self._results)
        }

    def pull_in(self, wanted: Sequence[bool], allowed: Sequence[bool]) -> list[bool]:
        """`wanted`, and the `allowed` nodes between wanted ones: values that leave a session to
        come back are copied twice."""
        below = [False] * len(wanted)  # read a result of a wanted node, possibly indirectly
        above = [False] * len(wanted)
        for index in range(len(wanted)):
            below[index] = any(wanted[p] or below[p] for p in self._before(index))
        for index in reversed(range(len(wanted))):
            if wanted[index] or above[index]:
                for producer in self._before(index):
                    above[producer] = True
        each = zip(wanted, allowed, below, above, strict=True)
        return [is_wanted or (may and b and a) for is_wanted, may, b, a in each]

    def join_border(
        self, in_session: Sequence[bool], before: Sequence[bool], after: Sequence[bool]
    ) -> list[bool]:
        """`in_session`, and nodes next to it that join it: those of `after` that read its results
        and those of no other node, and those of `before` that give to nobody else."""
        joined = list(in_session)
        for index, may in enumerate(after):
            producers = [joined[p] for p in self._before(index)]
            joined[index] = joined[index] or (may and bool(producers) and all(producers))
        readers: list[list[bool]] = [[] for _ in joined]
        for index in reversed(range(len(joined))):
            node = self._graph.node[index]
            if before[index] and readers[index] and not set(node.output) & set(self._results):
                joined[index] = joined[index] or all(readers[index])
            for producer in self._before(index):
                readers[producer].append(joined[index])
        return joined

    def divide(self, in_session: Sequence[bool]) -> list[EngineSegment]:
        """The segments in execution order. `in_session` is True for the nodes of sessions."""
        levels = min((self._levels(in_session, first) for first in (True, False)), key=_count)
        homes: dict[int, list[int]] = {}
        for index, level in sorted(levels.items()):
            homes.setdefault(level, []).append(index)
        ordered = [home for _, home in sorted(homes.items())]
        inputs = [self._inputs(home) for home in ordered]
        wanted = {*self._results, *(name for names in inputs for name in names)}
        return [
            EngineSegment(
                in_session[home[0]],
                tuple(sorted({*home, *self._constants_of(home)})),
                names,
                tuple(n for i in home for n in self._graph.node[i].output if n in wanted),
            )
            for home, names in zip(ordered, inputs, strict=True)
        ]

    def alone(self, index: int) -> EngineSegment:
        """Node `index` as a segment of a session."""
        outputs = tuple(name for name in self._graph.node[index].output if name)
        nodes = tuple(sorted({index, *self._constants_of([index])}))
        return EngineSegment(True, nodes, self._inputs([index]), outputs)

    def _before(self, index: int) -> Iterator[int]:
        """The nodes before `index` whose results it reads, without constants."""
        for name in self._reads[index]:
            producer = self._producers.get(name)
            if producer is not None and producer < index and producer not in self._constants:
                yield producer

    def _levels(self, in_session: Sequence[bool], first: bool) -> dict[int, int]:
        levels: dict[int, int] = {}
        for index, side in enumerate(in_session):
            if index in self._constants:
                continue
            moved = (levels[p] + (side != in_session[p]) for p in self._before(index))
            levels[index] = max(moved, default=0 if side == first else 1)
            levels[index] = max(levels[index], 0 if side == first else 1)
        return levels

    def _constants_of(self, home: Sequence[int]) -> set[int]:
        producers = {self._producers.get(name, -1) for i in home for name in self._reads[i]}
        return producers & self._constants

    def _inputs(self, home: Sequence[int]) -> tuple[str, ...]:
        own = {*home, *self._constants_of(home)}
        names = dict.fromkeys(name for index in home for name in self._reads[index])
        return tuple(
            n for n in names if self._producers.get(n) not in own and n not in self._initializers
        )


def _count(levels: Mapping[int, int]) -> int:
    return len(set(levels.values()))


def segment_model(model: onnx.ModelProto, segment: EngineSegment) -> onnx.ModelProto:
    """`segment` as a model, with types where `model` has them."""
    graph = model.graph
    nodes = [graph.node[index] for index in segment.nodes]
    read = {name for node in nodes for name in read_names(node)}
    types = {each.name: each for each in (*graph.value_info, *graph.output, *graph.input)}
    made = helper.make_graph(
        nodes,
        graph.name,
        [types.get(name, onnx.ValueInfoProto(name=name)) for name in segment.inputs],
        [types.get(name, onnx.ValueInfoProto(name=name)) for name in segment.outputs],
        [tensor for tensor in graph.initializer if tensor.name in read],
    )
    return helper.make_model(
        made,
        opset_imports=model.opset_import,
        ir_version=model.ir_version,
        functions=model.functions,
    )
