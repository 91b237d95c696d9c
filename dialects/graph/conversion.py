"""Conversions between element types in numpy, as ONNX means them."""

from typing import cast

import ml_dtypes
import numpy as np

from .types import is_float, is_integer, is_minifloat, is_sub_byte_integer

E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)
"""Powers of two: an exponent without sign or fraction, for scales of blocks."""


def convert(
    x: np.ndarray, to: np.dtype, saturate: bool = True, round_mode: str = "up"
) -> np.ndarray:
    """`x` with elements of type `to`; `round_mode` is for float8_e8m0 alone."""
    if x.dtype == to:
        return x
    if to == E8M0:
        return _to_e8m0(x.astype(np.float32), saturate, round_mode)
    if is_minifloat(to):
        return _to_minifloat(x, to, saturate)
    if is_integer(to) and is_float(x.dtype):
        return _float_to_integer(x, to)
    if is_sub_byte_integer(to):
        return _low_bits(x, to)
    return x.astype(to)


def _to_minifloat(x: np.ndarray, to: np.dtype, saturate: bool) -> np.ndarray:
    wide = x.astype(np.float32)
    if saturate:
        limits = cast("np.finfo[np.floating]", ml_dtypes.finfo(to))  # which has no types
        wide = np.clip(wide, float(limits.min), float(limits.max))
    return wide.astype(to)


def _to_e8m0(x: np.ndarray, saturate: bool, round_mode: str) -> np.ndarray:
    """The exponents of `x`; the sign is dropped, NaN and infinities become NaN."""
    bits = x.view(np.uint32)
    exponent, fraction = bits >> 23 & 0xFF, bits & 0x7FFFFF
    half = 1 << 22
    if round_mode == "up":
        increment = fraction > 0
    elif round_mode == "nearest":
        increment = (fraction > half) | ((fraction == half) & (exponent > 0))
    else:
        increment = np.zeros_like(fraction, np.bool_)
    if saturate:
        increment &= exponent < 0xFE
    return np.where(exponent < 0xFF, exponent + increment, 0xFF).astype(np.uint8).view(E8M0)


def _float_to_integer(x: np.ndarray, to: np.dtype) -> np.ndarray:
    if is_sub_byte_integer(to):
        return _low_bits(_float_to_integer(x, np.dtype(np.int32)), to)
    info = ml_dtypes.iinfo(to)
    wide = np.nan_to_num(x.astype(np.float64), nan=0, posinf=np.inf, neginf=-np.inf)
    inside = (wide >= info.min) & (wide < float(info.max) + 1)
    limit = np.where(wide > 0, int(info.max), int(info.min)).astype(to)
    return np.where(inside, np.where(inside, wide, 0).astype(to), limit)


def _low_bits(x: np.ndarray, to: np.dtype) -> np.ndarray:
    """The low bits of integers or truth values."""
    return x.astype(np.int64).astype(to)
