"""Calls of the recurrent kernel."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects import graph, iree
from ...dialects.iree.dispatches import Dispatch, splat
from ...dialects.symbolic import ceildiv
from ...mlir import arith, ir
from ..kernels.quantized_state import QuantizedStateMemory
from ..kernels.recurrent import Cell, RecurrentEmitter
from ..kernels.recurrent_shape import IntegerWeights, Recurrence, RecurrentMemory
from ..kernels.thread_team import counters_type
from .kernel_calls import define
from .lowering import Lowering, Size, plain_type

IN_TIME, OF_BATCH = (0, 1), (1,)
"""Dynamic counts that multiply a buffer's size: steps and sequences, or sequences alone."""

TEAM_BYTES = 1 << 18
"""The size of a recurrence up to which threads wait longer for each other in a step than they save
by sharing it (measured, Zen 3)."""


@dataclass(frozen=True)
class RecurrentDispatch:
    """A layer and its operands: gates [T, N, k*H], recurrence [H, k*H] or in panels, what one of
    integers has beside it, initial states [N, H], and optionally additional vectors [.., H] and
    lengths [N]."""

    shape: Recurrence
    gates: ir.Value
    recurrence: ir.Value
    integers: IntegerWeights | None
    states: Sequence[ir.Value]
    extra_vectors: ir.Value | None
    lengths: ir.Value | None

    def run(
        self,
        ctx: Lowering,
        key: object,
        outputs: graph.TensorType,
        cell: Cell,
        early: Cell | None,
    ) -> list[ir.Value]:
        """Call the kernel; returns all outputs, then the last states. Equal keys mean equal
        cells."""
        steps, batch, hidden = outputs.shape
        state = outputs.with_shape((batch, hidden))
        scratch = outputs.with_shape((2 + self.shape.kept, batch, hidden))
        results = [outputs, *[state] * len(self.states), scratch, *self._quantized(state)]
        team = ctx.threads if self._is_for_team(ctx, batch) else 0
        operands = [self.gates, *self._weights(), *self.states, *self._extras()]

        def kernel(
            workgroup_id: ir.Value, steps: ir.Value, batch: ir.Value, *given: ir.Value
        ) -> None:
            buffers = list(given)
            counters = buffers.pop(len(operands)) if team else None
            memory = self._memory(buffers)
            emitter = RecurrentEmitter(self.shape, (steps, batch), memory, cell, early)
            if counters is None:
                emitter.sequences(workgroup_id)
            else:
                emitter.as_team(workgroup_id, team, counters)

        buffers = self._buffers(bool(team))
        key = (key, self.shape, team, tuple(map(str, buffers)))
        name = define(ctx, "recurrent", key, buffers, kernel, None, 2)
        sizes = [size for type_ in results for size in ctx.dynamic_sizes(type_)]
        values = iree.run_kernel(
            name, team or ctx.index(ceildiv(batch, self.shape.rows)), operands,
            [plain_type(type_) for type_ in results], [ctx.index(steps), ctx.index(batch)], sizes,
        )  # fmt: skip
        if team:
            values = self._meeting(values)
        return values[: 1 + len(self.states)]

    def _is_for_team(self, ctx: Lowering, batch: Size) -> bool:
        """Return whether threads share the panels of every step instead of the sequences: if these
        are few, or the recurrence exceeds the L2 of one core."""
        shape = self.shape
        if not shape.packed or shape.panels < ctx.threads:
            return False
        size = shape.elements * (4 if self.integers is None else 1)
        if size <= TEAM_BYTES:
            return False
        enough = isinstance(batch, int) and batch > shape.rows * (ctx.threads - 1)
        return not enough or size > ctx.cpu.l2_bytes

    def _meeting(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """The results of the dispatch after the counters of a team are added to its operands."""
        dispatch = Dispatch(ir.OpResult(values[0]).owner.operation)
        with ir.InsertionPoint(dispatch.op):
            zero = arith.constant(ir.IntegerType.get_signless(64), 0)
            counters = splat(zero, counters_type(self.shape.panels))
        return list(dispatch.hand_over(counters).op.results)

    def _weights(self) -> list[ir.Value]:
        return [self.recurrence, *([] if self.integers is None else self.integers.values)]

    def _quantized(self, state: graph.TensorType) -> list[graph.TensorType]:
        """The types of the buffers of quantized states: ranges, and values."""
        if not self.shape.quantizes:
            return []
        dtype = np.dtype(np.float32 if self.shape.dot is None else np.int8)
        values = state.with_dtype(dtype).with_shape((state.shape[0], self.shape.stride))
        return [state.with_shape((state.shape[0], 2 * self.shape.panels + 2)), values]

    def _extras(self) -> list[ir.Value]:
        return [x for x in (self.extra_vectors, self.lengths) if x is not None]

    def _buffers(self, team: bool) -> list[iree.Buffer]:
        """The buffers of all operands and results, with counters after the operands for a
        `team`."""
        shape, f32 = self.shape, ir.F32Type.get()
        states = [iree.Buffer(f32, shape.hidden, OF_BATCH)] * len(self.states)
        weights = [*map(_whole, self._weights())]
        extras = []
        if self.extra_vectors is not None:
            extras.append(_whole(self.extra_vectors))
        if self.lengths is not None:
            integer = ir.ShapedType(self.lengths.type).element_type
            extras.append(iree.Buffer(integer, 1, OF_BATCH))
        if team:
            counters = counters_type(shape.panels)
            extras.append(iree.Buffer(counters.element_type, counters.shape[0]))
        return [
            iree.Buffer(f32, shape.gates * shape.hidden, IN_TIME),
            *weights,
            *states,
            *extras,
            iree.Buffer(f32, shape.hidden, IN_TIME),
            *states,
            iree.Buffer(f32, (2 + shape.kept) * shape.hidden, OF_BATCH),
            *self._quantized_buffers(),
        ]

    def _quantized_buffers(self) -> list[iree.Buffer]:
        shape, f32 = self.shape, ir.F32Type.get()
        if not shape.quantizes:
            return []
        element = f32 if shape.dot is None else ir.IntegerType.get_signless(8)
        return [
            iree.Buffer(f32, 2 * shape.panels + 2, OF_BATCH),
            iree.Buffer(element, shape.stride, OF_BATCH),
        ]

    def _memory(self, left: list[ir.Value]) -> RecurrentMemory:
        """All buffers except the counters, by name."""
        gates, recurrence = left.pop(0), left.pop(0)
        integers = self.integers
        if integers is not None:
            integers = integers.like([left.pop(0) for _ in integers.values])
        initial = [left.pop(0) for _ in self.states]
        extra_vectors: list[tuple[ir.Value, int]] = []
        if self.extra_vectors is not None:
            buffer = left.pop(0)
            parts = ir.ShapedType(self.extra_vectors.type).shape[0] // self.shape.hidden
            extra_vectors = [(buffer, part) for part in range(parts)]
        lengths = None if self.lengths is None else left.pop(0)
        quantized = None
        if self.shape.quantizes:
            quantized = QuantizedStateMemory(values=left.pop(), ranges=left.pop())
        outputs, *last, scratch = left
        return RecurrentMemory(
            gates, recurrence, integers, initial, extra_vectors, lengths, outputs, last, scratch,
            quantized,
        )  # fmt: skip


def _whole(operand: ir.Value) -> iree.Buffer:
    """The buffer of an operand of static sizes."""
    type_ = ir.ShapedType(operand.type)
    return iree.Buffer(type_.element_type, math.prod(type_.shape))
