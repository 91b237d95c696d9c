"""Mixtures of experts with weights of few bits."""

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError
from .mixture import Activation, Layer, mixed
from .quantized_matmul import dequantized, integers
from .registry import microsoft_op


@microsoft_op("QMoE")
def quantized_mixture_of_experts(
    x,
    router_probs,
    fc1_weights,
    fc1_scales,
    fc1_bias=None,
    fc2_weights=None,
    fc2_scales=None,
    fc2_bias=None,
    fc3_weights=None,
    fc3_scales=None,
    fc3_bias=None,
    fc1_zeros=None,
    fc2_zeros=None,
    fc3_zeros=None,
    router_weights=None,
    *,
    accuracy_level=0,
    activation_alpha=1.0,
    activation_beta=0.0,
    activation_type="relu",
    block_size=0,
    expert_weight_bits=4,
    fc1_expert_weight_bits=None,
    fc2_expert_weight_bits=None,
    fc3_expert_weight_bits=None,
    k=1,
    normalize_routing_weights=0,
    quant_type="int",
    swiglu_fusion=0,
    swiglu_limit=None,
    use_sparse_mixer=0,
    weights_prepacked=-1,
):
    """`MoE` with integers for weights; `router_weights` weigh what `router_probs` choose."""
    del accuracy_level, block_size  # the scales tell
    if use_sparse_mixer or quant_type != "int" or weights_prepacked == 1:
        raise UnsupportedError(f"quant_type '{quant_type}', use_sparse_mixer or packed weights")
    activation = Activation(
        activation_type, swiglu_fusion, activation_alpha, activation_beta, swiglu_limit
    )
    bits = expert_weight_bits
    layers = [
        _layer(fc1_weights, fc1_scales, fc1_bias, fc1_zeros, fc1_expert_weight_bits or bits),
        _layer(fc2_weights, fc2_scales, fc2_bias, fc2_zeros, fc2_expert_weight_bits or bits),
    ]
    if fc3_weights is not None:
        third = fc3_expert_weight_bits or bits
        layers.append(_layer(fc3_weights, fc3_scales, fc3_bias, fc3_zeros, third))
    weights, chosen = _routed(router_probs, router_weights, k, bool(normalize_routing_weights))
    return mixed(x, weights, chosen, layers, activation)


def _layer(
    weight: ir.Value | None,
    scales: ir.Value | None,
    bias: ir.Value | None,
    zeros: ir.Value | None,
    bits: int,
) -> Layer:
    """A layer of weights of `bits` bits, 8 / `bits` of them in a byte along their last axis, as
    their zero points are. Scales are ``[E, out]`` or ``[E, out, blocks]``."""
    if weight is None or scales is None:
        raise graph.TypeRuleError("weights or scales are left out")
    if bits not in (2, 4, 8):
        raise graph.TypeRuleError(f"weights of {bits} bits")
    experts, rows, *of_row = graph.type_of(scales).shape
    blocks = of_row[0] if of_row else 1
    if not isinstance(blocks, int):
        raise UnsupportedError("an unknown number of blocks")
    column = [experts, rows, blocks, 1]
    columns = graph.type_of(weight).shape[-1] * (8 // bits)
    numbers = integers(weight, bits, [experts, rows, blocks, columns // blocks])
    if zeros is not None:
        *lead, held = graph.type_of(zeros).shape
        zeros = integers(zeros, bits, [*lead, held * (8 // bits)])
        packed = graph.type_of(scales)
        starts, steps = [0] * packed.rank, [1] * packed.rank
        zeros = graph.slice_(zeros, starts=starts, sizes=packed.shape, steps=steps)
        zeros = graph.reshape(zeros, shape=column)
    values = dequantized(numbers, graph.reshape(scales, shape=column), zeros, bits)
    return Layer(graph.reshape(values, shape=[experts, rows, columns]), bias)


def _routed(
    probs: ir.Value, weights: ir.Value | None, k: int, normalize: bool
) -> tuple[ir.Value, ir.Value]:
    """The weights of the `k` likeliest experts of each token, and the indices of these experts.

    Without `weights`, they are the softmax over these `k`, which is always normalized.
    """
    best, chosen = graph.top_k(probs, k=k, axis=1, largest=True, sorted=True)
    if weights is None:
        return graph.softmax(best, axis=1), chosen
    taken = graph.gather_elements(weights, chosen, axis=1)
    if normalize:
        taken = graph.div(taken, graph.reduce_sum(taken, axes=[1], keepdims=True))
    return taken, chosen
