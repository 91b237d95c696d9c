"""Quantization: integers that stand for floats, by a scale and a zero point.

Scales and zero points broadcast to `x`; the shape of a scale alone says whether it is per tensor,
per axis or per block. The ops are elementwise, so that they fuse with producers and users of `x`.
Quantization to
and from the small floating-point types is arithmetic and a cast.
"""

import ml_dtypes
import numpy as np

from ..symbolic import Dim
from .attributes import ElementType, Float
from .base import GraphOp, Result, Tensor, TypeRuleError, builder, tuple_builder
from .elementwise import (
    ElementwiseOp,
    UnaryOp,
    broadcast_shapes,
    require_float,
    require_integer,
)
from .traits import ExcessPrecision, MixedPrecision
from .types import Shape, TensorType, is_float

_U8 = np.dtype(np.uint8)


def _common_shape(x: TensorType, scale: TensorType, zero_point: TensorType) -> Shape:
    """The shape of `x`; a size that a scale knows better is the scale's."""
    require_float(scale)
    shape = broadcast_shapes(x.shape, scale.shape, zero_point.shape)
    fits = len(shape) == x.rank and all(
        have == size or isinstance(have, Dim) for have, size in zip(x.shape, shape, strict=True)
    )
    if not fits:
        raise TypeRuleError(f"scale {scale} and zero point {zero_point} do not broadcast to {x}")
    return shape


class QuantizeOp(ElementwiseOp, name="quantize"):
    """``saturate(round(x / scale) + zero_point)`` (ONNX QuantizeLinear), of `zero_point`'s type.

    The quotient is of the type of `x` and `scale`. Halves are rounded to even, NaN gives the
    smallest value.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    scale: Tensor
    zero_point: Tensor

    @staticmethod
    def infer(x: TensorType, scale: TensorType, zero_point: TensorType) -> TensorType:
        require_float(x)
        require_integer(zero_point)
        if x.dtype != scale.dtype:
            raise TypeRuleError(f"operands have element types {x.dtype} and {scale.dtype}")
        return TensorType(_common_shape(x, scale, zero_point), zero_point.dtype)

    @staticmethod
    def evaluate(x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray) -> np.ndarray:
        info = ml_dtypes.iinfo(zero_point.dtype)
        zero = zero_point.astype(np.float64)
        rounded = np.rint((x / scale).astype(np.float64))
        inside = np.clip(np.where(np.isnan(rounded), -np.inf, rounded), info.min - zero, np.inf)
        whole = np.minimum(inside, info.max - zero) + zero
        return whole.astype(np.int64).astype(zero_point.dtype)


class DequantizeOp(ElementwiseOp, name="dequantize"):
    """``(x - zero_point) * scale`` (ONNX DequantizeLinear), computed in f32 or wider.

    The zero point is of the type of `x`, and the difference is taken in i32; or it is of the type
    of `scale`, and so is the difference (MatMulNBits of ONNX Runtime).
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    scale: Tensor
    zero_point: Tensor
    to: ElementType

    @staticmethod
    def infer(
        x: TensorType, scale: TensorType, zero_point: TensorType, *, to: np.dtype
    ) -> TensorType:
        require_integer(x)
        if zero_point.dtype not in (x.dtype, scale.dtype):
            raise TypeRuleError(f"operands have element types {x.dtype} and {zero_point.dtype}")
        if not is_float(to):
            raise TypeRuleError(f"gives floats, not {to}")
        return TensorType(_common_shape(x, scale, zero_point), to)

    @staticmethod
    def evaluate(
        x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray, *, to: np.dtype
    ) -> np.ndarray:
        wide = np.float64 if to == np.float64 else np.float32
        if is_float(zero_point.dtype):
            difference = x.astype(wide) - zero_point.astype(wide)
        else:
            difference = (x.astype(np.int32) - zero_point.astype(np.int32)).astype(wide)
        return (difference * scale.astype(wide)).astype(to)


class FakeQuantizeOp(UnaryOp, name="fake_quantize"):
    """``dequantize(quantize(x))``, without the integers: the number of steps of `scale`, of at most
    2^20, is rounded to even and clipped to what the integers less their zero point are, from `low`
    to `high`. NaN gives `low`.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.NEVER

    x: Tensor
    scale: Float
    low: Float
    high: Float

    @classmethod
    def infer(cls, x: TensorType, **attrs: float) -> TensorType:
        del attrs
        if x.dtype != np.float32:
            raise TypeRuleError(f"rounds f32, not {x.dtype}")
        return x

    @staticmethod
    def evaluate(x: np.ndarray, *, scale: float, low: float, high: float) -> np.ndarray:
        step = np.float32(scale)
        rounded = np.rint(x / step)
        steps = np.clip(np.where(np.isnan(rounded), np.float32(low), rounded), low, high)
        return (steps.astype(np.float32) + np.float32(0)) * step  # an integer 0 has no sign


class DynamicQuantizeOp(GraphOp, name="dynamic_quantize"):
    """`x`, f32, as u8 over the range of its elements and 0, with the scale and the zero point (ONNX
    DynamicQuantizeLinear).

    A range of nothing but 0 has scale 1. A NaN makes the scale NaN, and all integers 0.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    quantized: Result
    scale: Result
    zero_point: Result

    @staticmethod
    def infer(x: TensorType) -> tuple[TensorType, TensorType, TensorType]:
        if x.dtype != np.float32:
            raise TypeRuleError(f"quantizes f32, not {x}")
        return x.with_dtype(_U8), TensorType((), x.dtype), TensorType((), _U8)

    @staticmethod
    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        low, high = (np.float32(f(x, initial=0)) for f in (np.min, np.max))
        extent = high - low
        scale = np.float32(1) if extent == 0 else extent / np.float32(255)
        start = np.rint(-(low / scale))
        zero = np.array(0 if np.isnan(start) else np.clip(start, 0, 255), np.uint8)
        scale = np.array(scale, np.float32)
        return QuantizeOp.evaluate(x, scale, zero), scale, zero


quantize = builder(QuantizeOp)
dequantize = builder(DequantizeOp)
fake_quantize = builder(FakeQuantizeOp)
dynamic_quantize = tuple_builder(DynamicQuantizeOp)
