"""The fused multiply-add."""

import numpy as np

from .base import Tensor, TypeRuleError, builder
from .elementwise import ElementwiseOp, broadcast_shapes
from .traits import MixedPrecision
from .types import TensorType


class FmaOp(ElementwiseOp, name="fma"):
    """``a * b + c`` of f32, rounded once; the three broadcast."""

    amp = MixedPrecision.KEEP

    a: Tensor
    b: Tensor
    c: Tensor

    @staticmethod
    def infer(a: TensorType, b: TensorType, c: TensorType) -> TensorType:
        if {a.dtype, b.dtype, c.dtype} != {np.dtype(np.float32)}:
            raise TypeRuleError(f"needs operands of f32, not {a.dtype}, {b.dtype} and {c.dtype}")
        return TensorType(broadcast_shapes(a.shape, b.shape, c.shape), a.dtype)

    @staticmethod
    def evaluate(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        product = np.multiply(a, b, dtype=np.float64)  # exact; the sum has 29 bits beyond f32
        return np.add(product, c).astype(np.float32)


fma = builder(FmaOp)
