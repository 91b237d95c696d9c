"""Contractions of dequantized tensors, computed on their integers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import at_least
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array, producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from .exact_sums import reason_against_exact
from .quantized_operands import (
    QuantizedWeights,
    as_unsigned,
    is_dequantized,
    is_of_words,
    moved_up,
    quantized_input,
    reason_against_conv,
    reason_against_operands,
    reason_against_sums,
    unsigned,
)
from .quantized_products import QuantizeProduct
from .requantization import FoldRescaling, QuantizeByReciprocal, QuantizeSum

FEWEST_CHANNELS = {"avx2": graph.INT8_GROUP}
"""Channels of an image from which on the units convolve it faster than f32, if not two: fewer are
padded to a group of four. AVX2 gains nothing by three of four products."""

AGAINST_WORDS = {
    "avx2": "the unit multiplies 16 bits no faster than f32",
    "amx": "f32 is multiplied on tiles, as terms of bf16",
}
"""Reasons of units against activations of 16 bits."""

WINOGRAD_CHANNELS, WINOGRAD_PIXELS = 16, 196
"""Channels come in multiples of it, and there are more pixels, where Winograd's algorithm for f32
is at least as fast as products of 16 bits."""

_F32, _I32 = np.dtype(np.float32), np.dtype(np.int32)


@register
@dataclass(frozen=True)
class CpuIntegerContractions(Pass):
    """Contract 8-bit integers where a model contracts what they dequantize to.

    %1 = "graph.dequantize"(%x, %sx, %zx)
    %2 = "graph.dequantize"(%w, %sw, %zw)
    %3 = "graph.matmul"(%1, %2) : 128x768xf32, 768x768xf32
    -->
    %3 = "graph.matmul"(%x, %w') : 128x768xui8, 768x768xi8
    %4 = "graph.sub"(%3, %c) : what the zero point of x adds to each column
    %5 = "graph.mul"(%4 as f32, sx * sw)

    For constant weights with one scale, or one for each output feature, and an input with one
    scale. Integers are summed exactly; the f32 sums of the model are rounded. Weights that exceed 8
    bits less their zero point are moved, and sums over rows or windows of the input added.

    Inputs of 16 bits are multiplied byte by byte, which takes half of the time of f32.

    If `exact`, only where f32 does not round sums either: of scales that are powers of two, or
    small multiples of such. What the model itself contracts as integers is always exact.
    """

    name = "cpu-integer-contractions"
    anchor = FUNCTION
    only_rewrites = True
    unit: Literal["none", "amx", "avx512vnni", "avxvnni", "avx2"] = "none"
    """The unit that multiplies 8-bit integers; without one, f32 is faster."""
    exact: bool = False
    """True if results must be those of f32, op by op, to the bit."""

    def run(self, op: Any, state: PassState) -> None:
        if self.unit != "none":
            apply_rewrites(op, rewrites(self.unit, self.exact), state)


def rescaled(
    y: ir.Value,
    weights: QuantizedWeights,
    op: graph.DequantizeOp,
    zero: int,
    axis: int,
    behind: int,
) -> ir.Value:
    """The sums `y` of integers, whose input has the zero point `zero`, as floats. Features are
    along `axis` of the weights, and before `behind` axes of `y`."""
    others = tuple(n for n in range(weights.integers.ndim) if n != axis)
    if zero:
        sums = zero * weights.integers.sum(others, dtype=np.int64).astype(np.int32)
        y = graph.sub(y, graph.constant(value=sums.reshape(-1, *[1] * behind)))
    scales = weights.per_feature(axis)
    assert scales is not None
    scales = scales.reshape(() if scales.size == 1 else (-1, *[1] * behind))
    known = constant_array(op.scale)
    if known is None:
        scale = graph.mul(op.scale, graph.constant(value=scales))
    else:
        scale = graph.constant(value=known * scales)
    return graph.mul(graph.cast(y, to=_F32), scale)


def without_padding(
    x: ir.Value, zero: int, attrs: Mapping[str, Any]
) -> tuple[ir.Value, dict[str, Any]]:
    """The image `x` of a convolution with its padding, of `zero`, and `attrs` without it."""
    low, high = attrs["low"], attrs["high"]
    if not any((*low, *high)):
        return x, dict(attrs)
    border = graph.constant(value=np.array(zero, graph.type_of(x).dtype))
    x = graph.pad(x, border, low=[0, 0, *low], high=[0, 0, *high])
    return x, {**attrs, "low": (0,) * len(low), "high": (0,) * len(low)}


class IntegerMatmul(Rewrite):
    """``matmul(dequantize(x), dequantize(w))  -->  matmul(x, w)``, with scales behind."""

    name = "integer-matmul"
    root = graph.MatmulOp

    def __init__(self, exact: bool, against_words: str | None):
        self.exact, self.against_words = exact, against_words

    def pattern(self, op: graph.MatmulOp) -> dict[str, Any] | None:
        if not is_dequantized(op.a) or not is_dequantized(op.b):
            return None
        return {"x": quantized_input(op.a), "weights": QuantizedWeights.of(op.b)}

    def check(
        self,
        op: graph.MatmulOp,
        x: graph.DequantizeOp | None,
        weights: QuantizedWeights | None,
    ) -> str | None:
        if x is None or weights is None:
            return reason_against_operands(op.a, op.b)
        if weights.integers.ndim != 2:
            return "the weights are several matrices"
        reason = weights.reason_against(1, weights.integers.shape[0])
        if reason is None and is_of_words(x):
            reason = self.against_words or weights.reason_against_words(axis=1)
        return reason or (reason_against_exact(x, weights, 1) if self.exact else None)

    def rewrite(
        self, op: graph.MatmulOp, x: graph.DequantizeOp, weights: QuantizedWeights
    ) -> ir.Value:
        integers, zero = as_unsigned(x)
        offsets = weights.offsets(axis=1)
        taken = None
        if offsets.any():  # before the matmul, whose kernel may then add it
            last = graph.type_of(integers).rank - 1
            rows = graph.reduce_sum(graph.cast(integers, to=_I32), axes=[last], keepdims=True)
            taken = graph.mul(rows, graph.constant(value=offsets))
        panel = graph.constant(value=(weights.integers - offsets).astype(np.int8))
        y = graph.matmul(integers, panel)
        y = y if taken is None else graph.add(y, taken)
        return rescaled(y, weights, x, zero, axis=1, behind=0)


class IntegerConv(Rewrite):
    """``conv(dequantize(x), dequantize(w))  -->  conv(x, w)``, with scales behind. Padding is with
    the zero point."""

    name = "integer-conv"
    root = graph.ConvOp

    def __init__(self, fewest: int, exact: bool, against_words: str | None):
        self.fewest, self.exact, self.against_words = fewest, exact, against_words

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        if not is_dequantized(op.x) or not is_dequantized(op.w):
            return None
        if op.attrs["layout"] != "channels_first":
            return None
        return {"x": quantized_input(op.x), "weights": QuantizedWeights.of(op.w)}

    def check(
        self,
        op: graph.ConvOp,
        x: graph.DequantizeOp | None,
        weights: QuantizedWeights | None,
    ) -> str | None:
        if x is None or weights is None:
            return reason_against_operands(op.x, op.w)
        shape = weights.integers.shape
        if shape[1] == 1 < op.attrs["groups"] and weights.offsets(axis=0).any():
            return "depthwise, sums over windows take as long as the convolution"
        reason = reason_against_conv(op, weights.integers, self.fewest) or weights.reason_against(
            0, math.prod(shape[1:])
        )
        if reason is None and is_of_words(x):
            reason = self.against_words or self._reason_against_words(op, weights)
        return reason or (reason_against_exact(x, weights, 0) if self.exact else None)

    def rewrite(
        self, op: graph.ConvOp, x: graph.DequantizeOp, weights: QuantizedWeights
    ) -> ir.Value:
        image, zero = as_unsigned(x)
        image, attrs = without_padding(image, zero, op.attrs)
        offsets = weights.offsets(axis=0)
        taken = self._window_sums(image, attrs, weights, offsets) if offsets.any() else None
        kernel = graph.constant(value=(weights.integers - offsets).astype(np.int8))
        y = graph.conv(image, kernel, **attrs)
        y = y if taken is None else graph.add(y, taken)
        return rescaled(y, weights, x, zero, axis=0, behind=weights.integers.ndim - 2)

    @staticmethod
    def _reason_against_words(op: graph.ConvOp, weights: QuantizedWeights) -> str | None:
        """The reason not to convolve 16 bits by 8, which takes half of the time of f32."""
        attrs, (features, channels, *kernel) = op.attrs, weights.integers.shape
        if channels == 1 < attrs["groups"]:
            return "it is depthwise, f32 convolves 16 bits as fast"
        if channels < graph.INT8_GROUP:
            return f"fewer than {graph.INT8_GROUP} channels of 16 bits"
        dense = kernel == [3, 3] and all(n == 1 for n in (*attrs["strides"], *attrs["dilations"]))
        fills = not channels % WINOGRAD_CHANNELS and not features % WINOGRAD_CHANNELS
        pixels = graph.element_count(graph.type_of(op.result).shape[2:])
        if dense and fills and not at_least(WINOGRAD_PIXELS, pixels):
            return "Winograd's algorithm multiplies f32 as fast"
        return weights.reason_against_words(axis=0)

    @staticmethod
    def _window_sums(
        image: ir.Value, attrs: Mapping[str, Any], weights: QuantizedWeights, offsets: np.ndarray
    ) -> ir.Value:
        """The sums over the windows of the `image`, times the offset of each filter."""
        features, _, *kernel = weights.integers.shape
        window = [attrs[name] for name in ("strides", "dilations", "low", "high")]
        sums = graph.window_sums(graph.channel_sums(image, attrs["groups"]), kernel, *window)
        return graph.times_filters(sums, graph.constant(value=offsets), features)


class UnsignedMatmul(Rewrite):
    """``matmul(x, w)  -->  matmul(x + 128, w) - 128 * sum(w)`` for an `x` of i8: the units multiply
    unsigned by signed integers. An `x` that was u8, less 128, is taken as it was. Exact."""

    name = "unsigned-matmul"
    root = graph.MatmulOp

    def pattern(self, op: graph.MatmulOp) -> dict[str, Any] | None:
        type_ = graph.type_of(op.b)
        if type_.dtype != np.int8 or type_.rank != 2 or not type_.is_static:
            return None
        return {"k": type_.static_shape[0]} if graph.type_of(op.a).dtype == np.int8 else None

    def check(self, op: graph.MatmulOp, k: int) -> str | None:
        return reason_against_sums(k)

    def rewrite(self, op: graph.MatmulOp, k: int) -> ir.Value:
        x, weights = unsigned(op.a), constant_array(op.b)
        if weights is not None:
            sums = graph.constant(value=128 * weights.sum(0, dtype=np.int32))
        else:
            columns = graph.reduce_sum(graph.cast(op.b, to=_I32), axes=[0], keepdims=True)
            sums = graph.mul(graph.constant(value=np.array(128, np.int32)), columns)
        return graph.sub(graph.matmul(x, op.b), sums)


class JoinColumnSums(Rewrite):
    """``(y - a * sum(w)) - b * sum(w)  -->  y - (a + b) * sum(w)``, for sums of the columns of
    computed weights: what an input's own zero point takes, and what `unsigned-matmul` does. Exact.
    """

    name = "join-column-sums"
    root = graph.SubOp

    def pattern(self, op: graph.BinaryOp) -> dict[str, Any] | None:
        inner = producer(op.a, graph.SubOp)
        first = None if inner is None else _ColumnSums.of(inner.b)
        second = _ColumnSums.of(op.b)
        if inner is None or first is None or second is None or first.weights != second.weights:
            return None
        return {"y": inner.a, "first": first, "second": second}

    def check(self, op: graph.BinaryOp, **_: Any) -> str | None:
        return None

    def rewrite(
        self, op: graph.BinaryOp, y: ir.Value, first: "_ColumnSums", second: "_ColumnSums"
    ) -> ir.Value:
        known = [constant_array(each.factor) for each in (first, second)]
        if known[0] is None or known[1] is None:
            factor = graph.add(first.factor, second.factor)
        elif not np.any(known[0] + known[1]):
            return y
        else:
            factor = graph.constant(value=known[0] + known[1])
        return graph.sub(y, graph.mul(factor, second.sums))


@dataclass(frozen=True)
class _ColumnSums:
    """``factor * sums``, the sums of the columns of `weights`, a matrix of i8."""

    factor: ir.Value
    sums: ir.Value
    weights: ir.Value

    @classmethod
    def of(cls, value: ir.Value) -> "_ColumnSums | None":
        """`value` as such sums; None if it is something else."""
        product = producer(value, graph.MulOp)
        if product is None:
            return None
        for factor, sums in ((product.a, product.b), (product.b, product.a)):
            total = producer(sums, graph.ReduceSumOp)
            widened = None if total is None else producer(total.x, graph.CastOp)
            if total is None or widened is None or graph.type_of(widened.x).dtype != np.int8:
                continue
            if graph.type_of(total.x).rank == 2 and total.axes == (0,) and total.keepdims:
                return cls(factor, sums, widened.x)
        return None


def _byte_weights(op: graph.ConvOp) -> np.ndarray | None:
    """The weights of a channels-first convolution, if they are constants of i8."""
    weights = constant_array(op.w) if op.attrs["layout"] == "channels_first" else None
    return weights if weights is not None and weights.dtype == np.int8 else None


class UnsignedConv(Rewrite):
    """``conv(x, w)  -->  conv(x + 128, w) - 128 * sum(w)``, for an `x` of i8, as for a matmul. It
    may be padded. Exact."""

    name = "unsigned-conv"
    root = graph.ConvOp

    def __init__(self, fewest: int):
        self.fewest = fewest

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        weights = _byte_weights(op)
        fits = weights is not None and graph.type_of(op.x).dtype == np.int8
        return {"weights": weights} if fits else None

    def check(self, op: graph.ConvOp, weights: np.ndarray) -> str | None:
        terms = math.prod(weights.shape[1:])
        return reason_against_conv(op, weights, self.fewest) or reason_against_sums(terms)

    def rewrite(self, op: graph.ConvOp, weights: np.ndarray) -> ir.Value:
        padded = producer(op.x, graph.PadOp)
        if padded is None:
            x = unsigned(op.x)
        else:
            x = graph.pad(unsigned(padded.x), moved_up(padded.value), **padded.attrs)
        x, attrs = without_padding(x, 128, op.attrs)
        sums = 128 * weights.sum(tuple(range(1, weights.ndim)), dtype=np.int32)
        sums = sums.reshape(-1, *[1] * (weights.ndim - 2))
        return graph.sub(graph.conv(x, op.w, **attrs), graph.constant(value=sums))


class PadChannels(Rewrite):
    """``conv(x, w)  -->  conv(pad(x), pad(w))`` for an `x` of u8 with fewer channels than a group,
    as images have. Exact: the weights of the other channels are zero."""

    name = "pad-channels"
    root = graph.ConvOp

    def __init__(self, fewest: int):
        self.fewest = fewest

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        weights = _byte_weights(op)
        if weights is None:
            return None
        few = op.attrs["groups"] == 1 and self.fewest <= weights.shape[1] < graph.INT8_GROUP
        return {"weights": weights} if few and graph.type_of(op.x).dtype == np.uint8 else None

    def check(self, op: graph.ConvOp, weights: np.ndarray) -> str | None:
        return reason_against_conv(op, weights, self.fewest)

    def rewrite(self, op: graph.ConvOp, weights: np.ndarray) -> ir.Value:
        high = [0] * weights.ndim
        high[1] = graph.INT8_GROUP - weights.shape[1]
        kernel = np.pad(weights, [(0, size) for size in high])

        def filled(x: ir.Value) -> ir.Value:
            nothing = graph.constant(value=np.array(0, np.uint8))
            return graph.pad(x, nothing, low=[0] * len(high), high=high)

        padded = producer(op.x, graph.PadOp)  # stays the last one, which kernels read as a border
        if padded is None:
            x = filled(op.x)
        else:
            x = graph.pad(filled(padded.x), padded.value, **padded.attrs)
        return graph.conv(x, graph.constant(value=kernel), **op.attrs)


def rewrites(unit: str, exact: bool) -> list[Rewrite]:
    """The rewrites of the pass; see its options."""
    fewest = FEWEST_CHANNELS.get(unit, 2)
    return [
        IntegerMatmul(exact, AGAINST_WORDS.get(unit)),
        IntegerConv(fewest, exact, AGAINST_WORDS.get(unit)),
        UnsignedMatmul(),
        JoinColumnSums(),
        UnsignedConv(fewest),
        PadChannels(fewest),
        QuantizeSum(),
        QuantizeProduct(),
        QuantizeByReciprocal(exact),
        FoldRescaling(exact),
    ]
