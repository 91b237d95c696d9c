"""RNN, GRU and LSTM: separate input matmuls, and one recurrence per direction."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import onnx_op

_ACTIVATIONS = {
    "affine": "affine",
    "elu": "elu",
    "hardsigmoid": "hard_sigmoid",
    "leakyrelu": "leaky_relu",
    "relu": "relu",
    "scaledtanh": "scaled_tanh",
    "sigmoid": "sigmoid",
    "softplus": "softplus",
    "softsign": "softsign",
    "tanh": "tanh",
    "thresholdedrelu": "thresholded_relu",
}
_ALPHAS = {
    "affine": 1.0,
    "elu": 1.0,
    "hard_sigmoid": 0.2,
    "leaky_relu": 0.01,
    "scaled_tanh": 1.0,
    "thresholded_relu": 1.0,
}
_BETAS = {"affine": 0.0, "hard_sigmoid": 0.5, "scaled_tanh": 1.0}
"""Defaults of the functions that have such a parameter."""


@dataclass(frozen=True)
class RecurrentAttributes:
    """The attributes that the three operators share."""

    activations: Sequence[str] | None
    activation_alpha: Sequence[float]
    activation_beta: Sequence[float]
    clip: float | None
    direction: str
    layout: int

    def directions(self) -> list[bool]:
        """For each direction, True if it runs backwards."""
        known = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
        if self.direction not in known:
            raise graph.TypeRuleError(f"direction '{self.direction}'")
        return known[self.direction]

    def cells(self, defaults: Sequence[str]) -> list[dict[str, Any]]:
        """The attributes of the recurrence of each direction."""
        directions = self.directions()
        named = self.activations or [*defaults] * len(directions)
        if len(named) != len(defaults) * len(directions):
            raise graph.TypeRuleError(f"{len(named)} activations")
        if unknown := [name for name in named if name.lower() not in _ACTIVATIONS]:
            raise graph.TypeRuleError(f"activations {', '.join(unknown)}")
        names = [_ACTIVATIONS[name.lower()] for name in named]
        alphas, betas = iter(self.activation_alpha), iter(self.activation_beta)
        functions = [
            (n, _parameter(n, _ALPHAS, alphas), _parameter(n, _BETAS, betas)) for n in names
        ]
        each = len(defaults)
        return [
            {
                "reverse": reverse,
                "activations": [f[0] for f in functions[i * each : (i + 1) * each]],
                "alphas": [f[1] for f in functions[i * each : (i + 1) * each]],
                "betas": [f[2] for f in functions[i * each : (i + 1) * each]],
                "clip": self.clip or math.inf,
            }
            for i, reverse in enumerate(directions)
        ]


def _parameter(name: str, defaults: dict[str, float], given: Iterator[float]) -> float:
    """The next of the parameters that are given, for a function that takes one."""
    return next(given, defaults[name]) if name in defaults else 0.0


class RecurrentLayer:
    """The inputs of one node, taken apart by direction; narrow floats are computed in f32."""

    quantizes_state = False
    """True if states are quantized before they are multiplied."""

    def __init__(
        self,
        x: ir.Value,
        w: ir.Value,
        r: ir.Value,
        bias: ir.Value | None,
        lengths: ir.Value | None,
        attributes: RecurrentAttributes,
    ):
        for value in (x, w, r):
            if graph.type_of(value).rank != 3:
                raise graph.TypeRuleError(f"inputs and weights have 3 axes: {graph.type_of(value)}")
        self.dtype = graph.type_of(x).dtype
        self.batch_first = bool(attributes.layout)
        x = graph.transpose(x, perm=[1, 0, 2]) if self.batch_first else x
        self.x, self.w, self.r = map(self.widened, (x, w, r))
        self.lengths = lengths
        self.bias = None if bias is None else self.widened(bias)
        self.steps, self.batch, _ = graph.type_of(self.x).shape
        self.count = len(attributes.directions())
        for value in (w, r, *([bias] if bias is not None else [])):
            if graph.type_of(value).shape[0] != self.count:
                raise graph.TypeRuleError(
                    f"weights {graph.type_of(value)}, {self.count} directions"
                )
        self.hidden = graph.static_size(graph.type_of(r).shape[-1])

    def widened(self, x: ir.Value) -> ir.Value:
        return graph.cast(x, to=np.float32) if self.dtype.itemsize < 4 else x

    def gates(self, direction: int, bias: ir.Value | None) -> ir.Value:
        """``x @ W^T + bias`` for all steps."""
        y = graph.matmul(self.x, part(self.w, direction, transposed=True))
        return y if bias is None else graph.add(y, bias)

    def recurrence(self, direction: int) -> ir.Value:
        return part(self.r, direction, transposed=True)

    def biases(self, direction: int) -> tuple[ir.Value, ir.Value] | None:
        """The biases of the input matmul and of the recurrent matmul."""
        if self.bias is None:
            return None
        both = part(self.bias, direction)
        middle = graph.static_size(graph.type_of(both).shape[0]) // 2
        return columns(both, 0, middle), columns(both, middle, 2 * middle)

    def sum_of_biases(self, direction: int) -> ir.Value | None:
        biases = self.biases(direction)
        return None if biases is None else graph.add(*biases)

    def initial(self, state: ir.Value | None, direction: int) -> ir.Value:
        """The initial state, zeros where it is left out."""
        if state is None:
            zero = np.zeros((), graph.type_of(self.x).dtype)
            return graph.expand(graph.constant(value=zero), shape=[self.batch, self.hidden])
        state = graph.transpose(state, perm=[1, 0, 2]) if self.batch_first else state
        return part(self.widened(state), direction)

    def results(self, by_direction: Sequence[Sequence[ir.Value]]) -> list[ir.Value]:
        """Outputs [T, D, N, H] and states [D, N, H], batch first where that is wanted."""
        outputs, *states = zip(*by_direction, strict=True)
        shape = graph.type_of(outputs[0]).shape
        y = _stacked(outputs, [shape[0], 1, *shape[1:]], axis=1)
        ys = [_stacked(state, [1, *shape[1:]], axis=0) for state in states]
        if self.batch_first:
            y = graph.transpose(y, perm=[2, 0, 1, 3])
            ys = [graph.transpose(state, perm=[1, 0, 2]) for state in ys]
        if self.dtype.itemsize < 4:
            return [graph.cast(each, to=self.dtype) for each in (y, *ys)]
        return [y, *ys]


def _stacked(values: Sequence[ir.Value], shape: Sequence[Any], axis: int) -> ir.Value:
    parts = [graph.reshape(value, shape=shape) for value in values]
    return parts[0] if len(parts) == 1 else graph.concat(parts, axis=axis)


def part(x: ir.Value, index: int, transposed: bool = False) -> ir.Value:
    """``x[index]``, a matrix transposed if wanted; of constants a constant."""
    owner = graph.graph_op(x.owner)
    if isinstance(owner, graph.ConstantOp):
        array = owner.attrs["value"][index]
        return graph.constant(value=np.ascontiguousarray(array.T if transposed else array))
    shape = graph.type_of(x).shape
    starts, sizes = [index, *[0] * (len(shape) - 1)], [1, *shape[1:]]
    y = graph.slice_(x, starts=starts, sizes=sizes, steps=[1] * len(shape))
    y = graph.reshape(y, shape=shape[1:])
    return graph.transpose(y, perm=[1, 0]) if transposed else y


def columns(x: ir.Value, start: int, stop: int) -> ir.Value:
    """``x[start:stop]`` of a vector."""
    return graph.slice_(x, starts=[start], sizes=[stop - start], steps=[1])


@onnx_op("RNN")
def rnn(
    x, w, r, bias=None, lengths=None, initial=None, *,
    activation_alpha=(), activation_beta=(), activations=None, clip=None, direction="forward",
    hidden_size=None, layout=0, output_sequence=0,
):  # fmt: skip
    del hidden_size, output_sequence
    attributes = RecurrentAttributes(
        activations, activation_alpha, activation_beta, clip, direction, layout
    )
    layer = RecurrentLayer(x, w, r, bias, lengths, attributes)

    def cell(i: int, attrs: dict[str, Any]) -> Sequence[ir.Value]:
        gates, state = layer.gates(i, layer.sum_of_biases(i)), layer.initial(initial, i)
        return graph.rnn(gates, layer.recurrence(i), state, layer.lengths, None, **attrs)

    return _each(layer, attributes, ["Tanh"], cell)


@onnx_op("GRU")
def gru(
    x, w, r, bias=None, lengths=None, initial=None, *,
    activation_alpha=(), activation_beta=(), activations=None, clip=None, direction="forward",
    hidden_size=None, layout=0, linear_before_reset=0, output_sequence=0,
):  # fmt: skip
    del hidden_size, output_sequence
    attributes = RecurrentAttributes(
        activations, activation_alpha, activation_beta, clip, direction, layout
    )
    layer = RecurrentLayer(x, w, r, bias, lengths, attributes)

    def cell(i: int, attrs: dict[str, Any]) -> Sequence[ir.Value]:
        added, recurrent = layer.sum_of_biases(i), None
        if linear_before_reset:
            added, recurrent = _split_biases(layer, i)
        gates, state = layer.gates(i, added), layer.initial(initial, i)
        return graph.gru(gates, layer.recurrence(i), state, recurrent, layer.lengths, None, **attrs)

    return _each(layer, attributes, ["Sigmoid", "Tanh"], cell)


def _split_biases(layer: RecurrentLayer, direction: int) -> tuple[ir.Value | None, ir.Value]:
    """The bias of the gates, and that of the candidate's matmul, added before the reset gate."""
    biases = layer.biases(direction)
    if biases is None:
        return None, graph.constant(value=np.zeros(layer.hidden, graph.type_of(layer.x).dtype))
    of_input, of_state = biases
    middle, end = 2 * layer.hidden, 3 * layer.hidden
    both = graph.add(columns(of_input, 0, middle), columns(of_state, 0, middle))
    added = graph.concat([both, columns(of_input, middle, end)], axis=0)
    return added, columns(of_state, middle, end)


