"""Discrete Fourier transforms."""

import numpy as np

from ..symbolic import Dim, floordiv, minimum
from .attributes import Bool, Size
from .base import GraphOp, Tensor, TypeRuleError, builder
from .elementwise import require_float
from .shape_constraints import require_not_negative
from .traits import MixedPrecision
from .types import TensorType


class DftOp(GraphOp, name="dft"):
    """The discrete Fourier transform of `length` points along the axis before the last (ONNX DFT).

    The last axis of `x` holds the real or the real and imaginary part. A signal is cut, or
    continued with zeros, to `length`. `inverse` changes the sign of the exponent and divides by
    `length`. `onesided` is for real signals: the result has the first ``length // 2 + 1``
    frequencies; inverse, `x` has these, and the result has the real part only. The imaginary part
    of a frequency that is its own mirror image is ignored then.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    length: Size
    inverse: Bool
    onesided: Bool

    @staticmethod
    def infer(x: TensorType, *, length: int | Dim, inverse: bool, onesided: bool) -> TensorType:
        require_float(x)
        require_not_negative(length)
        if x.dtype.itemsize < 4:
            raise TypeRuleError(f"computes in f32 or f64, not in the type of {x}")
        if x.rank < 2 or x.shape[-1] not in (1, 2):
            raise TypeRuleError(f"needs a signal of one or two parts in the last axis, not {x}")
        if onesided and x.shape[-1] != (2 if inverse else 1):
            raise TypeRuleError("onesided is for real signals and their spectra")
        count = floordiv(length, 2) + 1 if onesided and not inverse else length
        return x.with_shape((*x.shape[:-2], count, 1 if onesided and inverse else 2))

    @staticmethod
    def evaluate(x: np.ndarray, *, length: int, inverse: bool, onesided: bool) -> np.ndarray:
        z = x[..., 0].astype(np.float64)
        if x.shape[-1] == 2:
            z = z + 1j * x[..., 1]
        if length == 0:
            shape = (*x.shape[:-2], int(onesided and not inverse), 1 if onesided and inverse else 2)
            return np.zeros(shape, x.dtype)
        if onesided and inverse:
            return np.fft.irfft(z, length)[..., None].astype(x.dtype)
        transform = np.fft.ifft if inverse else np.fft.rfft if onesided else np.fft.fft
        y = transform(z, length)
        return np.stack([y.real, y.imag], axis=-1).astype(x.dtype)


dft = builder(DftOp)


def points_read(extent: int | Dim, length: int | Dim, inverse: bool, onesided: bool) -> int | Dim:
    """The elements of a signal of `extent` that a transform of `length` reads."""
    return minimum(extent, floordiv(length, 2) + 1 if inverse and onesided else length)
