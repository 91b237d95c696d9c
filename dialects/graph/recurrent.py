"""Recurrent cells over time, in one direction: what is left when the inputs are projected.

``gates`` [T, N, k*H] holds ``x @ W + b`` for every step, a separate matmul; a cell adds
``h @ r`` with `recurrence` [H, k*H] and turns the sum into the next state. T is the number of
steps, N the batch, H the size of the state. All are f32 or f64. The recurrence may lie in panels,
[panels, H, k*n], of `n` elements of the state each (`pack_recurrence`).

Attributes: `reverse` runs from the last step to the first, results staying in place. `activations`
name functions of `ACTIVATIONS`, with one of `alphas` and `betas` for each. What goes into these of
the gates is kept within ``[-clip, clip]``; an infinite `clip` does nothing.

A recurrence in panels may be i8 with `scales` [k*H], f32, of its columns; for a state of 8 bits
also in groups, [panels, ceil(H/4), k*n, 4] (`group_recurrence`).

`lengths` [N] are the steps of every sequence (integers): behind them the state stays as it is, and
the outputs are 0.
"""

from collections.abc import Callable, Sequence
from typing import TypedDict, Unpack

import numpy as np

from .attributes import Bool, Float, Floats, Str, Strs
from .base import GraphOp, OptionalTensor, Result, Tensor, TypeRuleError, tuple_builder
from .quantization import DynamicQuantizeOp
from .recurrence_weights import GROUPING_UNITS, RecurrenceWeights, recurrence_matrix
from .traits import MixedPrecision
from .types import TensorType, is_integer

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_State = tuple[np.ndarray, ...]
_Cell = Callable[[np.ndarray, _State], _State]
"""One step: the gates [N, k*H] and the state, to the next state, which begins with the output."""


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


ACTIVATIONS: dict[str, Callable[[np.ndarray, np.floating, np.floating], np.ndarray]] = {
    "affine": lambda x, a, b: a * x + b,
    "elu": lambda x, a, b: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x),
    "hard_sigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "leaky_relu": lambda x, a, b: np.where(x < 0, a * x, x),
    "relu": lambda x, a, b: np.maximum(x, 0),
    "scaled_tanh": lambda x, a, b: a * np.tanh(b * x),
    "sigmoid": lambda x, a, b: _sigmoid(x),
    "softplus": lambda x, a, b: np.logaddexp(x, 0),
    "softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "tanh": lambda x, a, b: np.tanh(x),
    "thresholded_relu": lambda x, a, b: np.where(x > a, x, 0),
}
"""Functions of ``x``, alpha and beta."""


class RecurrentAttrs(TypedDict):
    """The attributes that all cells have."""

    reverse: bool
    activations: tuple[str, ...]
    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    clip: float


def _activation(
    attrs: RecurrentAttrs, index: int, dtype: np.dtype
) -> Callable[[np.ndarray], np.ndarray]:
    function = ACTIVATIONS[attrs["activations"][index]]
    alpha, beta = dtype.type(attrs["alphas"][index]), dtype.type(attrs["betas"][index])
    return lambda x: function(x, alpha, beta)


class RnnOp(GraphOp, name="rnn"):
    """``h = f(gates + h @ recurrence)``: all outputs [T, N, H], and the last one [N, H].

    From ONNX ``RNN``.
    """

    amp = MixedPrecision.KEEP

    gates: Tensor
    recurrence: Tensor
    initial: Tensor
    lengths: OptionalTensor
    scales: OptionalTensor
    reverse: Bool
    activations: Strs
    alphas: Floats
    betas: Floats
    clip: Float
    outputs: Result
    last: Result

    @staticmethod
    def infer(
        gates: TensorType,
        recurrence: TensorType,
        initial: TensorType,
        lengths: TensorType | None,
        scales: TensorType | None,
        **attrs: Unpack[RecurrentAttrs],
    ) -> tuple[TensorType, ...]:
        weights = RecurrenceWeights(recurrence, scales)
        return _infer(gates, weights, [initial], lengths, attrs, gates_of_cell=1, functions=1)

    @staticmethod
    def evaluate(
        gates: np.ndarray,
        recurrence: np.ndarray,
        initial: np.ndarray,
        lengths: np.ndarray | None,
        scales: np.ndarray | None,
        **attrs: Unpack[RecurrentAttrs],
    ) -> tuple[np.ndarray, ...]:
        activate = _activation(attrs, 0, gates.dtype)
        recurrence = recurrence_matrix(recurrence, scales, 1, initial.shape[-1])

        def cell(now: np.ndarray, state: _State) -> _State:
            return (activate(_clipped(now + state[0] @ recurrence, attrs)),)

        return _run(cell, gates, (initial,), lengths, attrs["reverse"])