@onnx_op("LSTM")
def lstm(
    x, w, r, bias=None, lengths=None, initial=None, initial_cell=None, peepholes=None, *,
    activation_alpha=(), activation_beta=(), activations=None, clip=None, direction="forward",
    hidden_size=None, input_forget=0, layout=0, output_sequence=0,
):  # fmt: skip
    del hidden_size, output_sequence
    attributes = RecurrentAttributes(
        activations, activation_alpha, activation_beta, clip, direction, layout
    )
    layer = RecurrentLayer(x, w, r, bias, lengths, attributes)
    return lstm_of(layer, attributes, (initial, initial_cell), peepholes, input_forget)


def lstm_of(
    layer: RecurrentLayer,
    attributes: RecurrentAttributes,
    initial: Sequence[ir.Value | None],
    peepholes: ir.Value | None,
    input_forget: int,
) -> list[ir.Value]:
    """The results of an LSTM with the inputs of `layer`."""
    peepholes = None if peepholes is None else layer.widened(peepholes)

    def cell(i: int, attrs: dict[str, Any]) -> Sequence[ir.Value]:
        gates = layer.gates(i, layer.sum_of_biases(i))
        states = [layer.initial(state, i) for state in initial]
        holes = None if peepholes is None else part(peepholes, i)
        return graph.lstm(
            gates, layer.recurrence(i), *states, holes, layer.lengths, None,
            **attrs, couple=bool(input_forget), quantizes_state=layer.quantizes_state, unit="none",
        )  # fmt: skip

    return _each(layer, attributes, ["Sigmoid", "Tanh", "Tanh"], cell)


def _each(
    layer: RecurrentLayer,
    attributes: RecurrentAttributes,
    defaults: Sequence[str],
    cell: Callable[[int, dict[str, Any]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """The results of `cell` for each direction, joined."""
    return layer.results([cell(i, a) for i, a in enumerate(attributes.cells(defaults))])
