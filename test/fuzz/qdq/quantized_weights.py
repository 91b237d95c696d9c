"""Constant weights and biases that a QDQ graph dequantises."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..drawn_values import Value
from .quantized_values import Coding, drawn_point, drawn_scale, dtype_of_bits, integers


def weights(
    b: GraphBuilder, shape: Sequence[int], k: int, axis: int, blocks_along: int | None = None
) -> tuple[Value, Value]:
    """Dequantised weights for sums of `k` products, and their scales.

    There is one scale, one for each position on `axis`, or from opset 21 on one for each block on
    the axis `blocks_along`.
    """
    narrow = b.opset >= 21 and b.chance(0.2)
    name = b.choose(("int4", "uint4")) if narrow else b.choose(("int8", "int8", "int8", "uint8"))
    dtype = dtype_of_bits(name)
    coding = _coding(b, shape, dtype, k, axis, blocks_along)
    w = _integers(b, shape, dtype, coding)
    (x,) = b.add("DequantizeLinear", [w, *coding.operands], **coding.attributes)
    return x, coding.scale


def _integers(b: GraphBuilder, shape: Sequence[int], dtype: np.dtype, coding: Coding) -> Value:
    """The integers of weights: constants, an input, or constants of floats that are quantised."""
    numbers, kind = integers(b, shape, dtype), b.random.random()
    if kind < 0.08 and not narrow_type(dtype):
        return b.fed(numbers, True, named=False)
    if kind < 0.16 and coding.point is not None and not coding.block:
        floats = b.known(numbers.astype(np.float32) * np.float32(coding.scale.wide.max()))
        (q,) = b.add("QuantizeLinear", [floats, *coding.operands], **coding.attributes)
        return q
    return b.known(numbers)


def narrow_type(dtype: np.dtype) -> bool:
    """Return whether `dtype` has fewer than 8 bits."""
    return "4" in dtype.name


def _coding(
    b: GraphBuilder,
    shape: Sequence[int],
    dtype: np.dtype,
    k: int,
    axis: int,
    blocks_along: int | None,
) -> Coding:
    block, scales = 0, list[int]()
    chosen: int | None = None
    if blocks_along is not None and b.opset >= 21 and b.chance(0.3):
        chosen, size = blocks_along, shape[blocks_along]
        block = b.choose([n for n in (1, 2, 4, 8, 16, 32) if n <= max(size, 1)])
        scales = list(shape)
        scales[chosen] = -(-size // block)
        if b.chance(0.7):  # blocks that fill the axis
            block = next(n for n in (block, 4, 3, 2, 1) if size % n == 0)
            scales[chosen] = size // block
    elif b.chance(0.6):
        chosen, scales = axis, [shape[axis]]
    elif b.chance(0.2):
        scales = [1]
    size = 2.0 / (max(k, 1) ** 0.5 * (8 if narrow_type(dtype) else 128))
    scale = drawn_scale(b, size, scales)
    point = (
        drawn_point(b, dtype, scales)
        if dtype.name.startswith("u") or b.chance(0.2)
        else (np.zeros(scales, dtype) if b.chance(0.7) else None)
    )
    return Coding(b.known(scale), None if point is None else b.known(point), chosen, block)


def bias(b: GraphBuilder, count: int, x_scale: np.ndarray, w_scale: np.ndarray) -> list[Value]:
    """No bias, one of floats, or one of i32 whose scale is the product of those of the operands."""
    if b.chance(0.3):
        return []
    if b.chance(0.2) or x_scale.size != 1 or w_scale.ndim > 1:
        return [b.new([count], "float32", -1, 1, exact=False, weight=True)]
    scale = np.asarray(x_scale.reshape(()) * w_scale, np.float32)
    if scale.size == 1:
        scale = scale.reshape(())
    numbers = b.random.integers(-2000, 2001, count).astype(np.int32)
    operands = [b.known(numbers), b.known(scale)]
    if b.chance(0.3):
        operands.append(b.known(np.zeros(scale.shape, np.int32)))
    attributes: dict[str, Any] = {"axis": 0} if scale.ndim else {}
    (x,) = b.add("DequantizeLinear", operands, **attributes)
    return [x]
