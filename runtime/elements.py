"""Element types: numpy dtypes, and their names at the ABI of a compiled module."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

BIT_PATTERNS = (
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float8_e8m0fnu,
    ml_dtypes.float6_e2m3fn,
    ml_dtypes.float6_e3m2fn,
    ml_dtypes.float4_e2m1fn,
    ml_dtypes.int4,
    ml_dtypes.uint4,
    ml_dtypes.int2,
    ml_dtypes.uint2,
)
"""Types that compiled code passes as bytes, with one element in the low bits of each byte."""


@dataclass(frozen=True)
class ElementType:
    """One element type.

    `hal` is the name of the HAL element type in `iree.runtime.HalElementType`. Integers are
    signless at the ABI: each operation decides how to interpret the bits.
    """

    dtype: np.dtype
    mlir: tuple[str, ...]
    hal: str


def _rows() -> dict[str, ElementType]:
    table: tuple[tuple[type, tuple[str, ...], str], ...] = (
        (np.bool_, ("i1", "i8"), "BOOL_8"),
        (np.int8, ("i8", "si8"), "INT_8"),
        (np.int16, ("i16", "si16"), "INT_16"),
        (np.int32, ("i32", "si32"), "INT_32"),
        (np.int64, ("i64", "si64"), "INT_64"),
        (np.uint8, ("i8", "ui8"), "INT_8"),
        (np.uint16, ("i16", "ui16"), "INT_16"),
        (np.uint32, ("i32", "ui32"), "INT_32"),
        (np.uint64, ("i64", "ui64"), "INT_64"),
        (np.float16, ("f16",), "FLOAT_16"),
        (np.float32, ("f32",), "FLOAT_32"),
        (np.float64, ("f64",), "FLOAT_64"),
        (np.complex64, ("complex<f32>",), "COMPLEX_64"),
        (np.complex128, ("complex<f64>",), "COMPLEX_128"),
        (ml_dtypes.bfloat16, ("bf16",), "BFLOAT_16"),
        *((dtype, ("i8",), "INT_8") for dtype in BIT_PATTERNS),
    )
    return {
        (dtype := np.dtype(scalar)).name: ElementType(dtype, mlir, hal)
        for scalar, mlir, hal in table
    }


ELEMENT_TYPES: dict[str, ElementType] = _rows()
"""The element types of inputs and outputs of compiled models, by dtype name."""
