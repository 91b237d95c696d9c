"""Mixtures of experts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError
from .registry import microsoft_op

_KINDS = ("relu", "gelu", "silu", "identity", "swiglu")


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
    """Each token by its `k` likeliest experts, added up by their probabilities."""
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


def mixed(
    x: ir.Value,
    weights: ir.Value,
    chosen: ir.Value,
    layers: Sequence[Layer],
    activation: Activation,
) -> ir.Value:
    """Tokens ``[..., H]`` by their experts `chosen`, ``[T, k]``, as `weights` weigh them."""
    if activation.kind not in _KINDS:
        raise UnsupportedError(f"activation '{activation.kind}'")
    if activation.kind == "swiglu" and activation.fusion == 0 and len(layers) < 3:
        raise graph.TypeRuleError("swiglu that is not fused needs fc3_experts_weights")
    shape = graph.type_of(x).shape
    tokens, _ = graph.type_of(chosen).shape
    first, second, *more = layers
    third, its_bias = (more[0].weight, more[0].bias) if more else (None, None)
    y = graph.mixture(
        graph.reshape(x, shape=[tokens, shape[-1]]), weights, chosen,
        first.weight, second.weight, first.bias, second.bias, third, its_bias,
        activation=activation.kind, fusion=activation.fusion, alpha=activation.alpha,
        beta=activation.beta, limit=math.inf if activation.limit is None else activation.limit,
    )  # fmt: skip
    return graph.reshape(y, shape=shape)
