"""Quantized values. Scales are powers of two and rounded values are exact: there are no near
ties."""

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value


def _scale(b: GraphBuilder, shape: tuple[int, ...] = ()) -> Value:
    return b.known(b.random.choice(np.array([0.125, 0.25, 0.5, 1], np.float32), shape))


@draws(weight=2, since=13)
def quantize(b: GraphBuilder) -> None:
    """Quantize with one scale, or one for each slice, and dequantize."""
    x = b.take((1, 4), ("float32",), exact=True, empty=False)
    dtype = b.choose((np.uint8, np.int8))
    axis = b.integer(0, x.rank - 1)
    shape = (x.shape[axis],) if b.chance(0.4) else ()
    scale = _scale(b, shape)
    point = b.known(np.full(shape, b.integer(0, 9)).astype(dtype))
    attributes: dict[str, Any] = {"axis": axis} if shape else {}
    (q,) = b.add("QuantizeLinear", [x, scale, point], **attributes)
    if b.chance(0.7):
        b.add("DequantizeLinear", [q, scale, point], exact=True, **attributes)


@draws(weight=1.5, since=10)
def dequantize(b: GraphBuilder) -> None:
    """Dequantize existing integers."""
    x = b.take((0, 4), ("uint8", "int8", "int32"))
    if x.dtype.name == "int32" and not x.within(-1000, 1000):
        return
    point = [b.known(np.array(b.integer(0, 9), x.dtype))] if x.dtype.name != "int32" else []
    b.add("DequantizeLinear", [x, _scale(b), *point], exact=True)


@draws(weight=0.5, since=11)
def dynamic(b: GraphBuilder) -> None:
    """Dynamic quantization of values whose range is a multiple of 255."""
    shape = b.shape(1, 3)
    steps = b.random.integers(0, 256, shape)
    if steps.size < 2:
        return
    steps.ravel()[:2] = 0, 255
    b.add("DynamicQuantizeLinear", [b.fed((steps / 4).astype(np.float32), True)], 3)


@draws(weight=1, since=10)
def quantized_matmul(b: GraphBuilder) -> None:
    """Matmul of 8-bit integers, rescaled by powers of two."""
    dtype = b.choose(("uint8", "int8"))
    x, k = b.new(b.shape(2, 3), dtype, 0, 9), 0
    k = x.shape[-1]
    if not x.size:
        return
    w = b.new([k, max(b.size(33), 1)], dtype, 0, 9, weight=True)
    zero = [b.known(np.array(b.integer(0, 4), dtype)) for _ in range(3)]
    # the product of the input scales over the scale of the result is 1 or a larger power of two
    one = b.known(np.array(1, np.float32))
    b.add("QLinearMatMul", [x, one, zero[0], w, one, zero[1], one, zero[2]])


@draws(weight=1, since=10)
def quantized_conv(b: GraphBuilder) -> None:
    """Convolution of 8-bit integers."""
    x = b.new([1, b.integer(1, 4), b.integer(3, 9), b.integer(3, 9)], "uint8", 0, 5)
    w = b.new([b.integer(1, 8), x.shape[1], 3, 3], "uint8", 0, 3, weight=True)
    zero, one = b.known(np.array(0, np.uint8)), b.known(np.array(1, np.float32))
    point = b.known(np.array(b.integer(0, 3), np.uint8))
    b.add("QLinearConv", [x, one, point, w, one, zero, one, zero])
