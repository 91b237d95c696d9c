"""Mixtures of experts in terms of other ops."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...mlir import ir
from ..symbolic import Dim
from .base import build, graph_op
from .contraction import matmul
from .elementwise import ElementwiseOp, add, gelu, max_, min_, mul, relu, swish
from .indexing import gather, scatter_elements
from .mixture import MixtureOp
from .movement import ReshapeOp, expand, reshape, slice_, transpose
from .quantization import DequantizeOp
from .reduction import reduce_sum
from .shapes import constant, splat_like
from .types import type_of

Size = int | Dim
Linear = Callable[[ir.Value], ir.Value]
"""A layer of all experts, of rows that belong to experts."""


def decomposed_mixture(op: MixtureOp) -> ir.Value:
    """Build `op` from matmuls of all experts.

    For many tokens, every expert computes all of them in one batched matmul, and unchosen experts
    get weight 0. For fewer tokens than experts, the weights of the chosen experts are gathered.
    """
    tokens, count = type_of(op.chosen).shape
    experts = type_of(op.w1).shape[0]
    uses = tokens * count
    if isinstance(uses, int) and isinstance(experts, int) and uses < experts:
        return _by_chosen(op)
    return _by_all(op)


def applied_experts(op: MixtureOp, x: ir.Value, layers: Sequence[Linear]) -> ir.Value:
    """Build what experts make of rows ``[..., H]``; `layers` are the first, the second and, if
    there is one, the third."""
    hidden = layers[0](x)
    if op.activation == "swiglu":
        gate, linear = (hidden, layers[2](x)) if op.fusion == 0 else _halves(hidden, op.fusion)
        return layers[1](_swiglu(op, gate, linear))
    hidden = _activated(hidden, op.activation)
    if len(layers) == 3:
        hidden = mul(hidden, layers[2](x))
    return layers[1](hidden)


def weighted_uses(op: MixtureOp, y: ir.Value) -> ir.Value:
    """Build the sums of the rows `y` [T * k, H'], one for each use of an expert by a token."""
    tokens, count = type_of(op.chosen).shape
    y = reshape(y, shape=[tokens, count, type_of(y).shape[-1]])
    share = reshape(op.weights, shape=[tokens, count, 1])
    return reduce_sum(mul(y, share), axes=[1], keepdims=False)


def _by_all(op: MixtureOp) -> ir.Value:
    tokens, width = type_of(op.x).shape
    experts = type_of(op.w1).shape[0]
    layers = [each.linear for each in _layers_of(op)]
    y = applied_experts(op, reshape(op.x, shape=[1, tokens, width]), layers)
    share = _spread(op.weights, op.chosen, experts)
    share = reshape(transpose(share, perm=[1, 0]), shape=[experts, tokens, 1])
    return reduce_sum(mul(y, share), axes=[0], keepdims=False)


def _spread(weights: ir.Value, chosen: ir.Value, experts: Size) -> ir.Value:
    """``[tokens, experts]``: the weights at the chosen experts, 0 elsewhere."""
    type_ = type_of(weights)
    tokens, _ = type_.shape
    zero = constant(value=np.zeros((1, 1), type_.dtype))
    empty = expand(zero, shape=[tokens, experts])
    return scatter_elements(empty, chosen, weights, axis=1, reduction="add")


def _by_chosen(op: MixtureOp) -> ir.Value:
    tokens, width = type_of(op.x).shape
    count = type_of(op.chosen).shape[1]
    uses = tokens * count
    flat = reshape(op.chosen, shape=[uses])
    layers = [each.of(flat).linear for each in _layers_of(op)]
    rows = expand(reshape(op.x, shape=[tokens, 1, width]), shape=[tokens, count, width])
    y = applied_experts(op, reshape(rows, shape=[uses, 1, width]), layers)
    return weighted_uses(op, reshape(y, shape=[uses, type_of(y).shape[-1]]))


@dataclass(frozen=True)
class _Layer:
    """A linear layer of all experts: weights ``[E, out, in]``, biases ``[E, out]``."""

    weight: ir.Value
    bias: ir.Value | None

    def of(self, chosen: ir.Value) -> "_Layer":
        """The layer of the `chosen` experts, ``[E']``."""
        bias = None if self.bias is None else gather(self.bias, chosen, axis=0)
        return _Layer(_of_experts(self.weight, chosen), bias)

    def linear(self, x: ir.Value) -> ir.Value:
        """``x W' + b``: ``[E or 1, T, in] -> [E, T, out]``."""
        y = matmul(x, transpose(self.weight, perm=[0, 2, 1]))
        if self.bias is None:
            return y
        experts, width = type_of(self.bias).shape
        return add(y, reshape(self.bias, shape=[experts, 1, width]))


def _layers_of(op: MixtureOp) -> list[_Layer]:
    layers = [_Layer(op.w1, op.b1), _Layer(op.w2, op.b2)]
    return layers if op.w3 is None else [*layers, _Layer(op.w3, op.b3)]


def _of_experts(weights: ir.Value, chosen: ir.Value) -> ir.Value:
    """The `weights` of `chosen` experts. Of what is computed for each expert, such as dequantized
    weights, no more is computed than that."""
    op, type_ = graph_op(weights.owner), type_of(weights)
    experts = type_.shape[0]

    def is_of_experts(value: ir.Value) -> bool:
        return type_of(value).rank >= 1 and type_of(value).shape[0] == experts

    if isinstance(op, ReshapeOp) and is_of_experts(op.x):
        taken = _of_experts(op.x, chosen)
        return reshape(taken, shape=[type_of(chosen).shape[0], *type_.shape[1:]])
    if isinstance(op, ElementwiseOp | DequantizeOp):
        operands = [
            _of_experts(each, chosen)
            if type_of(each).rank == type_.rank and is_of_experts(each)
            else each
            for each in op.operation.operands
        ]
        return build(type(op), operands, op.attrs)
    return gather(weights, chosen, axis=0)


def _activated(x: ir.Value, kind: str) -> ir.Value:
    match kind:
        case "relu":
            return relu(x)
        case "gelu":
            return gelu(x, approximate="tanh")
        case "silu":
            return swish(x, alpha=1.0)
        case _:
            return x


def _halves(hidden: ir.Value, fusion: int) -> tuple[ir.Value, ir.Value]:
    """The gate and the linear part in the columns of `hidden`."""
    *outer, width = type_of(hidden).shape
    assert isinstance(width, int)
    half = width // 2
    starts, step = ((0, 1), 2) if fusion == 1 else ((0, half), 1)
    ones, zeros = [1] * len(outer), [0] * len(outer)
    gate, linear = (
        slice_(hidden, starts=[*zeros, start], sizes=[*outer, half], steps=[*ones, step])
        for start in starts
    )
    return gate, linear


def _swiglu(op: MixtureOp, gate: ir.Value, linear: ir.Value) -> ir.Value:
    if np.isfinite(op.limit):
        high, low = (splat_like(sign * op.limit, gate) for sign in (1, -1))
        gate = min_(gate, high)
        linear = max_(min_(linear, high), low)
    opened = swish(gate, alpha=op.alpha)
    return mul(opened, add(linear, splat_like(op.beta, linear)))
