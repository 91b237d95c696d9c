"""Recurrent cells: the recurrent kernel if it applies, else a loop over time on the host side.

A step of the loop is the matmul of the state by the recurrence, added to the gates of the step, and
one generic for all elementwise ops of the cell. The gates are side by side and read as slices.
"""

import math as pymath
from collections.abc import Callable, Sequence

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...errors import LoweringError
from ...mlir import arith, ir, math
from ..infra.query import constant_array
from ..kernels import scalar_functions
from ..kernels.emitter import Registers
from ..kernels.group_dot import INT8_DOTS, GroupDot, WideningDot, exceeds_pairs
from ..kernels.range_quantization import scale_and_zero_point, steps_from_zero_point
from ..kernels.recurrent import Cell
from ..kernels.recurrent_shape import IntegerWeights, Recurrence
from ..kernels.vector_registers import state_width
from . import loops
from .aliasing import owned_zeros
from .contraction import multiply
from .generic import generic, parallel, projection
from .int8_matmul import pair_products
from .lowering import Lowering, Size, describe, lowers
from .matmul_operands import Matmul, TypedTensor
from .movement import extract_slice, insert_slice, reshape_tensor
from .operands import constant_tensor
from .recurrent_dispatch import RecurrentDispatch

Scalar = ir.Value
Function = Callable[[Scalar], Scalar]
StepFunction = Callable[["_Layer", ir.Value, list[ir.Value]], list[ir.Value]]
"""Maps the gates of a step [N, k*H] and the state to the output of the step and the next state."""

_STEP = "recurrence.step"
"""The named size of the step number, in the scope of a step."""

L3_SHARE = 1
"""Share of the L3 up to which the kernel is used, which reads all of a recurrence in every step.
Larger recurrences are for threads to share."""

ROWS, COLUMNS = 0, 1
"""The loops of a cell's generic, over the batch and over the state."""


def _elu(x: Scalar, alpha: Scalar) -> Scalar:
    below = arith.mulf(
        alpha, scalar_functions.expm1(arith.minimumf(x, scalar_functions.like(0, x)))
    )
    return arith.select(scalar_functions.compare("OLT", x, 0), below, x)


def _hard_sigmoid(x: Scalar, alpha: Scalar, beta: Scalar) -> Scalar:
    line = arith.addf(arith.mulf(alpha, x), beta)
    above = arith.maximumf(line, scalar_functions.like(0, x))
    return arith.minimumf(above, scalar_functions.like(1, x))


def _leaky_relu(x: Scalar, alpha: Scalar) -> Scalar:
    return arith.select(scalar_functions.compare("OLT", x, 0), arith.mulf(alpha, x), x)


def _softsign(x: Scalar) -> Scalar:
    return arith.divf(x, arith.addf(scalar_functions.like(1, x), math.absf(x)))


def _thresholded_relu(x: Scalar, alpha: Scalar) -> Scalar:
    return arith.select(scalar_functions.compare("OGT", x, alpha), x, scalar_functions.like(0, x))


ACTIVATIONS: dict[str, Callable[[Scalar, Scalar, Scalar], Scalar]] = {
    "affine": lambda x, a, b: arith.addf(arith.mulf(a, x), b),
    "elu": lambda x, a, b: _elu(x, a),
    "hard_sigmoid": _hard_sigmoid,
    "leaky_relu": lambda x, a, b: _leaky_relu(x, a),
    "relu": lambda x, a, b: arith.maximumf(x, scalar_functions.like(0, x)),
    "scaled_tanh": lambda x, a, b: arith.mulf(a, scalar_functions.tanh(arith.mulf(b, x))),
    "sigmoid": lambda x, a, b: scalar_functions.sigmoid(x),
    "softplus": lambda x, a, b: scalar_functions.softplus(x),
    "softsign": lambda x, a, b: _softsign(x),
    "tanh": lambda x, a, b: scalar_functions.tanh(x),
    "thresholded_relu": lambda x, a, b: _thresholded_relu(x, a),
}
"""Functions of ``x``, alpha and beta, as `graph.ACTIVATIONS` defines them in numpy."""