class GruOp(GraphOp, name="gru"):
    """Gated recurrent units: all outputs [T, N, H], and the last one [N, H].

    The gates are update, reset and candidate::

        z, r = f(...)              h = (1 - z) * g(...) + z * h

    The reset gate is applied to ``h`` before the product for the candidate, or, when there is a
    `recurrent_bias` [H], to the product and this bias. From ONNX ``GRU``.
    """

    amp = MixedPrecision.KEEP

    gates: Tensor
    recurrence: Tensor
    initial: Tensor
    recurrent_bias: OptionalTensor
    lengths: OptionalTensor
    scales: OptionalTensor
    reverse: Bool
    activations: Strs
    alphas: Floats
    betas: Floats
    clip: Float
    outputs: Result
    last: Result

    @staticmethod
    def infer(
        gates: TensorType,
        recurrence: TensorType,
        initial: TensorType,
        recurrent_bias: TensorType | None,
        lengths: TensorType | None,
        scales: TensorType | None,
        **attrs: Unpack[RecurrentAttrs],
    ) -> tuple[TensorType, ...]:
        if recurrent_bias is not None and recurrent_bias.shape != initial.shape[-1:]:
            raise TypeRuleError(f"a recurrent bias of type {recurrent_bias}")
        weights = RecurrenceWeights(recurrence, scales)
        return _infer(gates, weights, [initial], lengths, attrs, gates_of_cell=3, functions=2)

    @staticmethod
    def evaluate(
        gates: np.ndarray,
        recurrence: np.ndarray,
        initial: np.ndarray,
        recurrent_bias: np.ndarray | None,
        lengths: np.ndarray | None,
        scales: np.ndarray | None,
        **attrs: Unpack[RecurrentAttrs],
    ) -> tuple[np.ndarray, ...]:
        f, g = (_activation(attrs, i, gates.dtype) for i in range(2))
        size = initial.shape[-1]
        recurrence = recurrence_matrix(recurrence, scales, 3, size)
        inner, outer = recurrence[:, : 2 * size], recurrence[:, 2 * size :]

        def cell(now: np.ndarray, state: _State) -> _State:
            (h,) = state
            update, reset = np.split(f(_clipped(now[:, : 2 * size] + h @ inner, attrs)), 2, axis=-1)
            if recurrent_bias is None:
                candidate = (reset * h) @ outer
            else:
                candidate = reset * (h @ outer + recurrent_bias)
            candidate = g(_clipped(now[:, 2 * size :] + candidate, attrs))
            return ((1 - update) * candidate + update * h,)

        return _run(cell, gates, (initial,), lengths, attrs["reverse"])


class LstmOp(GraphOp, name="lstm"):
    """Long short-term memory: all outputs [T, N, H], the last one, and the last cell state.

    The gates are input, output, forget and candidate::

        i = f(... + p_i * c)       c = (f(... + p_f * c)) * c + i * g(...)
        o = f(... + p_o * c)       h = o * h(c)

    with ``p``, the `peepholes` [3*H] in the order of i, o and f, optional. With `couple` the forget
    gate is ``1 - i``. From ONNX ``LSTM``.

    If `quantizes_state`, the output of each sequence is quantized to u8 over its range before it is
    multiplied, as ``DynamicQuantizeLSTM`` of ``com.microsoft`` does for a batch of one. Then `unit`
    names the instruction set that multiplies a recurrence in groups, as in `int8_matmul`; it is
    ``none`` for other ones, which are multiplied as floats.
    """

    amp = MixedPrecision.KEEP

    gates: Tensor
    recurrence: Tensor
    initial: Tensor
    initial_cell: Tensor
    peepholes: OptionalTensor
    lengths: OptionalTensor
    scales: OptionalTensor
    reverse: Bool
    activations: Strs
    alphas: Floats
    betas: Floats
    clip: Float
    couple: Bool
    quantizes_state: Bool
    unit: Str
    outputs: Result
    last: Result
    last_cell: Result

    @staticmethod
    def infer(
        gates: TensorType,
        recurrence: TensorType,
        initial: TensorType,
        initial_cell: TensorType,
        peepholes: TensorType | None,
        lengths: TensorType | None,
        scales: TensorType | None,
        *,
        couple: bool,
        quantizes_state: bool,
        unit: str,
        **attrs: Unpack[RecurrentAttrs],
    ) -> tuple[TensorType, ...]:
        del couple
        hidden = initial.shape[-1]
        if peepholes is not None and peepholes.shape != (3 * hidden,):
            raise TypeRuleError(f"peepholes of type {peepholes} for a state of {hidden}")
        states, weights = [initial, initial_cell], RecurrenceWeights(recurrence, scales)
        fits = unit in GROUPING_UNITS and quantizes_state if weights.in_groups else unit == "none"
        if not fits:
            raise TypeRuleError(f"unit '{unit}' for a recurrence {weights}")
        if quantizes_state and gates.dtype != np.float32:
            raise TypeRuleError(f"quantizes states of f32, not {gates.dtype}")
        return _infer(gates, weights, states, lengths, attrs, gates_of_cell=4, functions=3)

    @staticmethod
    def evaluate(
        gates: np.ndarray,
        recurrence: np.ndarray,
        initial: np.ndarray,
        initial_cell: np.ndarray,
        peepholes: np.ndarray | None,
        lengths: np.ndarray | None,
        scales: np.ndarray | None,
        *,
        couple: bool,
        quantizes_state: bool,
        unit: str,
        **attrs: Unpack[RecurrentAttrs],
    ) -> tuple[np.ndarray, ...]:
        del unit
        f, g, activate = (_activation(attrs, i, gates.dtype) for i in range(3))
        recurrence = recurrence_matrix(recurrence, scales, 4, initial.shape[-1])
        if peepholes is None:
            peepholes = np.zeros(3 * int(initial.shape[-1]), gates.dtype)
        p_input, p_output, p_forget = np.split(peepholes, 3)

        def cell(now: np.ndarray, state: _State) -> _State:
            h, c = state
            h = _rounded_to_8_bits(h) if quantizes_state else h
            i, o, forget, candidate = np.split(now + h @ recurrence, 4, axis=-1)
            i = f(_clipped(i + p_input * c, attrs))
            forget = 1 - i if couple else f(_clipped(forget + p_forget * c, attrs))
            c = forget * c + i * g(_clipped(candidate, attrs))
            o = f(_clipped(o + p_output * c, attrs))
            return o * activate(c), c

        return _run(cell, gates, (initial, initial_cell), lengths, attrs["reverse"])


