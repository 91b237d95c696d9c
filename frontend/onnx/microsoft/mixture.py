"""Mixtures of experts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import UnsupportedError
from .registry import microsoft_op

Size = int | Dim


@dataclass(frozen=True)
class Activation:
    """The activation between the two matmuls of an expert, and the parameters of SwiGLU."""

    kind: str
    fusion: int
    """Gate and linear part in one matmul: 1 interleaved, 2 concatenated."""
    alpha: float
    beta: float
    limit: float | None


@microsoft_op("MoE")
def mixture_of_experts(
    x,
    router_probs,
    fc1_weights,
    fc1_bias=None,
    fc2_weights=None,
    fc2_bias=None,
    fc3_weights=None,
    fc3_bias=None,
    *,
    activation_alpha=1.0,
    activation_beta=0.0,
    activation_type="relu",
    k=1,
    normalize_routing_weights=0,
    swiglu_fusion=0,
    swiglu_limit=None,
    use_sparse_mixer=0,
):
    """Each token by its `k` likeliest experts, added up by their probabilities.

    For many tokens, every expert computes all of them in one batched matmul, and unchosen experts
    get weight 0. For fewer tokens than experts, the weights of the chosen experts are gathered.
    """
    if use_sparse_mixer:
        raise UnsupportedError("use_sparse_mixer")
    if fc2_weights is None:
        raise graph.TypeRuleError("fc2_experts_weights is left out")
    activation = Activation(
        activation_type, swiglu_fusion, activation_alpha, activation_beta, swiglu_limit
    )
    layers = [Layer(fc1_weights, fc1_bias), Layer(fc2_weights, fc2_bias)]
    layers += [] if fc3_weights is None else [Layer(fc3_weights, fc3_bias)]
    probabilities = graph.softmax(router_probs, axis=1)
    weights, chosen = graph.top_k(probabilities, k=k, axis=1, largest=True, sorted=True)
    if normalize_routing_weights:
        weights = graph.div(weights, graph.reduce_sum(weights, axes=[1], keepdims=True))
    return mixed(x, weights, chosen, layers, activation)


@dataclass(frozen=True)
class Layer:
    """A linear layer of all experts: weights ``[E, out, in]``, biases ``[E, out]``."""

    weight: ir.Value
    bias: ir.Value | None

    def of(self, chosen: ir.Value) -> "Layer":
        """The layer of the `chosen` experts, ``[E']``."""
        bias = None if self.bias is None else graph.gather(self.bias, chosen, axis=0)
        return replace(self, weight=graph.gather(self.weight, chosen, axis=0), bias=bias)

    def matrices(self) -> ir.Value:
        return self.weight


Layers = Sequence[Layer]


def mixed(
    x: ir.Value, weights: ir.Value, chosen: ir.Value, layers: Layers, activation: Activation
) -> ir.Value:
    """Tokens ``[..., H]`` by their experts `chosen`, ``[T, k]``, as `weights` weigh them."""
    shape = graph.type_of(x).shape
    tokens, count = graph.type_of(chosen).shape
    experts = graph.type_of(layers[0].weight).shape[0]
    x = graph.reshape(x, shape=[tokens, shape[-1]])
    uses = tokens * count
    if isinstance(uses, int) and isinstance(experts, int) and uses < experts:
        y = _by_chosen(x, weights, chosen, layers, activation)
    else:
        y = _by_all(x, weights, chosen, layers, activation)
    return graph.reshape(y, shape=shape)


def _by_all(
    x: ir.Value, weights: ir.Value, chosen: ir.Value, layers: Layers, activation: Activation
) -> ir.Value:
    tokens, width = graph.type_of(x).shape
    experts = graph.type_of(layers[0].weight).shape[0]
    y = _experts(graph.reshape(x, shape=[1, tokens, width]), layers, activation)
    share = _spread(weights, chosen, experts)
    share = graph.reshape(graph.transpose(share, perm=[1, 0]), shape=[experts, tokens, 1])
    return graph.reduce_sum(graph.mul(y, share), axes=[0], keepdims=False)


def _spread(weights: ir.Value, chosen: ir.Value, experts: Size) -> ir.Value:
    """``[tokens, experts]``: the weights at the chosen experts, 0 elsewhere."""
    type_ = graph.type_of(weights)
    tokens, _ = type_.shape
    zero = graph.constant(value=np.zeros((1, 1), type_.dtype))
    empty = graph.expand(zero, shape=[tokens, experts])
    return graph.scatter_elements(empty, chosen, weights, axis=1, reduction="none")


def _by_chosen(
    x: ir.Value, weights: ir.Value, chosen: ir.Value, layers: Layers, activation: Activation
) -> ir.Value:
    tokens, width = graph.type_of(x).shape
    count = graph.type_of(chosen).shape[1]
    flat = graph.reshape(chosen, shape=[tokens * count])
    taken = [layer.of(flat) for layer in layers]
    rows = graph.expand(graph.reshape(x, shape=[tokens, 1, width]), shape=[tokens, count, width])
    y = _experts(graph.reshape(rows, shape=[tokens * count, 1, width]), taken, activation)
    y = graph.reshape(y, shape=[tokens, count, width])
    share = graph.reshape(weights, shape=[tokens, count, 1])
    return graph.reduce_sum(graph.mul(y, share), axes=[1], keepdims=False)


def _experts(x: ir.Value, layers: Layers, activation: Activation) -> ir.Value:
    """``[E or 1, T, H] -> [E, T, H]``, each expert with its own weights."""
    hidden = _linear(x, layers[0])
    if activation.kind == "swiglu":
        gate, linear = _gate_and_linear(hidden, x, layers, activation)
        hidden = _swiglu(gate, linear, activation)
    else:
        hidden = _activated(hidden, activation.kind)
        if len(layers) == 3:
            hidden = graph.mul(hidden, _linear(x, layers[2]))
    return _linear(hidden, layers[1])


def _linear(x: ir.Value, layer: Layer) -> ir.Value:
    """``x W' + b``."""
    y = graph.matmul(x, graph.transpose(layer.matrices(), perm=[0, 2, 1]))
    if layer.bias is None:
        return y
    experts, width = graph.type_of(layer.bias).shape
    return graph.add(y, graph.reshape(layer.bias, shape=[experts, 1, width]))


def _activated(x: ir.Value, kind: str) -> ir.Value:
    match kind:
        case "relu":
            return graph.relu(x)
        case "gelu":
            return graph.gelu(x, approximate="tanh")
        case "silu":
            return graph.swish(x, alpha=1.0)
        case "identity":
            return x
    raise UnsupportedError(f"activation '{kind}'")


def _gate_and_linear(
    hidden: ir.Value, x: ir.Value, layers: Layers, activation: Activation
) -> tuple[ir.Value, ir.Value]:
    if activation.fusion == 0:
        if len(layers) < 3:
            raise graph.TypeRuleError("swiglu that is not fused needs fc3_experts_weights")
        return hidden, _linear(x, layers[2])
    experts, tokens, width = graph.type_of(hidden).shape
    if not isinstance(width, int) or width % 2:
        raise graph.TypeRuleError(f"{width} columns for a gate and a linear part")
    half = width // 2
    turns = activation.fusion == 1
    starts, step = ((0, 1), 2) if turns else ((0, half), 1)
    gate, linear = (
        graph.slice_(
            hidden, starts=[0, 0, start], sizes=[experts, tokens, half], steps=[1, 1, step]
        )
        for start in starts
    )
    return gate, linear


def _swiglu(gate: ir.Value, linear: ir.Value, activation: Activation) -> ir.Value:
    """``g sigmoid(alpha g) (l + beta)``, both parts clamped by the limit."""
    if activation.limit is not None:
        high, low = (graph.splat_like(s * activation.limit, gate) for s in (1, -1))
        gate = graph.min_(gate, high)
        linear = graph.max_(graph.min_(linear, high), low)
    opened = graph.swish(gate, alpha=activation.alpha)
    return graph.mul(opened, graph.add(linear, graph.splat_like(activation.beta, linear)))
