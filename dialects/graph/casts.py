"""Casts: conversions of element type, elementwise."""

import numpy as np

from .attributes import Bool, ElementType, Str
from .base import Tensor, TypeRuleError, builder
from .conversion import convert
from .elementwise import ElementwiseOp
from .traits import ExcessPrecision, MixedPrecision
from .types import TensorType, bit_width, is_minifloat


class CastOp(ElementwiseOp, name="cast"):
    """Conversion of element type (ONNX Cast).

    Floats to integers are cut towards zero and kept within the type's range, with 0 for NaN; those
    of fewer than 8 bits take the low bits instead. Floats to floats are rounded to nearest, halves
    to even; float8 types take their largest value for what is out of range, infinities included.
    To float8_e8m0 (powers of two) the magnitude is rounded up.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    to: ElementType

    @staticmethod
    def infer(x: TensorType, *, to: np.dtype) -> TensorType:
        return x.with_dtype(to)

    @staticmethod
    def evaluate(x: np.ndarray, *, to: np.dtype) -> np.ndarray:
        return convert(x, to)


class CastFloat8Op(ElementwiseOp, name="cast_float8"):
    """Conversion to a float8 type in another way than `cast` does (ONNX Cast).

    Without `saturate`, what is out of range becomes infinite, or NaN where the type has no
    infinity. `round_mode` (``up``, ``down`` or ``nearest``) is for float8_e8m0 alone, the others
    are rounded to nearest.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    to: ElementType
    saturate: Bool
    round_mode: Str

    @staticmethod
    def infer(x: TensorType, *, to: np.dtype, saturate: bool, round_mode: str) -> TensorType:
        if not is_minifloat(to):
            raise TypeRuleError(f"casts to types of 8 bits, not to {to}")
        if round_mode not in ("up", "down", "nearest"):
            raise TypeRuleError(f"round_mode is '{round_mode}', not up, down or nearest")
        return x.with_dtype(to)

    @staticmethod
    def evaluate(x: np.ndarray, *, to: np.dtype, saturate: bool, round_mode: str) -> np.ndarray:
        return convert(x, to, saturate, round_mode)


class BitCastOp(ElementwiseOp, name="bit_cast"):
    """The same bits as another element type of equal width (ONNX BitCast)."""

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.NEVER

    x: Tensor
    to: ElementType

    @staticmethod
    def infer(x: TensorType, *, to: np.dtype) -> TensorType:
        widths = [8 if dtype == np.bool_ else bit_width(dtype) for dtype in (x.dtype, to)]
        if widths[0] != widths[1]:
            raise TypeRuleError(f"{x.dtype} has {widths[0]} bits, {to} has {widths[1]}")
        return x.with_dtype(to)

    @staticmethod
    def evaluate(x: np.ndarray, *, to: np.dtype) -> np.ndarray:
        return x.view(np.uint8).astype(np.bool_) if to == np.bool_ else x.view(to)


cast = builder(CastOp)
cast_float8 = builder(CastFloat8Op)
bit_cast = builder(BitCastOp)
