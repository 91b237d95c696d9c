"""Activations fused with sums, and other elementwise operators."""

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim, floordiv
from ....mlir import ir
from ..importing.registry import UnsupportedError
from .registry import microsoft_op


@microsoft_op("Gelu")
def gelu(x):
    return graph.gelu(x, approximate="none")


@microsoft_op("FastGelu")
def fast_gelu(x, bias=None):
    return graph.gelu(x if bias is None else graph.add(x, bias), approximate="tanh")


@microsoft_op("BiasGelu")
def bias_gelu(x, bias):
    return graph.gelu(graph.add(x, bias), approximate="none")


@microsoft_op("QuickGelu")
def quick_gelu(x, *, alpha=1.702):
    return graph.swish(x, alpha=alpha)


@microsoft_op("ScaledSiLU")
def scaled_silu(x, scale=None, *, alpha=1.0):
    """``z * sigmoid(z)`` for ``z = scale * x``, rounded where the operator rounds."""
    if scale is None:
        scale = graph.splat_like(alpha, x)
    dtype = graph.type_of(x).dtype
    scale = graph.reshape(scale, shape=[])
    wide = np.promote_types(np.float32, dtype)
    z = graph.cast(graph.mul(graph.cast(x, to=wide), graph.cast(scale, to=wide)), to=dtype)
    return graph.mul(z, graph.sigmoid(z))


@microsoft_op("BiasSplitGelu")
def bias_split_gelu(x, bias):
    """The left half of ``x + bias`` times the Gelu of the right half."""
    left, right = _halves(graph.add(x, bias))
    return graph.mul(left, graph.gelu(right, approximate="none"))


def _halves(x: ir.Value) -> list[ir.Value]:
    """`x` cut in two along its last axis."""
    *lead, width = graph.type_of(x).shape
    half = floordiv(width, 2)
    steps = [1] * (len(lead) + 1)
    starts: list[list[int | Dim]] = [[*[0] * len(lead), first] for first in (0, half)]
    return [graph.slice_(x, starts=start, sizes=[*lead, half], steps=steps) for start in starts]


@microsoft_op("BiasAdd")
def bias_add(x, bias, skip):
    return graph.add(graph.add(x, bias), skip)


@microsoft_op("GatedAdd")
def gated_add(x, y, gate):
    return graph.add(x, graph.mul(y, gate))


@microsoft_op("BiasDropout")
def bias_dropout(x, bias, residual=None, ratio=None, training_mode=None, *, node, seed=0):
    """Inference: the sum alone."""
    del ratio, seed
    mode = None if training_mode is None else graph.symbolic_value(training_mode)
    if training_mode is not None and (mode is None or mode.any()):
        raise UnsupportedError("training mode")
    y = graph.add(x, bias)
    y = y if residual is None else graph.add(y, residual)
    if not node.wants(1):
        return y
    return y, graph.expand(graph.constant(value=np.array(True)), shape=graph.type_of(y).shape)


@microsoft_op("BiasSoftmax")
def bias_softmax(x, bias, *, axis=1, is_inner_broadcast):
    """The softmax of ``x + bias`` over the axes from `axis` on, taken together."""
    shape = graph.type_of(x).shape
    axis = axis + len(shape) if axis < 0 else axis
    if is_inner_broadcast:  # the bias repeats along axes in the middle
        given = graph.type_of(bias).shape
        lead = len(shape) - len(given)
        ones = [1] * lead
        kept = len(given) - (len(shape) - axis)
        bias = graph.reshape(bias, shape=[*given[:kept], *ones, *given[kept:]])
    rows, columns = graph.element_count(shape[:axis]), graph.element_count(shape[axis:])
    y = graph.reshape(graph.add(x, bias), shape=[rows, columns])
    return graph.reshape(graph.softmax(y, axis=1), shape=shape)


@microsoft_op("LinearAttentionGate")
def linear_attention_gate(a, dt_bias, decay_scale, b=None):
    """``decay_scale * softplus(a + dt_bias)``, computed in f32, and ``sigmoid(b)``."""
    dtype = graph.type_of(a).dtype
    wide = graph.softplus(graph.add(graph.cast(a, to=np.float32), dt_bias))
    decay = graph.cast(graph.mul(wide, decay_scale), to=dtype)
    return decay if b is None else (decay, graph.sigmoid(b))


@microsoft_op("IsAllFinite")
def is_all_finite(*xs, isinf_only=0, isnan_only=0):
    """True if no element is infinite or NaN; `isinf_only` and `isnan_only` test for one of these
    alone."""
    if isinf_only and isnan_only:
        raise graph.TypeRuleError("isinf_only and isnan_only exclude each other")
    result = None
    for x in xs:
        if isnan_only:
            odd = graph.is_nan(x)
        else:
            odd = graph.is_inf(x, negative=True, positive=True)
            odd = odd if isinf_only else graph.or_(odd, graph.is_nan(x))
        flags = graph.cast(odd, to=np.int32)
        axes = list(range(graph.type_of(x).rank))
        count = graph.reduce_sum(flags, axes=axes, keepdims=False) if axes else flags
        fine = graph.equal(count, graph.splat_like(0, count))
        result = fine if result is None else graph.and_(result, fine)
    if result is None:
        raise graph.TypeRuleError("needs an operand")
    return result
