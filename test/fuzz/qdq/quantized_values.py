"""Values of 8, 16 and 4 bits with scales and zero points, drawn for QDQ graphs.

Scales are what calibration gives, any float; some are powers of two, round decimals or those of
another value, whose sums lie on ties.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from onnx import helper

from ..builder import GraphBuilder
from ..drawn_values import Value

BYTES = ("uint8", "int8")
_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 20, 24, 31, 32, 33)


@dataclass(frozen=True)
class Coding:
    """The scale and the zero point of a quantised value; `point` is None where it is left out."""

    scale: Value
    point: Value | None
    axis: int | None = None
    block: int = 0
    stated: np.dtype | None = None
    """The type that QuantizeLinear states because there is no zero point."""

    @property
    def operands(self) -> list[Value]:
        """The operands after the value."""
        return [self.scale, *([] if self.point is None else [self.point])]

    @property
    def quantizing(self) -> dict[str, Any]:
        """The attributes of QuantizeLinear."""
        if self.stated is None:
            return self.attributes
        return {**self.attributes, "output_dtype": element_type_of(self.stated)}

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of DequantizeLinear."""
        found: dict[str, Any] = {} if self.axis is None else {"axis": self.axis}
        return {**found, **({"block_size": self.block} if self.block else {})}


def dtype_of_bits(name: str) -> np.dtype:
    """The integer type `name`, of 4 bits too."""
    return np.dtype(getattr(ml_dtypes, name, name))


def element_type_of(dtype: np.dtype) -> int:
    """The ONNX element type of `dtype`."""
    return helper.np_dtype_to_tensor_dtype(dtype)


def extent(b: GraphBuilder, largest: int = 33) -> int:
    """The size of one dimension, often odd."""
    return min(b.choose(_SIZES), largest)


def drawn_scale(b: GraphBuilder, size: float, shape: Sequence[int] = ()) -> np.ndarray:
    """Scales of about `size`."""
    scales = size * (0.5 + b.random.random(tuple(shape)))
    kind = b.random.random()
    if kind < 0.25:
        scales = 2.0 ** np.round(np.log2(scales))
    elif kind < 0.4:
        digits = 1 - int(np.floor(np.log10(size)))
        scales = np.maximum(np.round(scales, digits), 10.0**-digits)
    return np.asarray(scales, np.float32)


def drawn_point(b: GraphBuilder, dtype: np.dtype, shape: Sequence[int] = ()) -> np.ndarray | None:
    """Zero points: none, in the middle, at an end or anywhere."""
    info = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    middle = (low + high + 1) // 2
    choice = b.choose(("none", "middle", "middle", "end", "any"))
    if choice == "any":
        return b.random.integers(low, high + 1, tuple(shape)).astype(dtype)
    if choice == "none":
        return None
    return np.full(tuple(shape), middle if choice == "middle" else b.choose((low, high)), dtype)