def _rounded_to_8_bits(h: np.ndarray) -> np.ndarray:
    """The state, each row quantized to u8 over its range, in floats."""
    rows = np.empty_like(h)
    for row, x in zip(rows, h, strict=True):
        q, scale, zero = DynamicQuantizeOp.evaluate(x)
        row[...] = (q.astype(np.int32) - zero.astype(np.int32)) * scale
    return rows


def _clipped(x: np.ndarray, attrs: RecurrentAttrs) -> np.ndarray:
    bound = x.dtype.type(attrs["clip"])
    return np.clip(x, -bound, bound)


def _infer(
    gates: TensorType,
    weights: RecurrenceWeights,
    states: Sequence[TensorType],
    lengths: TensorType | None,
    attrs: RecurrentAttrs,
    gates_of_cell: int,
    functions: int,
) -> tuple[TensorType, ...]:
    """Outputs, then one result per state. TypeRuleError when operands or attributes do not fit."""
    if gates.rank != 3 or gates.dtype not in _FLOATS:
        raise TypeRuleError(f"gates of type {gates}")
    steps, batch, _ = gates.shape
    hidden = states[0].shape[-1]
    wanted = gates.with_shape((batch, hidden))
    if not all(_may_be(state, wanted) for state in states):
        raise TypeRuleError(f"states of type {', '.join(map(str, states))} for gates of {gates}")
    wide = gates_of_cell * hidden
    if gates.shape[2] != wide or not weights.hold(gates.with_shape((hidden, wide))):
        raise TypeRuleError(f"gates {gates} and a recurrence {weights} for a state of {hidden}")
    if lengths is not None and not (
        _may_be(lengths, TensorType((batch,), lengths.dtype)) and is_integer(lengths.dtype)
    ):
        raise TypeRuleError(f"lengths of type {lengths} for a batch of {batch}")
    unknown = set(attrs["activations"]) - ACTIVATIONS.keys()
    counts = {len(attrs["activations"]), len(attrs["alphas"]), len(attrs["betas"])}
    if unknown or counts != {functions}:
        raise TypeRuleError(
            f"activations {attrs['activations']}: {functions} known ones are wanted"
        )
    return gates.with_shape((steps, batch, hidden)), *[wanted] * len(states)


def _may_be(type_: TensorType, wanted: TensorType) -> bool:
    """Return whether a tensor of `type_` can be of type `wanted` at run time."""
    if type_.rank != wanted.rank or type_.dtype != wanted.dtype:
        return False
    sizes = zip(type_.shape, wanted.shape, strict=True)
    return not any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in sizes)


def _run(
    cell: _Cell,
    gates: np.ndarray,
    state: _State,
    lengths: np.ndarray | None,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    """All outputs, then the last state."""
    steps = gates.shape[0]
    outputs = np.zeros((steps, *state[0].shape), gates.dtype)
    for t in reversed(range(steps)) if reverse else range(steps):
        runs = np.full(gates.shape[1:2], True) if lengths is None else t < lengths
        after = cell(gates[t], state)
        state = tuple(
            np.where(runs[:, None], new, old) for new, old in zip(after, state, strict=True)
        )
        outputs[t] = np.where(runs[:, None], after[0], 0)
    return outputs, *state


rnn = tuple_builder(RnnOp)
gru = tuple_builder(GruOp)
lstm = tuple_builder(LstmOp)
