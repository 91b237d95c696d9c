"""Elementwise ops on the accumulators of a GPU kernel, for the vector that a thread stores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects import graph
from ...mlir import ir, vector
from ..infra.query import splat_of
from ..kernels.epilogue import steps_key
from ..kernels.thread_emitter import Finish, Number, Prepare, ThreadEmitter
from .elementwise import evaluate_scalars, values_from_outside
from .lowering import plain_element, scalar_constant
from .scalar import convert_scalar

F32 = np.dtype(np.float32)
Steps = Sequence[graph.GraphOp]


@dataclass(frozen=True)
class ThreadEpilogue:
    """Elementwise `steps` on `root`, the result of a product; all values of the result's shape."""

    root: ir.Value
    steps: Steps
    result: graph.TensorType
    whole: Sequence[ir.Value]
    """Values with one element for each of the result."""
    by_column: Sequence[ir.Value]
    """Values with one element for each column."""

    @staticmethod
    def of(root: ir.Value, steps: Steps, result: graph.TensorType) -> "ThreadEpilogue | None":
        """None if a value is read in another way."""
        whole: list[ir.Value] = []
        by_column: list[ir.Value] = []
        for value in values_from_outside(steps):
            type_ = graph.type_of(value)
            if value == root or splat_of(value) is not None:
                continue
            if type_.shape == result.shape:
                whole.append(value)
            elif type_.rank and graph.element_count(type_.shape) == type_.shape[-1]:
                if type_.shape[-1] != result.shape[-1]:
                    return None
                by_column.append(value)
            else:
                return None
        return ThreadEpilogue(root, steps, result, whole, by_column)

    @property
    def memory(self) -> list[ir.Value]:
        """The values that the kernel reads from memory."""
        return [*self.whole, *self.by_column]

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for epilogues that compute the same."""
        types = [str(graph.type_of(value)) for value in (self.root, *self.memory)]
        splats = [(number, str(graph.type_of(v)), str(splat_of(v))) for number, v in self._splats()]
        values = [self.root, *self.memory, *(v for _, v in self._splats())]
        read = (len(self.whole), *types, *splats, str(self.result.dtype))
        return (*read, *steps_key(self.steps, values))

    def _splats(self) -> list[tuple[int, ir.Value]]:
        values = values_from_outside(self.steps)
        return [(n, v) for n, v in enumerate(values) if v != self.root and v not in self.memory]

    def preparation(self, emitter: ThreadEmitter, buffers: Sequence[ir.Value]) -> Prepare:
        """The function that loads what a vector of the result depends on; `buffers` hold `memory`
        and the result."""
        *read, result = buffers

        def prepare(at: Number, column: Number, lanes: int) -> Finish:
            loaded = self._load(emitter, read, at, column, lanes)
            return lambda vector_: emitter.store(self._apply(loaded, vector_), result, at)

        return prepare

    def _load(
        self,
        emitter: ThreadEmitter,
        buffers: Sequence[ir.Value],
        at: Number,
        column: Number,
        lanes: int,
    ) -> dict[ir.Value, ir.Value]:
        """The vectors of what is in `memory` for the results from index `at` on; `buffers` hold
        it."""
        return {
            value: emitter.load(buffer, at if value in self.whole else column, lanes)
            for value, buffer in zip(self.memory, buffers, strict=True)
        }

    def _apply(self, loaded: Mapping[ir.Value, ir.Value], accumulators: ir.Value) -> ir.Value:
        """The vector of the result, from what is `loaded`."""
        (lanes,) = ir.VectorType(accumulators.type).shape
        found = {self.root: accumulators, **loaded}
        splats = {
            v: scalar_constant(splat_of(v), graph.type_of(v).dtype) for _, v in self._splats()
        }
        elements: list[ir.Value] = []
        for lane in range(lanes):
            known: dict[ir.Value, ir.Value] = {**splats}
            known |= {value: vector.extract(v, [], [lane]) for value, v in found.items()}
            known[self.root] = convert_scalar(known[self.root], F32, graph.type_of(self.root).dtype)
            evaluated = evaluate_scalars(self.steps, known)
            last = self.steps[-1].operation.results[0] if self.steps else self.root
            elements.append(evaluated[last])
        type_ = ir.VectorType.get([lanes], plain_element(self.result.dtype))
        return vector.from_elements(type_, elements)
