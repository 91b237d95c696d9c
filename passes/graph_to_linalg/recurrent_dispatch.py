"""Calls of the recurrent kernel."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects import graph, iree
from ...dialects.iree.dispatches import Dispatch, splat
from ...dialects.symbolic import ceildiv
from ...mlir import arith, ir
from ..kernels.recurrent import ROWS, Cell, Recurrence, RecurrentEmitter, RecurrentMemory
from ..kernels.thread_team import counters_type
from .kernel_calls import define
from .lowering import Lowering, Size, plain_type

IN_TIME, OF_BATCH = (0, 1), (1,)
"""Dynamic counts that multiply a buffer's size: steps and sequences, or sequences alone."""


@dataclass(frozen=True)
class RecurrentDispatch:
    """A layer and its operands: gates [T, N, k*H], recurrence [H, k*H] or in panels, the scales
    [k*H] of one of i8, initial states [N, H], and optionally additional vectors [.., H] and lengths
    [N]."""

    shape: Recurrence
    gates: ir.Value
    recurrence: ir.Value
    scales: ir.Value | None
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
        results = [outputs, *[state] * len(self.states), scratch]
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
            name, team or ctx.index(ceildiv(batch, ROWS)), operands,
            [plain_type(type_) for type_ in results], [ctx.index(steps), ctx.index(batch)], sizes,
        )  # fmt: skip
        if team:
            values = self._meeting(values)
        return values[: 1 + len(self.states)]

    def _is_for_team(self, ctx: Lowering, batch: Size) -> bool:
        """Return whether threads share the panels of every step instead of the sequences: if these
        are few, or the recurrence exceeds the L2 of one core."""
        if not self.shape.packed or self.shape.panels < ctx.threads:
            return False
        enough = isinstance(batch, int) and batch > ROWS * (ctx.threads - 1)
        size = self.shape.elements * (4 if self.scales is None else 1)
        return not enough or size > ctx.cpu.l2_bytes

    def _meeting(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """The results of the dispatch after the counters of a team are added to its operands."""
        dispatch = Dispatch(ir.OpResult(values[0]).owner.operation)
        with ir.InsertionPoint(dispatch.op):
            zero = arith.constant(ir.IntegerType.get_signless(64), 0)
            counters = splat(zero, counters_type(self.shape.panels))
        return list(dispatch.hand_over(counters).op.results)

    def _weights(self) -> list[ir.Value]:
        return [self.recurrence, *([] if self.scales is None else [self.scales])]

    def _extras(self) -> list[ir.Value]:
        return [x for x in (self.extra_vectors, self.lengths) if x is not None]

    def _buffers(self, team: bool) -> list[iree.Buffer]:
        """The buffers of all operands and results, with counters after the operands for a
        `team`."""
        shape, f32 = self.shape, ir.F32Type.get()
        states = [iree.Buffer(f32, shape.hidden, OF_BATCH)] * len(self.states)
        weights = [iree.Buffer(ir.ShapedType(self.recurrence.type).element_type, shape.elements)]
        if self.scales is not None:
            weights.append(iree.Buffer(f32, shape.gates * shape.hidden))
        extras = []
        if self.extra_vectors is not None:
            extras.append(iree.Buffer(f32, ir.ShapedType(self.extra_vectors.type).shape[0]))
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
        ]

    def _memory(self, left: list[ir.Value]) -> RecurrentMemory:
        """All buffers except the counters, by name."""
        gates, recurrence = left.pop(0), left.pop(0)
        scales = None if self.scales is None else left.pop(0)
        initial = [left.pop(0) for _ in self.states]
        extra_vectors: list[tuple[ir.Value, int]] = []
        if self.extra_vectors is not None:
            buffer = left.pop(0)
            parts = ir.ShapedType(self.extra_vectors.type).shape[0] // self.shape.hidden
            extra_vectors = [(buffer, part) for part in range(parts)]
        lengths = None if self.lengths is None else left.pop(0)
        outputs, *last, scratch = left
        return RecurrentMemory(
            gates, recurrence, scales, initial, extra_vectors, lengths, outputs, last, scratch
        )
