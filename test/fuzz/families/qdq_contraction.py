"""QDQ graphs: contractions between DequantizeLinear and QuantizeLinear."""

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import QDQ, draws
from ..drawn_values import Value
from ..qdq.quantized_values import (
    BYTES,
    coding_of,
    dequantized,
    extent,
    fed_integers,
    quantize,
    quantized,
)
from ..qdq.quantized_weights import bias, weights
from .convolution import window


def activated(b: GraphBuilder, y: Value) -> Value:
    """`y`, or an activation of it."""
    kind = b.choose(("", "", "Relu", "Relu", "Clip", "LeakyRelu", "HardSwish", "Silu", "Sigmoid"))
    if kind == "Clip":
        (y,) = b.add("Clip", [y, *(b.known(np.float32(v)) for v in (0, 6))])
    elif kind == "Silu":
        (gate,) = b.add("Sigmoid", [y])
        (y,) = b.add("Mul", [y, gate])
    elif kind and (kind != "HardSwish" or b.opset >= 14):
        (y,) = b.add(kind, [y])
    return y


def result(b: GraphBuilder, y: Value) -> None:
    """Quantise `y` behind a residual and an activation; now and then it stays an output of
    floats."""
    if b.chance(0.3):
        y = _with_residual(b, y)
    y = activated(b, y)
    if b.chance(0.95):
        quantize(b, y)


def _with_residual(b: GraphBuilder, y: Value) -> Value:
    """The sum of `y` and floats or dequantised integers of its shape."""
    found = b.find(lambda v: v.shape == y.shape and v.name != y.name and v.dtype == y.dtype)
    if found is None or b.chance(0.6):
        found = dequantized(b, fed_integers(b, y.shape, b.choose(BYTES)))
    (y,) = b.add("Add", [y, found] if b.chance(0.6) else [found, y])
    return y


@draws(weight=8, since=13, family=QDQ)
def qdq_conv(b: GraphBuilder) -> None:
    """Dense, grouped and depthwise convolutions."""
    q = quantized(b, (3, b.choose((4, 4, 4, 5))))
    channels = q.shape[1]
    groups = b.choose([g for g in (1, 1, 1, 2, 4, channels, channels) if channels % g == 0])
    each = b.integer(1, 2) if groups == channels else extent(b)
    features = groups * max(1, min(each, 48 // groups))
    attributes = window(b, q)
    shape = [features, channels // groups, *attributes["kernel_shape"]]
    k = int(np.prod(shape[1:]))
    coding = coding_of(b, q)
    w, scale = weights(b, shape, k, 0, b.choose((None, 1)))
    x = dequantized(b, q, coding)
    extra = bias(b, features, coding.scale.array, scale.array)
    (y,) = b.add("Conv", [x, w, *extra], group=groups, **attributes)
    result(b, y)


@draws(weight=1.5, since=13, family=QDQ)
def qdq_conv_transpose(b: GraphBuilder) -> None:
    """Transposed convolutions with strides, groups and output padding."""
    q = quantized(b, (3, 4), lambda v: v.size <= 2048)
    channels, rank = q.shape[1], q.rank - 2
    groups = b.choose([g for g in (1, 1, 2) if channels % g == 0])
    kernel = [b.integer(1, 3) for _ in range(rank)]
    strides = [b.integer(1, 2) for _ in range(rank)]
    shape = [channels, b.integer(1, 5), *kernel]
    w, scale = weights(b, shape, channels, 1 if groups == 1 else 0)
    coding = coding_of(b, q)
    x = dequantized(b, q, coding)
    scales = scale.array if groups == 1 else np.zeros((1, 1))
    extra = bias(b, groups * shape[1], coding.scale.array, scales)
    pads = [b.integer(0, (k - 1) // 2) for k in kernel]
    more = [b.integer(0, s - 1) for s in strides]
    (y,) = b.add("ConvTranspose", [x, w, *extra], group=groups, kernel_shape=kernel,
                 strides=strides, pads=pads * 2, output_padding=more)  # fmt: skip
    result(b, y)


@draws(weight=6, since=13, family=QDQ)
def qdq_matmul(b: GraphBuilder) -> None:
    """A matmul with constant weights and a bias, over the last axis."""
    q = quantized(b, (2, 4))
    k, columns = q.shape[-1], extent(b)
    coding = coding_of(b, q)
    turned = b.chance(0.2)
    shape, axis = ([columns, k], 0) if turned else ([k, columns], 1)
    w, scale = weights(b, shape, k, axis, 1 - axis)
    if turned:
        (w,) = b.add("Transpose", [w], perm=[1, 0])
    (y,) = b.add("MatMul", [dequantized(b, q, coding), w])
    extra = bias(b, columns, coding.scale.array, scale.array)
    for each in extra:
        (y,) = b.add("Add", [y, each] if b.chance(0.7) else [each, y])
    result(b, y)


@draws(weight=4, since=13, family=QDQ)
def qdq_gemm(b: GraphBuilder) -> None:
    """A Gemm with constant weights, often transposed."""
    q = quantized(b, (2, 2))
    turned, columns = b.integer(0, 1), extent(b)
    flipped = int(b.chance(0.1))
    k = q.shape[0 if flipped else 1]
    coding = coding_of(b, q)
    shape, axis = ([columns, k], 0) if turned else ([k, columns], 1)
    w, scale = weights(b, shape, k, axis, 1 - axis)
    extra = bias(b, columns, coding.scale.array, scale.array)
    factors: dict[str, Any] = {"alpha": b.choose((0.5, 1.0, 0.3))} if b.chance(0.1) else {}
    x = dequantized(b, q, coding)
    (y,) = b.add("Gemm", [x, w, *extra], transA=flipped, transB=turned, **factors)
    result(b, y)


@draws(weight=2, since=13, family=QDQ)
def qdq_activations_matmul(b: GraphBuilder) -> None:
    """A matmul of two quantised activations, one of them often transposed, as in attention."""
    p = quantized(b, (2, 4))
    k = p.shape[-1]
    q = quantized(
        b, (p.rank, p.rank), lambda v: v.shape[:-2] == p.shape[:-2] and k in v.shape[-2:], reuse=0.7
    )
    if k not in q.shape[-2:] or q.shape[:-2] != p.shape[:-2]:
        q = p
    x, y = dequantized(b, p), dequantized(b, q)
    if q.shape[-2] != k:
        order = [*range(q.rank - 2), q.rank - 1, q.rank - 2]
        (y,) = b.add("Transpose", [y], perm=order)
    (y,) = b.add("MatMul", [x, y])
    if b.chance(0.6):
        (y,) = b.add("Mul", [y, b.known(np.float32(1 / k**0.5))])
    if b.chance(0.4):
        (y,) = b.add("Softmax", [y], axis=-1)
    quantize(b, y)