def integers(b: GraphBuilder, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Integers of the whole range of `dtype`, more of them at its ends."""
    info = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    span = (high - low) // 8 if b.chance(0.2) else 0
    numbers = b.random.integers(low - span, high + 1 + span, tuple(shape))
    return np.clip(numbers, low, high).astype(dtype)


def quantized(
    b: GraphBuilder,
    ranks: tuple[int, int],
    where: Callable[[Value], bool] = lambda value: True,
    types: Sequence[str] = BYTES,
    reuse: float = 0.85,
) -> Value:
    """An existing quantised value of such a rank, or a new input."""

    def accepts(value: Value) -> bool:
        fits = value.dtype.name in types and ranks[0] <= value.rank <= ranks[1]
        return fits and 0 < value.size <= 8192 and where(value)

    if b.chance(reuse) and (found := b.find(accepts)) is not None:
        return found
    return fed_integers(b, _shape(b, b.integer(*ranks)), b.choose(types))


def fed_integers(b: GraphBuilder, shape: Sequence[int], dtype: str) -> Value:
    """An input of `dtype`, or a quantised input of floats; only the first size may be named of
    images, whose channels fit weights."""
    return b.fed(integers(b, shape, dtype_of_bits(dtype)), True)


def _shape(b: GraphBuilder, rank: int) -> list[int]:
    if rank >= 4:
        lengths = (1, 2, 3, 4, 5, 7, 8, 9, 12, 14)[: 10 if rank == 4 else 4]
        sides = [b.choose(lengths) for _ in range(rank - 2)]
        return [b.choose((1, 1, 2, 3)), extent(b), *sides]
    return [extent(b, 33 if rank < 3 else 12) for _ in range(rank)]


def coding_of(b: GraphBuilder, q: Value, reuse: float = 0.9) -> Coding:
    """The scale and zero point that `q` was quantised with, or new ones."""
    for node in b.nodes if b.chance(reuse) else ():
        if q.name in node.output[:1] and node.op_type == "QuantizeLinear" and not node.attribute:
            known = [_initializer(b, name) for name in node.input[1:]]
            return Coding(known[0], known[1] if len(known) > 1 else None)
    spans = {"4": 16, "8": 255}
    levels = spans.get(q.dtype.name.lstrip("uint")[:1], 65535)
    scale = b.known(drawn_scale(b, b.choose((2.0, 8.0, 20.0)) / levels))
    point = drawn_point(b, q.dtype)
    return Coding(scale, None if point is None else b.known(point))


def _initializer(b: GraphBuilder, name: str) -> Value:
    array = b.arrays([name])[name]
    return Value(name, array, array.dtype.name, True, constant=True)


def dequantized(b: GraphBuilder, q: Value, coding: Coding | None = None) -> Value:
    """`q` as floats."""
    coding = coding or coding_of(b, q)
    for node in b.nodes if b.chance(0.3) else ():
        operands = [q.name, *(each.name for each in coding.operands)]
        if node.op_type == "DequantizeLinear" and list(node.input) == operands:
            return next(value for value in b.values if value.name == node.output[0])
    (x,) = b.add("DequantizeLinear", [q, *coding.operands], **coding.attributes)
    return x


def quantize(b: GraphBuilder, x: Value, alike: Coding | None = None) -> Value:
    """`x` quantised to its range, more or less; or now and then with the coding `alike`."""
    coding = alike if alike is not None and b.chance(0.3) else _coding_for(b, x)
    (q,) = b.add("QuantizeLinear", [x, *coding.operands], **coding.quantizing)
    return q


def _coding_for(b: GraphBuilder, x: Value) -> Coding:
    """A scale and a zero point that cover the values of `x`, less or more than its range."""
    name = b.choose((*BYTES * 8, *(("uint16", "int16", "int4", "uint4") if b.opset >= 21 else ())))
    dtype = dtype_of_bits(name)
    info = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    wide = x.wide if x.size else np.zeros(1)
    span = b.choose((0.7, 1.0, 1.0, 1.3, 3.0))
    by_axis = x.rank > 1 and b.chance(0.12)
    axis, block = b.integer(0, x.rank - 1) if by_axis else None, 0
    shape: tuple[int, ...] = () if axis is None else (x.shape[axis],)
    if axis is not None and b.opset >= 21 and b.chance(0.4):
        block = b.choose((1, 2, 4, 8))
        shape = (*x.shape[:axis], -(-x.shape[axis] // block), *x.shape[axis + 1 :])
    if low == 0 and wide.min() < 0 and b.chance(0.9):
        top = max(float(wide.max()), 0.0)
        size = max((top - float(wide.min())) / (high - low), 1e-5) * span
        zero = np.clip(round(-float(wide.min()) / size), low, high)
        point: np.ndarray | None = np.full(shape, zero).astype(dtype)
    else:
        size = max(float(np.abs(wide).max()) / high, 1e-5) * span
        may_lack = name == "uint8" or b.opset >= 21
        point = None if may_lack and b.chance(0.3) else np.zeros(shape, dtype)
    scale = drawn_scale(b, size, shape)
    zero_point = None if point is None else b.known(point)
    stated = dtype if point is None and name != "uint8" else None
    return Coding(b.known(scale), zero_point, axis, block, stated)


def is_quantized_type(dtype: np.dtype) -> bool:
    """Return whether `dtype` has 16 bits or fewer, as quantised values have."""
    return dtype.name.startswith(("int", "uint")) and ml_dtypes.iinfo(dtype).bits <= 16
