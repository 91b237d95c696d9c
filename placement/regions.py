"""Regions of an ONNX model: the nodes that stay together when the model is divided among devices.

A node whose kernel would be fused with what computes its operand joins that node's region.
Constants, dequantised weights and sizes are computed in each region that reads them.
"""

import math
from dataclasses import dataclass

from ..dialects.graph import TensorType
from ..frontend.onnx.partitioning.inlining import operator_of
from ..frontend.onnx.partitioning.partition import Part, Partitioner
from ..frontend.onnx.partitioning.placement import Placement

_FUSED = frozenset({
    "Abs", "Add", "BatchNormalization", "Cast", "Ceil", "Celu", "Clip", "Cos", "Div", "Elu", "Erf",
    "Exp", "FastGelu", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log",
    "Max", "Min", "Mish", "Mul", "Neg", "PRelu", "Pow", "QuantizeLinear", "QuickGelu", "Reciprocal",
    "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Sum",
    "Swish", "Tanh", "ThresholdedRelu", "Where",
    "Expand", "Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze",
})  # fmt: skip
"""Elementwise operators and views, which compilers fuse with the producer of their operand."""


@dataclass(frozen=True)
class ModelRegion:
    """A region of a model: its own nodes, and the part that a device would run, by node indices."""

    home: tuple[int, ...]
    part: Part


class RegionPartitioner(Partitioner):
    """Divides a model into regions, in topological order."""

    def __init__(self, placement: Placement):
        super().__init__(placement)
        self.readers: list[set[int]] = [set() for _ in self.nodes]
        """The nodes with a region that read a result of each node; -1 for the caller."""
        for index in self.live():
            if not self.is_shared(index):
                for producer in self.producers(index):
                    self.readers[producer].add(index)
        for name in self.results:
            if name in self.producer:
                self.readers[self.producer[name]].add(-1)

    def regions(self) -> list[ModelRegion]:
        """The regions of what is live."""
        homes: list[list[int]] = []
        region_of: dict[int, int] = {}
        for index in self.live():
            if self.is_shared(index):
                continue
            joined = self._joined(index, region_of)
            if joined is None:
                joined = len(homes)
                homes.append([])
            homes[joined].append(index)
            region_of[index] = joined
        return self.with_values(homes)

    def with_values(self, homes: list[list[int]]) -> list[ModelRegion]:
        """Parts with nodes `homes`, with the inputs and outputs of each."""
        pairs = [(home, Part(self.native[home[0]], self._with_shared(home))) for home in homes]
        self._add_constant_results(pairs)
        for _, part in pairs:
            part.inputs = self._inputs(part)
        wanted = set(self.results).union(*(part.inputs for _, part in pairs))
        for home, part in pairs:
            part.outputs += [n for i in home for n in self.nodes[i].output if n in wanted]
        return [ModelRegion(tuple(home), part) for home, part in pairs]

    def is_shared(self, index: int) -> bool:
        """True if each region that reads a node's result computes it for itself."""
        return self._is_constant(index) or (
            not set(self.nodes[index].output) & set(self.results)
            and (self._computes_sizes(index) or self._dequantizes(index))
        )

    def _dequantizes(self, index: int) -> bool:
        return operator_of(self.nodes[index]) == "DequantizeLinear" and self.native[index]

    def _joined(self, index: int, region_of: dict[int, int]) -> int | None:
        """The region whose kernel can compute node `index` as well.

        That is the last of those it reads: an earlier one would have to wait for a later one.
        """
        if operator_of(self.nodes[index]) not in _FUSED:
            return None
        producers = self.producers(index)
        if not producers:
            return None
        last = max(region_of[producer] for producer in producers)
        fused = [p for p in producers if region_of[p] == last]
        same_side = all(self.native[p] == self.native[index] for p in fused)
        joins = same_side and any(
            self._rejoins(p, index) and not self._is_larger(index, p) for p in fused
        )
        return last if joins else None

    def _is_larger(self, index: int, producer: int) -> bool:
        """True if the results of node `index` are larger than those of `producer`, which would be
        computed again for each of them: a gate of channels before the product with the image."""
        ours, theirs = self._elements(index), self._elements(producer)
        return ours is not None and theirs is not None and ours > theirs

    def _elements(self, index: int) -> int | None:
        """Elements of the largest result of a node; None where a size has a name."""
        types = [self.types.get(name) for name in self.nodes[index].output if name]
        tensors = [each for each in types if isinstance(each, TensorType)]
        if not tensors or len(tensors) < len(types) or not all(t.is_static for t in tensors):
            return None
        return max(math.prod(each.static_shape) for each in tensors)

    def _rejoins(self, producer: int, index: int) -> bool:
        """True if all that reads `producer` joins its region by way of node `index`, as the product
        ``x * sigmoid(x)`` does by way of the sigmoid."""
        others = self.readers[producer] - {index}
        reached = index
        while others:
            following = self.readers[reached]
            if len(following) != 1:
                return False
            (reached,) = following
            if reached < 0 or operator_of(self.nodes[reached]) not in _FUSED:
                return False
            others.discard(reached)
        return True

    def producers(self, index: int) -> list[int]:
        """The nodes with a region whose results node `index` reads, also through shared nodes."""
        found: list[int] = []
        work, seen = [index], set[int]()
        while work:
            for name in self.reads[work.pop()]:
                producer = self.producer.get(name)
                if producer is None or producer in seen:
                    continue
                seen.add(producer)
                (work if self.is_shared(producer) else found).append(producer)
        return found

    def _is_shared(self, index: int, native: bool) -> bool:
        del native  # any device may get the part
        return self.is_shared(index)
