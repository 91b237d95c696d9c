"""Operands of contractions of quantized tensors."""

from dataclasses import dataclass

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_array, constant_scalar, producer

MAX_K = (1 << 31) // (255 * 128)
"""Products of u8 and i8 that i32 sums without overflow."""

MAX_BITS = 8
"""Bits of a weight; those of fewer are widened."""

MAX_CONV_RANK = 5
"""Rank of the images that the kernels convolve."""

CHANNEL_MULTIPLE = 8
"""Channels of depthwise convolutions come in multiples of it, so that they fill vectors."""

MAX_WORD_SUM = (1 << 31) // 65535
"""Sum of weights of one sign whose products with u16 i32 sums without overflow."""

_I32, _F32, _U8 = np.dtype(np.int32), np.dtype(np.float32), np.dtype(np.uint8)
_UNSIGNED = {
    np.dtype(f"{sign}{size}"): np.dtype(f"u{size}") for size in (1, 2) for sign in ("i", "u")
}
"""The unsigned type of each type of activations."""


@dataclass(frozen=True)
class QuantizedWeights:
    """Constant weights: `integers` times `scales`, which broadcast to them; the zero point is
    subtracted."""

    integers: np.ndarray
    scales: np.ndarray

    @staticmethod
    def of(value: ir.Value) -> "QuantizedWeights | None":
        """The weights that `value` holds dequantized, or a transpose of such; None if there are
        none."""
        moved = producer(value, graph.TransposeOp)
        if moved is not None:
            inner, perm = QuantizedWeights.of(moved.x), moved.attrs["perm"]
            if inner is None:
                return None
            return QuantizedWeights(inner.integers.transpose(perm), inner.scales.transpose(perm))
        op = producer(value, graph.DequantizeOp)
        if op is None or op.attrs["to"] != _F32:
            return None
        integers, scales, zero = map(constant_array, (op.x, op.scale, op.zero_point))
        if integers is None or scales is None or zero is None:
            return None
        if graph.bit_width(integers.dtype) > MAX_BITS or scales.dtype != _F32:
            return None
        shifted = integers.astype(np.int32) - zero.astype(np.int32)
        return QuantizedWeights(
            shifted, scales.reshape((1,) * (shifted.ndim - scales.ndim) + scales.shape)
        )

    def per_feature(self, axis: int) -> np.ndarray | None:
        """One scale for all features or one for each along `axis`; None if they vary otherwise."""
        others = tuple(n for n in range(self.integers.ndim) if n != axis)
        if any(self.scales.shape[n] != 1 for n in others):
            return None
        return self.scales.reshape(-1)

    def offsets(self, axis: int) -> np.ndarray:
        """The number to take off each feature along `axis` so that its integers fit 8 bits, as i32
        with the rank of the weights: zeros if they do."""
        others = tuple(n for n in range(self.integers.ndim) if n != axis)
        low = self.integers.min(others, keepdims=True, initial=0)
        high = self.integers.max(others, keepdims=True, initial=0)
        return np.where(low < -128, low + 128, np.maximum(high - 127, 0)).astype(np.int32)

    def reason_against_words(self, axis: int) -> str | None:
        """The reason why activations of 16 bits are not multiplied by these weights, whose features
        are along `axis`, byte by byte; or None."""
        if self.offsets(axis).any():
            return "the weights less their zero point exceed 8 bits, and activations have 16"
        others = tuple(n for n in range(self.integers.ndim) if n != axis)
        sums = [np.maximum(sign * self.integers, 0).sum(others).max(initial=0) for sign in (1, -1)]
        if max(sums) > MAX_WORD_SUM:
            return "sums of products of 16 bits would exceed 32 bits"
        return None

    def reason_against(self, axis: int, terms: int) -> str | None:
        """The reason why the kernels do not multiply these weights, whose features are along
        `axis` and sums of `terms` products; or None."""
        if self.per_feature(axis) is None:
            return "the scales of the weights vary within a feature"
        offsets = self.offsets(axis)
        if (self.integers - offsets).max(initial=0) > 127:
            return "the weights less their zero point exceed 8 bits"
        return reason_against_sums(terms, MAX_K // 2 if offsets.any() else MAX_K)


def reason_against_conv(
    op: graph.ConvOp, weights: np.ndarray, fewest: int = graph.INT8_GROUP
) -> str | None:
    """The reason why the kernels do not convolve with `weights`, channels first, or None; for
    `fewest` see `reason_against_group`."""
    if weights.ndim > MAX_CONV_RANK:
        return "it has more than three spatial axes"
    if op.attrs["groups"] > 1 and weights.shape[1] == 1:
        return reason_against_channels(weights.shape[0], op.attrs["groups"])
    return reason_against_group(weights.shape[1], op.attrs["groups"], fewest)


def reason_against_group(channels: int, groups: int, fewest: int = graph.INT8_GROUP) -> str | None:
    """The reason why the kernels do not read `channels` of each of `groups` groups, or None: they
    read them four at a time, and the last ones of the only group, which has at least `fewest`."""
    if channels < fewest or (groups > 1 and channels % graph.INT8_GROUP):
        return f"channels do not fill groups of {graph.INT8_GROUP}"
    return None


def reason_against_channels(features: int, groups: int) -> str | None:
    """The reason why the kernels do not convolve depthwise, or None."""
    if features != groups:
        return "it is depthwise with several features for each channel"
    if groups % CHANNEL_MULTIPLE:
        return f"the channels of a depthwise convolution are no multiple of {CHANNEL_MULTIPLE}"
    return None


def reason_against_sums(terms: int, most: int = MAX_K) -> str | None:
    """The reason why the kernels do not compute sums of `terms` products, `most` of them at most,
    or None."""
    if terms == 0:
        return "there are no factors"
    return "sums would exceed 32 bits" if terms > most else None


def quantized_input(value: ir.Value) -> graph.DequantizeOp | None:
    """The op that dequantizes `value` from 8 or 16 bits by one scale and one constant zero point,
    or None."""
    op = producer(value, graph.DequantizeOp)
    if op is None or op.attrs["to"] != _F32 or graph.type_of(op.x).dtype not in _UNSIGNED:
        return None
    scale = graph.type_of(op.scale)
    if scale.shape or scale.dtype != _F32 or constant_scalar(op.zero_point) is None:
        return None
    return op


def is_of_words(op: graph.DequantizeOp) -> bool:
    """Return whether `op` dequantizes 16 bits."""
    return graph.type_of(op.x).dtype.itemsize == 2


def as_unsigned(op: graph.DequantizeOp) -> tuple[ir.Value, int]:
    """The integers that `op` dequantizes, as u8 or u16, and their zero point; signed ones move up
    by half of their range."""
    zero, dtype = int(constant_scalar(op.zero_point)), graph.type_of(op.x).dtype
    if graph.is_unsigned(dtype):
        return op.x, zero
    half = 1 << (8 * dtype.itemsize - 1)
    moved = graph.constant(value=np.array(zero + half, _UNSIGNED[dtype]))
    source = producer(op.x, graph.QuantizeOp)
    if source is not None and constant_scalar(source.zero_point) == zero:
        return graph.quantize(source.x, source.scale, moved), zero + half
    return moved_up(op.x), zero + half


def moved_up(x: ir.Value) -> ir.Value:
    """``x + 128`` of i8, as u8, or that of i16 by half of its range; a table gives that instead of
    `x`."""
    source = producer(x, graph.TableOp)
    if source is not None:
        moved = [n + 128 for n in source.attrs["table"]]
        return graph.table(source.x, **{**source.attrs, "table": moved, "to": _U8})
    dtype = graph.type_of(x).dtype
    shift = graph.constant(value=np.array(1 << (8 * dtype.itemsize - 1), np.int32))
    return graph.cast(graph.add(graph.cast(x, to=_I32), shift), to=_UNSIGNED[dtype])


def is_dequantized(value: ir.Value) -> bool:
    """Return whether `value`, or what it is a transpose of, is dequantized from integers."""
    moved = producer(value, graph.TransposeOp)
    return producer(value if moved is None else moved.x, graph.DequantizeOp) is not None


def reason_against_operands(x: ir.Value, w: ir.Value) -> str | None:
    """The reason why a contraction of `x` and `w`, both dequantized, is not one of integers by
    constant weights; or None."""
    if QuantizedWeights.of(w) is None:
        return "the weights are not constants of at most 8 bits with constant scales of f32"
    if quantized_input(x) is None:
        return "the input is not of 8 or 16 bits, or has several scales, or no constant zero point"
    return None


def unsigned(x: ir.Value) -> ir.Value:
    """``x + 128`` of i8, as u8; what `x` was if it was u8."""
    source = _unsigned_source(x)
    return moved_up(x) if source is None else source


def _unsigned_source(value: ir.Value) -> ir.Value | None:
    """The u8 of which `value` holds the elements less 128, as i8; or None."""
    narrowed = producer(value, graph.CastOp)
    moved = None if narrowed is None else producer(narrowed.x, graph.SubOp)
    if narrowed is None or moved is None or narrowed.attrs["to"] != np.int8:
        return None
    widened = producer(moved.a, graph.CastOp)
    if widened is None or constant_scalar(moved.b) != 128:
        return None
    return widened.x if graph.type_of(widened.x).dtype == _U8 else None