class _Layer:
    """One recurrent op, and the values that all its steps use."""

    def __init__(
        self,
        ctx: Lowering,
        op: graph.RnnOp | graph.GruOp | graph.LstmOp,
        recurrence: ir.Value,
        scales: ir.Value | None,
    ):
        self.ctx, self.op, self.recurrence, self.scales = ctx, op, recurrence, scales
        self.attrs = op.attrs
        self.gates = graph.type_of(op.gates)
        self.outputs = graph.type_of(op.outputs)
        self.state = graph.type_of(op.last)
        self.hidden = graph.static_size(self.state.shape[1])

    def activation(self, index: int) -> Function:
        """Activation `index` of an element, whose input is not clipped."""
        name, alpha, beta = (self.attrs[k][index] for k in ("activations", "alphas", "betas"))
        return lambda x: ACTIVATIONS[name](
            x, scalar_functions.like(alpha, x), scalar_functions.like(beta, x)
        )

    def gate(self, index: int) -> Function:
        """Activation `index` of a gate, whose input is clipped."""
        function, bound = self.activation(index), self.attrs["clip"]
        if pymath.isinf(bound):
            return function
        return lambda x: function(
            arith.minimumf(
                arith.maximumf(x, scalar_functions.like(-bound, x)), scalar_functions.like(bound, x)
            )
        )

    @property
    def quantizes_state(self) -> bool:
        """True if the output is quantized before it is multiplied."""
        return isinstance(self.op, graph.LstmOp) and self.op.quantizes_state

    def product(self, h: ir.Value, start: int, stop: int) -> ir.Value:
        """``h`` times the recurrence of the gates in [`start`, `stop`)."""
        h = self._rounded(h) if self.quantizes_state else h
        wide = (stop - start) * self.hidden
        type_ = self.state.with_shape((self.hidden, wide))
        weights = graph.type_of(self.op.recurrence)
        right = self.recurrence
        if type_ != weights:
            starts = [0, start * self.hidden]
            right = extract_slice(self.ctx, right, starts, type_.shape, [1, 1], type_)
        result = self.state.with_shape((self.state.shape[0], wide))
        left, right = TypedTensor(h, self.state), TypedTensor(right, type_)
        return multiply(self.ctx, Matmul(left, right, result))

    def _rounded(self, h: ir.Value) -> ir.Value:
        """`h` as each of its rows is quantized over its range, in floats."""
        rows, both = projection(2, [ROWS]), projection(2, [ROWS, COLUMNS])
        ends = self.state.with_shape(self.state.shape[:1])
        low, high = generic(
            [h], [both], [self.ctx.filled(ends, 0), self.ctx.filled(ends, 0)], [rows] * 2,
            ["parallel", "reduction"],
            lambda x, low, high: [arith.minimumf(x, low), arith.maximumf(x, high)],
        )  # fmt: skip

        def body(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
            scale, zero = scale_and_zero_point(low, high)
            return arith.mulf(arith.sitofp(x.type, steps_from_zero_point(x, scale, zero)), scale)

        return parallel([h, low, high], [both, rows, rows], self.ctx.empty(self.state), body)

    def column(self, x: ir.Value, index: int) -> ir.Value:
        """Gate `index` [N, H] of gates side by side, or the part [H] of a vector."""
        type_ = self.state if ir.ShapedType(x.type).rank == 2 else self.vector
        starts: list[Size] = [*[0] * (type_.rank - 1), index * self.hidden]
        return extract_slice(self.ctx, x, starts, type_.shape, [1] * type_.rank, type_)

    @property
    def vector(self) -> graph.TensorType:
        return self.state.with_shape((self.hidden,))

    def elements(
        self, tensors: Sequence[ir.Value], count: int, body: Callable[..., Sequence[Scalar]]
    ) -> list[ir.Value]:
        """Compute `count` tensors [N, H] elementwise from `tensors` ([N, H], or [H])."""
        ranks = [ir.ShapedType(x.type).rank for x in tensors]
        axes = [[ROWS, COLUMNS] if rank == 2 else [COLUMNS] for rank in ranks]
        return generic(
            tensors,
            [projection(2, loops) for loops in axes],
            [self.ctx.empty(self.state) for _ in range(count)],
            [projection(2, [ROWS, COLUMNS])] * count,
            ["parallel"] * 2,
            lambda *scalars: body(*scalars[: len(tensors)]),
        )

    def run(
        self,
        gates: ir.Value,
        states: Sequence[ir.Value],
        lengths: ir.Value | None,
        step: StepFunction,
    ) -> list[ir.Value]:
        """Run all steps; returns all outputs, then the last states."""
        ctx, now = self.ctx, Dim.symbol(_STEP)
        steps = ctx.index(self.gates.shape[0])
        states = self._fitting(states)

        def iterate(index: ir.Value, outputs: ir.Value, *state: ir.Value) -> list[ir.Value]:
            with ctx.scope():
                at = index
                if self.attrs["reverse"]:
                    at = arith.subi(arith.subi(steps, index), ctx.index(1))
                ctx.bind(_STEP, at)
                gates_now = self._gates_at(gates, now)
                after = step(self, gates_now, list(state))
                output = after[0]
                if lengths is not None:
                    output, after = self._masked(lengths, at, list(state), after)
                outputs = insert_slice(ctx, output, outputs, [now, 0, 0], [1, *self.state.shape])
                return [arith.addi(index, ctx.index(1)), outputs, *after]

        def goes_on(index: ir.Value, *_: ir.Value) -> ir.Value:
            return arith.cmpi(arith.CmpIPredicate.slt, index, steps)

        start = [ctx.index(0), owned_zeros(ctx, self.outputs), *states]
        return loops.while_(start, goes_on, iterate, owned=[1])[1:]

    @property
    def is_for_kernel(self) -> bool:
        """True if the recurrent kernel applies, which runs all steps in one dispatch."""
        if graph.type_of(self.op.recurrence).rank > 2:
            return True
        size = 4 * self.hidden * graph.static_size(self.gates.shape[2])
        cached = size <= self.ctx.cpu.l3_bytes * L3_SHARE
        return not self.ctx.gpu and self.gates.dtype == np.float32 and cached

    def run_kernel(
        self,
        gates: ir.Value,
        states: Sequence[ir.Value],
        lengths: ir.Value | None,
        cell: Cell,
        beside: ir.Value | None = None,
        early: tuple[int, int, Cell] | None = None,
    ) -> list[ir.Value]:
        """`run` by the kernel. `beside` holds additional vectors [H] for `cell`, side by side;
        `early` is the number of early gates, the number of vectors kept of them, and their
        cell."""
        count = graph.static_size(self.gates.shape[2]) // self.hidden
        weights = graph.type_of(self.op.recurrence)
        packed = weights.rank > 2
        width = weights.static_shape[2] // count if packed else state_width(count, 512)
        first, kept, early_cell = early or (0, 0, None)
        dot, integers = self._integers(count)
        shape = Recurrence(
            count, self.hidden, self.attrs["reverse"], width, packed, first, kept,
            self.quantizes_state, dot,
        )  # fmt: skip
        layer = RecurrentDispatch(
            shape, gates, self.recurrence, integers, self._fitting(states), beside, lengths
        )
        key = (self.op.operation.name, repr(self.attrs))
        return layer.run(self.ctx, key, self.outputs, cell, early_cell)

    def _integers(self, gates: int) -> tuple[GroupDot | None, IntegerWeights | None]:
        """How the kernel multiplies a recurrence in groups, and what it reads beside integers."""
        if self.scales is None:
            return None, None
        op = self.op
        if not isinstance(op, graph.LstmOp) or op.unit == "none":
            return None, IntegerWeights(self.scales)
        array = constant_array(op.recurrence)
        if array is None:
            raise LoweringError(f"{describe(op)}: its recurrence in groups is not constant")
        dot, exact = INT8_DOTS[op.unit], None
        if isinstance(dot, WideningDot):
            dot, exact = pair_products(self.ctx, op, dot, exceeds_pairs(array))
        matrix = graph.unpacked_recurrence(array, gates, self.hidden)
        sums = constant_tensor(matrix.sum(0, dtype=np.int32))
        return dot, IntegerWeights(self.scales, sums, exact and exact[0])

    def _fitting(self, states: Sequence[ir.Value]) -> list[ir.Value]:
        """The initial states in the type of the last ones, after a check of their batch sizes."""
        batch = self.gates.shape[1]
        operands = [self.op.initial]
        if isinstance(self.op, graph.LstmOp):
            operands.append(self.op.initial_cell)
        if self.op.lengths is not None:
            operands.append(self.op.lengths)
        for operand in operands:
            size = graph.type_of(operand).shape[0]
            self.ctx.require_equal(size, batch, f"a batch of {size} where one of {batch} is wanted")
        return [self.ctx.cast(state, self.state) for state in states]

    def _gates_at(self, gates: ir.Value, step: Dim) -> ir.Value:
        shape = (1, *self.gates.shape[1:])
        one, flat = self.gates.with_shape(shape), self.gates.with_shape(shape[1:])
        part = extract_slice(self.ctx, gates, [step, 0, 0], shape, [1, 1, 1], one)
        return reshape_tensor(self.ctx, part, one, flat)

    def _masked(
        self,
        lengths: ir.Value,
        step: ir.Value,
        before: list[ir.Value],
        after: list[ir.Value],
    ) -> tuple[ir.Value, list[ir.Value]]:
        """The output and states, with zero output and unchanged states for ended sequences."""
        count = len(before)
        element = ir.ShapedType(lengths.type).element_type
        number = arith.index_cast(element, step)

        def body(length: Scalar, *scalars: Scalar) -> list[Scalar]:
            runs = arith.cmpi(arith.CmpIPredicate.slt, number, length)
            pairs = zip(scalars[count : 2 * count], scalars[:count], strict=True)
            states = [arith.select(runs, new, old) for new, old in pairs]
            new = scalars[count]
            return [arith.select(runs, new, scalar_functions.like(0, new)), *states]

        maps = [projection(2, [ROWS]), *[projection(2, [ROWS, COLUMNS])] * (2 * count)]
        results = generic(
            [lengths, *before, *after],
            maps,
            [self.ctx.empty(self.state) for _ in range(count + 1)],
            [projection(2, [ROWS, COLUMNS])] * (count + 1),
            ["parallel"] * 2,
            lambda *scalars: body(*scalars[: 2 * count + 1]),
        )
        return results[0], results[1:]


def _in_turns(a: Registers, b: Registers) -> Registers:
    return [value for pair in zip(a, b, strict=True) for value in pair]


@lowers(graph.RnnOp)
def rnn(
    ctx: Lowering,
    op: graph.RnnOp,
    gates: ir.Value,
    recurrence: ir.Value,
    initial: ir.Value,
    lengths: ir.Value | None,
    scales: ir.Value | None,
) -> list[ir.Value]:
    layer = _Layer(ctx, op, recurrence, scales)
    activate = layer.gate(0)

    def body(now: Scalar, product: Scalar) -> list[Scalar]:
        return [activate(arith.addf(now, product))]

    if layer.is_for_kernel:
        return layer.run_kernel(gates, [initial], lengths, lambda now, p, *_: body(*now, *p))

    def step(layer: _Layer, now: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        return layer.elements([now, layer.product(state[0], 0, 1)], 1, body)

    return layer.run(gates, [initial], lengths, step)


@lowers(graph.GruOp)
def gru(
    ctx: Lowering,
    op: graph.GruOp,
    gates: ir.Value,
    recurrence: ir.Value,
    initial: ir.Value,
    recurrent_bias: ir.Value | None,
    lengths: ir.Value | None,
    scales: ir.Value | None,
) -> list[ir.Value]:
    layer = _Layer(ctx, op, recurrence, scales)
    f, g = layer.gate(0), layer.gate(1)

    def mix(update: Scalar, candidate: Scalar, h: Scalar) -> Scalar:
        rest = arith.subf(scalar_functions.like(1, update), update)
        return arith.addf(arith.mulf(rest, candidate), arith.mulf(update, h))

    def reset_before(layer: _Layer, now: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        (h,) = state
        product = layer.product(h, 0, 2)
        update, kept = layer.elements(
            [*(layer.column(x, i) for i in (0, 1) for x in (now, product)), h],
            2,
            lambda a, b, c, d, h: [f(arith.addf(a, b)), arith.mulf(f(arith.addf(c, d)), h)],
        )
        candidate = layer.product(kept, 2, 3)
        return layer.elements(
            [update, layer.column(now, 2), candidate, h],
            1,
            lambda z, a, b, h: [mix(z, g(arith.addf(a, b)), h)],
        )

    def body(*scalars: Scalar) -> list[Scalar]:
        z, pz, r, pr, c, pc, bias, h = scalars
        reset = arith.mulf(f(arith.addf(r, pr)), arith.addf(pc, bias))
        return [mix(f(arith.addf(z, pz)), g(arith.addf(c, reset)), h)]

    def cell(now: Registers, products: Registers, states: Registers, beside: Registers):
        return body(*_in_turns(now, products), *beside, *states)

    def early(now: Registers, products: Registers, states: Registers, _: Registers):
        update, reset = (f(arith.addf(a, b)) for a, b in zip(now, products, strict=True))
        return [update, arith.mulf(reset, states[0])]

    def late(now: Registers, products: Registers, states: Registers, kept: Registers):
        return [mix(kept[0], g(arith.addf(now[0], products[0])), states[0])]

    if layer.is_for_kernel and recurrent_bias is not None:
        return layer.run_kernel(gates, [initial], lengths, cell, recurrent_bias)
    if layer.is_for_kernel:
        return layer.run_kernel(gates, [initial], lengths, late, early=(2, 2, early))

    def reset_after(layer: _Layer, now: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        assert recurrent_bias is not None
        (h,) = state
        product = layer.product(h, 0, 3)
        columns = [layer.column(x, i) for i in range(3) for x in (now, product)]
        return layer.elements([*columns, recurrent_bias, h], 1, body)

    step = reset_before if recurrent_bias is None else reset_after
    return layer.run(gates, [initial], lengths, step)


@lowers(graph.LstmOp)
def lstm(
    ctx: Lowering,
    op: graph.LstmOp,
    gates: ir.Value,
    recurrence: ir.Value,
    initial: ir.Value,
    initial_cell: ir.Value,
    peepholes: ir.Value | None,
    lengths: ir.Value | None,
    scales: ir.Value | None,
) -> list[ir.Value]:
    layer = _Layer(ctx, op, recurrence, scales)
    f, g, activate = layer.gate(0), layer.gate(1), layer.activation(2)
    couple = op.attrs["couple"]

    def body(c: Scalar, *scalars: Scalar) -> list[Scalar]:
        sums = [arith.addf(a, b) for a, b in zip(scalars[:8:2], scalars[1:8:2], strict=True)]
        peeps = scalars[8:]

        def peep(index: int, gate: Scalar, cell: Scalar) -> Scalar:
            return arith.addf(gate, arith.mulf(peeps[index], cell)) if peeps else gate

        i, o, forget, candidate = sums
        i = f(peep(0, i, c))
        forget = arith.subf(scalar_functions.like(1, i), i) if couple else f(peep(2, forget, c))
        c = arith.addf(arith.mulf(forget, c), arith.mulf(i, g(candidate)))
        return [arith.mulf(f(peep(1, o, c)), activate(c)), c]

    def cell(now: Registers, products: Registers, states: Registers, beside: Registers):
        return body(states[1], *_in_turns(now, products), *beside)

    if layer.is_for_kernel:
        return layer.run_kernel(gates, [initial, initial_cell], lengths, cell, peepholes)
    holes = [] if peepholes is None else [layer.column(peepholes, i) for i in range(3)]

    def step(layer: _Layer, now: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        h, c = state
        product = layer.product(h, 0, 4)
        columns = [layer.column(x, i) for i in range(4) for x in (now, product)]
        return layer.elements([c, *columns, *holes], 2, body)

    return layer.run(gates, [initial, initial_cell], lengths, step)
