"""Matmuls of quantized tensors, and with weights of few bits."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError
from ..operators.contraction import integer_matmul, matmul_of_any_rank
from ..operators.quantization import dynamic_quantize_linear, per_column, per_row, requantize
from .registry import activated, microsoft_op

_FP4 = (0, 1 / 192, 2 / 3, 1, 1 / 3, 1 / 2, 1 / 6, 1 / 4)
"""Floats of 4 bits with a sign in front, scaled to reach 1."""

_NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
"""Quantiles of the normal distribution."""


@microsoft_op("MatMulIntegerToFloat")
def matmul_integer_to_float(
    a, b, a_scale: ir.Value, b_scale: ir.Value, a_zero=None, b_zero=None, bias=None
):
    """Scales and zero points have one element, or one per column of `b`, for `a` one per row."""
    a_zero, b_zero = per_row(a_zero), per_column(b_zero)
    accumulators = matmul_of_any_rank(a, b, lambda a, b: integer_matmul(a, b, a_zero, b_zero))
    scale = graph.mul(per_row(a_scale), per_column(b_scale))
    y = graph.mul(graph.cast(accumulators, to=graph.type_of(scale).dtype), scale)
    return y if bias is None else graph.add(y, bias)


def _given(value: ir.Value | None) -> ir.Value:
    assert value is not None
    return value


@microsoft_op("DynamicQuantizeMatMul")
def dynamic_quantize_matmul(a, b, b_scale, b_zero=None, bias=None):
    """`a` is quantized over its own range."""
    quantized, scale, zero = dynamic_quantize_linear(a)
    return matmul_integer_to_float(quantized, b, scale, b_scale, zero, b_zero, bias)


@microsoft_op("QGemm")
def qgemm(
    a, a_scale: ir.Value, a_zero, b, b_scale: ir.Value, b_zero,
    c=None, y_scale=None, y_zero=None,
    *, transA=0, transB=0, alpha=1.0,  # noqa: N803
):  # fmt: skip
    """``alpha * A' B' + C`` with `c` of scale ``alpha * a_scale * b_scale``; floats without
    `y_scale`."""
    a = graph.transpose(a, perm=[1, 0]) if transA else a
    b = graph.transpose(b, perm=[1, 0]) if transB else b
    accumulators = integer_matmul(a, b, per_row(a_zero), per_column(b_zero))
    accumulators = accumulators if c is None else graph.add(accumulators, c)
    a_scale, b_scale = per_row(a_scale), per_column(b_scale)
    scale = graph.mul(a_scale, graph.splat_like(alpha, a_scale))
    if y_scale is not None and y_zero is not None:
        return requantize(accumulators, [scale, b_scale], y_scale, y_zero)
    return graph.mul(graph.cast(accumulators, to=np.float32), graph.mul(scale, b_scale))


@microsoft_op("MatMulNBits")
def matmul_n_bits(
    a,
    b,
    scales,
    zero_points=None,
    g_idx=None,
    bias=None,
    *,
    K,  # noqa: N803
    N,  # noqa: N803
    bits=4,
    block_size,
    accuracy_level=0,
    weight_prepacked=0,
):
    """``a @ w.T`` with the weights [N, K] in blocks along K, 8 / `bits` of them in a byte.

    Each block has a scale, and a zero point that is packed likewise or a float; without one it is
    the middle of the range. `g_idx` says for each number along K which block's it has instead.
    `accuracy_level` 4 allows passes to quantize `a` to 8 bits; the others ask for at least 16.
    """
    if weight_prepacked:
        raise UnsupportedError("weights packed for another device")
    if bits not in (2, 4, 8):
        raise graph.TypeRuleError(f"weights of {bits} bits")
    blocks = -(-K // block_size)
    numbers = integers(b, bits, [N, blocks * block_size])
    scales = graph.reshape(scales, shape=[N, blocks])
    zeros = None if zero_points is None else _zeros(zero_points, bits, N, blocks)
    if g_idx is not None:
        scales, zeros = _gathered(scales, g_idx, K), _gathered(zeros, g_idx, K)
        weights = dequantized(_first(numbers, K), _given(scales), zeros, bits)
    else:
        numbers = graph.reshaped_constant(numbers, [N, blocks, block_size])
        weights = dequantized(numbers, _given(_column(scales)), _column(zeros), bits)
        weights = _first(graph.reshape(weights, shape=[N, blocks * block_size]), K)

    def product(a: ir.Value, b: ir.Value) -> ir.Value:
        y = graph.matmul(a, b)
        return graph.allow_accuracy_level(y, accuracy_level) if accuracy_level else y

    y = matmul_of_any_rank(a, graph.transpose(weights, perm=[1, 0]), product)
    return y if bias is None else graph.add(y, bias)


def _first(x: ir.Value, columns: int) -> ir.Value:
    rows, given = graph.type_of(x).shape
    if given == columns:
        return x
    return graph.slice_(x, starts=[0, 0], sizes=[rows, columns], steps=[1, 1])


def _gathered(x: ir.Value | None, indices: ir.Value, count: int) -> ir.Value | None:
    return None if x is None else graph.gather(x, _head(indices, count), axis=1)


def _head(x: ir.Value, count: int) -> ir.Value:
    (given,) = graph.type_of(x).shape
    return x if given == count else graph.slice_(x, starts=[0], sizes=[count], steps=[1])


def _column(x: ir.Value | None) -> ir.Value | None:
    return None if x is None else graph.reshape(x, shape=[*graph.type_of(x).shape, 1])


def _zeros(zeros: ir.Value, bits: int, rows: int, blocks: int) -> ir.Value:
    """Zero points, [rows, blocks], floats or packed integers."""
    if graph.is_float(graph.type_of(zeros).dtype):
        return graph.reshape(zeros, shape=[rows, blocks])
    bytes_ = -(-blocks * bits // 8)
    return _first(integers(zeros, bits, [rows, bytes_ * 8 // bits]), blocks)


def integers(x: ir.Value, bits: int, shape: Sequence[Any]) -> ir.Value:
    """The integers in the bytes of `x`, in `shape`; constants of 4 bits have a type of their own,
    by which kernels recognise them."""
    packed = graph.graph_op(x.owner)
    if bits == 8 or not isinstance(packed, graph.ConstantOp):
        return graph.reshaped_constant(unpacked(x, bits), shape)
    data = packed.attrs["value"].reshape(-1, 1)
    apart = data >> np.arange(0, 8, bits, dtype=np.uint8) & np.uint8((1 << bits) - 1)
    dtype = ml_dtypes.uint4 if bits == 4 else np.uint8
    return graph.constant(value=apart.astype(dtype).reshape(shape))


def dequantized(numbers: ir.Value, scales: ir.Value, zeros: ir.Value | None, bits: int) -> ir.Value:
    """Numbers without sign in the type of `scales`; 0 is the middle of the range by default."""
    dtype = graph.type_of(scales).dtype
    if zeros is None:
        middle = np.array(1 << (bits - 1), graph.type_of(numbers).dtype)
        zeros = graph.constant(value=middle)
    if graph.is_float(graph.type_of(zeros).dtype):
        zeros = graph.cast(zeros, to=dtype)
    elif graph.type_of(numbers).dtype != graph.type_of(zeros).dtype:  # one of them is constant
        numbers, zeros = (graph.cast(x, to=np.uint8) for x in (numbers, zeros))
    return graph.dequantize(numbers, scales, zeros, to=dtype)


def unpacked(x: ir.Value, bits: int) -> ir.Value:
    """The numbers in the bytes of `x`, the low bits first, along its last axis."""
    if bits == 8:
        return x
    *lead, size = graph.type_of(x).shape
    count = 8 // bits
    shifts = graph.constant(value=np.arange(0, 8, bits, dtype=np.uint8))
    mask = graph.constant(value=np.array((1 << bits) - 1, np.uint8))
    apart = graph.shift_right(graph.reshape(x, shape=[*lead, size, 1]), shifts)
    return graph.reshape(graph.bitwise_and(apart, mask), shape=[*lead, size * count])


@microsoft_op("MatMulBnb4")
def matmul_bnb4(
    a,
    b,
    absmax,
    *,
    K,  # noqa: N803
    N,  # noqa: N803
    block_size,
    quant_type,
    transB=1,  # noqa: N803
    training_mode=0,
):
    """``a @ w.T`` with the weights [N, K] as indices into a table, the high bits of a byte first.

    Each `block_size` of them, taken row by row, have a scale.
    """
    del training_mode
    if quant_type not in (0, 1):
        raise graph.TypeRuleError(f"quant_type {quant_type}")
    dtype = graph.type_of(absmax).dtype
    table = np.array(_NF4 if quant_type else [*_FP4, *(-x for x in _FP4)], dtype)
    (size,) = graph.type_of(b).shape
    shifts = graph.constant(value=np.array([4, 0], np.uint8))
    mask = graph.constant(value=np.array(15, np.uint8))
    indices = graph.shift_right(graph.reshape(b, shape=[size, 1]), shifts)
    indices = graph.reshape(graph.bitwise_and(indices, mask), shape=[size * 2])
    indices = graph.cast(_head(indices, N * K), to=np.int32)
    block = graph.constant(value=np.arange(N * K) // block_size)
    scales = graph.gather(absmax, block, axis=0)
    weights = graph.mul(graph.gather(graph.constant(value=table), indices, axis=0), scales)
    weights = graph.reshape(weights, shape=[N, K])
    weights = graph.transpose(weights, perm=[1, 0]) if transB else weights
    return matmul_of_any_rank(a, weights)


@microsoft_op("MatMulInteger16")
def matmul_integer_16(a, b):
    """Products of 16 bits, added up in 32; without sign if neither operand has one."""
    dtypes = graph.type_of(a).dtype, graph.type_of(b).dtype
    if any(dtype not in (np.int16, np.uint16) for dtype in dtypes):
        raise graph.TypeRuleError(f"needs integers of 16 bits, not {dtypes[0]} and {dtypes[1]}")
    wide = np.uint32 if dtypes == (np.uint16, np.uint16) else np.int32
    return matmul_of_any_rank(graph.cast(a, to=wide), graph.cast(b, to=wide))


@microsoft_op("MatMulNBitsMlp")
def matmul_n_bits_mlp(
    a,
    skip=None,
    norm_scale=None,
    gate_weights=None,
    gate_scales=None,
    gate_bias=None,
    up_weights=None,
    up_scales=None,
    up_bias=None,
    *,
    K,  # noqa: N803
    N,  # noqa: N803
    activation,
    bits=4,
    block_size,
    epsilon=1e-5,
    accuracy_level=0,
):
    """``activation(gate) * up`` of two projections, behind a normalisation if that has a scale."""
    total, x = _normalised(a, skip, norm_scale, epsilon)
    shares = [(gate_weights, gate_scales, gate_bias, N), (up_weights, up_scales, up_bias, N)]
    gate, up = _projected(x, shares, K, bits, block_size, accuracy_level)
    silu = activation.lower() in ("silu", "swish")
    gate = graph.swish(gate, alpha=1.0) if silu else activated(gate, activation, None, None)
    return graph.mul(gate, up), total


@microsoft_op("MatMulNBitsQkv")
def matmul_n_bits_qkv(
    a,
    skip=None,
    norm_scale=None,
    q_weights=None,
    q_scales=None,
    q_bias=None,
    k_weights=None,
    k_scales=None,
    k_bias=None,
    v_weights=None,
    v_scales=None,
    v_bias=None,
    *,
    K,  # noqa: N803
    Nq,  # noqa: N803
    Nkv,  # noqa: N803
    bits=4,
    block_size,
    epsilon=1e-6,
    accuracy_level=0,
):
    """Queries, keys and values of one normalised input."""
    if norm_scale is None:
        raise graph.TypeRuleError("norm_scale is left out")
    total, x = _normalised(a, skip, norm_scale, epsilon)
    shares = [
        (q_weights, q_scales, q_bias, Nq),
        (k_weights, k_scales, k_bias, Nkv),
        (v_weights, v_scales, v_bias, Nkv),
    ]
    return *_projected(x, shares, K, bits, block_size, accuracy_level), total


def _normalised(
    a: ir.Value, skip: ir.Value | None, scale: ir.Value | None, epsilon: float
) -> tuple[ir.Value, ir.Value]:
    """The input of a normalization, and its result; without `scale` there is no normalization."""
    if scale is None:
        if skip is not None:
            raise graph.TypeRuleError("skip without norm_scale")
        return a, a
    total = a if skip is None else graph.add(a, skip)
    return total, graph.rms_norm(total, scale, axis=graph.type_of(a).rank - 1, epsilon=epsilon)


def _projected(
    x: ir.Value,
    shares: Sequence[tuple[Any, Any, Any, int]],
    count: int,
    bits: int,
    block_size: int,
    level: int,
) -> list[ir.Value]:
    """`x` times each of `shares`: packed weights, scales, a bias, and the number of columns."""
    if any(weights is None or scales is None for weights, scales, _, _ in shares):
        raise graph.TypeRuleError("weights or scales are left out")
    return [
        matmul_n_bits(
            x,
            weights,
            scales,
            bias=bias,
            K=count,
            N=width,
            bits=bits,
            block_size=block_size,
            accuracy_level=level,
        )
        for weights, scales, bias, width in shares
    ]
