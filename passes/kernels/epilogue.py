"""Epilogues of kernels: elementwise ops on vectors while the accumulators are in registers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.query import splat_of
from .emitter import Registers, VectorEmitter

F32 = np.dtype(np.float32)

Body = Callable[[Mapping[ir.Value, ir.Value]], ir.Value]
"""Maps the vector of each graph value to the vector of the result."""


@dataclass(frozen=True)
class OutputPosition:
    """The position of a vector in the result: its first feature, and the offset of its first
    element; `mask` selects the valid lanes, if not all."""

    feature: ir.Value
    offset: ir.Value
    lanes: int
    mask: ir.Value | None = None


Epilogue = Callable[[list[OutputPosition], Registers], Registers]
"""Maps accumulators and their positions in the result to the vectors that are stored there."""


@dataclass(frozen=True)
class VectorEpilogue:
    """Elementwise ops on `root`, the accumulators, and on `leaves`."""

    root: ir.Value
    body: Body
    leaves: Mapping[ir.Value, "_Leaf"]
    key: tuple[object, ...]
    """Equal for epilogues that compute the same."""
    stored_dtype: np.dtype = F32
    """Element type to which the results are rounded when they are stored."""

    @staticmethod
    def nothing(root: ir.Value) -> "VectorEpilogue":
        """The empty epilogue: the accumulators unchanged."""
        return VectorEpilogue(root, lambda known: known[root], {}, ())

    @staticmethod
    def of(
        root: ir.Value,
        steps: Sequence[graph.GraphOp],
        others: Sequence[ir.Value],
        result: graph.TensorType,
        body: Body,
        stored_dtype: np.dtype = F32,
    ) -> "VectorEpilogue | None":
        """The epilogue of `steps`, whose rules work on vectors of f32; None if a result has another
        type, or one of `others` another kind of broadcast."""
        leaves = {value: _Leaf.of(value, result) for value in others if value != root}
        known = {value: leaf for value, leaf in leaves.items() if leaf is not None}
        if len(known) != len(leaves):
            return None
        if any(graph.type_of(step.operation.results[0]).dtype != np.float32 for step in steps):
            return None
        key = (stored_dtype, *map(repr, known.values()), *steps_key(steps, [root, *known]))
        return VectorEpilogue(root, body, known, key, stored_dtype)

    @property
    def memory(self) -> list[ir.Value]:
        """The leaves that a kernel reads from buffers, in order."""
        return [value for value, leaf in self.leaves.items() if leaf.splat is None]

    @property
    def reads_whole(self) -> bool:
        """True if some leaf has one element for each element of the result."""
        return any(leaf.whole for leaf in self.leaves.values())

    def apply(
        self,
        emitter: VectorEmitter,
        buffers: Sequence[ir.Value],
        positions: Sequence[OutputPosition],
        accumulators: Registers,
    ) -> Registers:
        """Compute the results of the `accumulators` at `positions`; `buffers` hold `memory`."""
        where = dict(zip(self.memory, buffers, strict=True))
        known: dict[tuple[ir.Value, ir.Value | int], ir.Value] = {}

        def load(value: ir.Value, at: ir.Value, position: OutputPosition) -> ir.Value:
            return emitter.load(where[value], at, position.mask, position.lanes)

        def read(value: ir.Value, position: OutputPosition) -> ir.Value:
            leaf = self.leaves[value]
            if leaf.whole:
                return load(value, position.offset, position)
            if leaf.splat is not None:
                key = (value, position.lanes)
                if key not in known:
                    known[key] = emitter.splat(leaf.splat, position.lanes)
                return known[key]
            key = (value, position.feature)
            if key not in known:
                known[key] = load(value, position.feature, position)
            return known[key]

        return [
            self.body({self.root: total, **{value: read(value, position) for value in self.leaves}})
            for position, total in zip(positions, accumulators, strict=True)
        ]


@dataclass(frozen=True)
class _Leaf:
    """Access pattern of an operand of the epilogue: one number, one per feature, or one per
    element."""

    splat: float | None = None
    whole: bool = False

    @staticmethod
    def of(value: ir.Value, result: graph.TensorType) -> "_Leaf | None":
        """The access pattern of `value`; None if it broadcasts in another way."""
        type_ = graph.type_of(value)
        if type_.dtype != result.dtype:
            return None
        splat = splat_of(value)
        if splat is not None:
            return _Leaf(splat=float(splat))
        if type_.shape == result.shape:
            return _Leaf(whole=True)
        *others, last = type_.shape or (1,)
        return _Leaf() if last == result.shape[-1] and all(s == 1 for s in others) else None


def steps_key(steps: Sequence[graph.GraphOp], values: Sequence[ir.Value]) -> Iterator[object]:
    """A key of `steps` on `values`, equal for steps that compute the same."""
    numbers = {value: number for number, value in enumerate(values)}
    for step in steps:
        operands = tuple(numbers[value] for value in step.operation.operands)
        yield step.operation.name, operands, repr(step.attrs)  # in which 0.0 is not -0.0
        numbers[step.operation.results[0]] = len(numbers)
