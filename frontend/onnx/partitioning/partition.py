"""A model as parts that are compiled and parts that run on the host, as few as there can be.

Each node has a level: that of what it reads, plus one where it runs elsewhere. The nodes of one
level make one part, so that there are as many parts as the longest path through the model changes
sides, whatever the order of the nodes. Constants belong to every part that reads them, and so do
the small computations on sizes, so that a part knows the shapes it works on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx

from ....dialects import graph
from ....onnx_names import read_names
from .inlining import operator_of
from .placement import Placement, Where

_SIZES = ("Shape", "Size")


@dataclass
class Part:
    """Some nodes of a model, by their indices, and the values that they take and give."""

    native: bool
    nodes: list[int]
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


class Partitioner:
    """Groups the nodes of a placement."""

    def __init__(self, placement: Placement):
        proto = placement.model.graph
        self.types = placement.types
        self.nodes = proto.node
        self.native = [node.where is Where.NATIVE for node in placement.nodes]
        self.reads = [list(read_names(node)) for node in self.nodes]
        self.producer = {
            name: index for index, node in enumerate(self.nodes) for name in node.output if name
        }
        self.initializers = {tensor.name: tensor for tensor in proto.initializer}
        self.results = [output.name for output in proto.output]

    def parts(self) -> list[Part]:
        """The parts in the order in which they run."""
        live = self.live()
        levels = min((self._levels(live, first) for first in (True, False)), key=_count)
        homes: dict[int, list[int]] = {}
        for index, level in sorted(levels.items()):
            homes.setdefault(level, []).append(index)
        parts = [
            (home, Part(self.native[home[0]], self._with_shared(home)))
            for _, home in sorted(homes.items())
        ]
        self._add_constant_results(parts)
        wanted = set(self.results)
        for _, part in parts:
            part.inputs = self._inputs(part)
            wanted |= set(part.inputs)
        for home, part in parts:
            part.outputs += [n for i in home for n in self.nodes[i].output if n in wanted]
        return [part for _, part in parts if part.outputs]

    def live(self) -> list[int]:
        """The nodes whose results are used."""
        live: set[int] = set()
        work = [self.producer[name] for name in self.results if name in self.producer]
        while work:
            index = work.pop()
            if index not in live:
                live.add(index)
                work += [self.producer[n] for n in self.reads[index] if n in self.producer]
        return sorted(live)

    def _levels(self, live: Iterable[int], native_first: bool) -> dict[int, int]:
        """Levels of the nodes that have a place of their own; the even ones are of one side."""
        levels: dict[int, int] = {}
        for index in live:
            if self._is_constant(index):
                continue
            level = 0 if self.native[index] == native_first else 1
            for name in self.reads[index]:
                producer = self.producer.get(name, -1)
                if producer in levels:
                    moved = self.native[producer] != self.native[index]
                    level = max(level, levels[producer] + moved)
            levels[index] = level
        return levels

    def _is_constant(self, index: int) -> bool:
        node = self.nodes[index]
        return operator_of(node) == "Constant" and not set(node.output) & set(self.results)

    def _with_shared(self, home: list[int]) -> list[int]:
        """`home`, and the nodes of others that its part computes for itself."""
        native = self.native[home[0]]
        nodes, work = set(home), list(home)
        while work:
            for name in self.reads[work.pop()]:
                producer = self.producer.get(name)
                if producer is None or producer in nodes:
                    continue
                if self._is_shared(producer, native):
                    nodes.add(producer)
                    work.append(producer)
        return sorted(nodes)

    def _is_shared(self, index: int, native: bool) -> bool:
        """True if a part of that kind computes the node for itself."""
        return self._is_constant(index) or (native and self._computes_sizes(index))

    def _computes_sizes(self, index: int) -> bool:
        """Return whether a node computes a few integers from sizes of tensors, or from a few
        integers."""
        node = self.nodes[index]
        return (
            self.native[index]
            and all(self._is_small(name) for name in node.output if name)
            and (operator_of(node) in _SIZES or all(map(self._is_small, self.reads[index])))
        )

    def _is_small(self, name: str) -> bool:
        if name in self.initializers:
            return True
        type_ = self.types.get(name)
        if not isinstance(type_, graph.TensorType) or type_.rank > 1:
            return False
        return type_.dtype == np.bool_ or graph.is_integer(type_.dtype)

    def _inputs(self, part: Part) -> list[str]:
        own = {name for index in part.nodes for name in self.nodes[index].output}
        read = dict.fromkeys(name for index in part.nodes for name in self.reads[index])
        return [name for name in read if name not in own and name not in self.initializers]

    def _add_constant_results(self, parts: list[tuple[list[int], Part]]) -> None:
        """Initializers that are results of the model come from some part that can hold them."""
        for name in dict.fromkeys(self.results):
            if name not in self.initializers:
                continue
            native = self.initializers[name].data_type != onnx.TensorProto.STRING
            part = next((p for _, p in parts if p.native == native), None)
            if part is None:
                part = Part(native, [])
                parts.append(([], part))
            part.outputs.append(name)


def _count(levels: Mapping[int, int]) -> tuple[int, int]:
    """The number of parts, then the level of the last one."""
    return len(set(levels.values())), max(levels.values(), default=0)
