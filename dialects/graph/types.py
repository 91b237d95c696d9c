"""Tensor types of the `graph` dialect, as Python values and as MLIR types.

In MLIR a type with symbolic dimensions carries their spellings, one per dynamic dimension, as
the tensor's encoding: ``tensor<?x128x?xf32, ["batch", "2*seq"]>``. Element types keep ONNX's
signedness (``ui8``); the lowering drops both.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ...mlir import ir
from ..remembering import remembered
from ..symbolic import Dim
from ..symbolic_syntax import parse_dim

_DYNAMIC = ir.ShapedType.get_dynamic_size()

Shape = tuple[int | Dim, ...]
StaticShape = tuple[int, ...]


def static_size(size: int | Dim) -> int:
    """`size` as a number. ValueError when it is symbolic."""
    if isinstance(size, Dim):
        raise ValueError(f"size {size} is not known at compile time")
    return size


@dataclass(frozen=True)
class TensorType:
    """Shape and element type of a tensor.

    `shape` holds ``int`` and `Dim`; `dtype` is a numpy dtype (those of ml_dtypes included).
    """

    shape: Shape
    dtype: np.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        return all(isinstance(size, int) for size in self.shape)

    @property
    def static_shape(self) -> StaticShape:
        """The shape of a tensor without symbolic sizes. ValueError when it has some."""
        return tuple(map(static_size, self.shape))

    def with_shape(self, shape: Iterable[int | Dim]) -> "TensorType":
        return TensorType(tuple(shape), self.dtype)

    def with_dtype(self, dtype: "np.dtype | type | str") -> "TensorType":
        return TensorType(self.shape, np.dtype(dtype))

    def __str__(self) -> str:
        return f"{'x'.join([*map(str, self.shape), dtype_name(self.dtype)])}"


_INTEGERS = {
    np.dtype(np.bool_): ("i1", "signless", 1),
    np.dtype(np.int8): ("i8", "signless", 8),
    np.dtype(np.int16): ("i16", "signless", 16),
    np.dtype(np.int32): ("i32", "signless", 32),
    np.dtype(np.int64): ("i64", "signless", 64),
    np.dtype(np.uint8): ("ui8", "unsigned", 8),
    np.dtype(np.uint16): ("ui16", "unsigned", 16),
    np.dtype(np.uint32): ("ui32", "unsigned", 32),
    np.dtype(np.uint64): ("ui64", "unsigned", 64),
    np.dtype(ml_dtypes.int4): ("i4", "signless", 4),
    np.dtype(ml_dtypes.uint4): ("ui4", "unsigned", 4),
    np.dtype(ml_dtypes.int2): ("i2", "signless", 2),
    np.dtype(ml_dtypes.uint2): ("ui2", "unsigned", 2),
}
_FLOATS = {
    np.dtype(np.float64): "f64",
    np.dtype(np.float32): "f32",
    np.dtype(np.float16): "f16",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(ml_dtypes.float8_e4m3fn): "f8E4M3FN",
    np.dtype(ml_dtypes.float8_e4m3fnuz): "f8E4M3FNUZ",
    np.dtype(ml_dtypes.float8_e5m2): "f8E5M2",
    np.dtype(ml_dtypes.float8_e5m2fnuz): "f8E5M2FNUZ",
    np.dtype(ml_dtypes.float8_e8m0fnu): "f8E8M0FNU",
    np.dtype(ml_dtypes.float6_e2m3fn): "f6E2M3FN",
    np.dtype(ml_dtypes.float6_e3m2fn): "f6E3M2FN",
    np.dtype(ml_dtypes.float4_e2m1fn): "f4E2M1FN",
}
HALVES = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
"""Floats of 16 bits."""
_WIDTHS = {"f6E2M3FN": 6, "f6E3M2FN": 6, "f4E2M1FN": 4}
_NAMES = {**{dtype: row[0] for dtype, row in _INTEGERS.items()}, **_FLOATS}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_COMMON: dict[type[ir.Type], np.dtype] = {  # without spelling
    ir.F32Type: np.dtype(np.float32),
    ir.F16Type: np.dtype(np.float16),
}


def dtype_name(dtype: np.dtype) -> str:
    """MLIR's spelling of an element type: ``f32``, ``ui8``. KeyError when there is none."""
    return _NAMES[dtype]


def is_float(dtype: np.dtype) -> bool:
    return dtype in _FLOATS


def is_integer(dtype: np.dtype) -> bool:
    """Return whether `dtype` is an integer type (``bool`` is not)."""
    return dtype in _INTEGERS and dtype != np.dtype(np.bool_)


def is_unsigned(dtype: np.dtype) -> bool:
    return dtype in _INTEGERS and _INTEGERS[dtype][1] == "unsigned"


def bit_width(dtype: np.dtype) -> int:
    """Bits that hold a value of `dtype`; an array may give each element a whole byte."""
    if dtype in _INTEGERS:
        return _INTEGERS[dtype][2]
    return _WIDTHS.get(_FLOATS[dtype], dtype.itemsize * 8)


def is_minifloat(dtype: np.dtype) -> bool:
    """Return whether `dtype` is a floating-point type of 8 bits or fewer."""
    return dtype in _FLOATS and dtype.itemsize == 1


def is_sub_byte_integer(dtype: np.dtype) -> bool:
    return is_integer(dtype) and bit_width(dtype) < 8


def is_bit_pattern(dtype: np.dtype) -> bool:
    """Return whether compiled code stores `dtype` as bits in bytes, since no hardware computes with
    it.

    The bytes are those of the array's memory: an element is the low bits of its byte.
    """
    return is_minifloat(dtype) or is_sub_byte_integer(dtype)


def element_type(dtype: np.dtype) -> ir.Type:
    """The MLIR element type of `dtype` in the `graph` dialect (signedness kept)."""
    return ir.Type.parse(_NAMES[dtype])


def dtype_of(element: ir.Type) -> np.dtype:
    """The numpy dtype of an MLIR element type. ValueError when it is not one of ours."""
    dtype = _COMMON.get(type(element))
    if dtype is None:
        dtype = _DTYPES.get(str(element))
    if dtype is None:
        raise ValueError(f"element type {element} is not supported")
    return dtype


def to_mlir(type_: TensorType) -> ir.Type:
    """The MLIR type of `type_`, in the current context."""
    return _written((ir.Context.current, type_))


@remembered
def _written(given: tuple[ir.Context, TensorType]) -> ir.Type:
    _, type_ = given
    sizes = [size if isinstance(size, int) else _DYNAMIC for size in type_.shape]
    names = [ir.StringAttr.get(str(size)) for size in type_.shape if isinstance(size, Dim)]
    encoding = ir.ArrayAttr.get(names) if names else None
    return ir.RankedTensorType.get(sizes, element_type(type_.dtype), encoding)


def known_bytes(type_: TensorType) -> int:
    """The bytes of a tensor of `type_`, with unknown sizes taken as 1."""
    count = bit_width(type_.dtype)
    for size in type_.shape:
        if isinstance(size, int):
            count *= size
    return (count + 7) // 8


@remembered
def from_mlir(type_: ir.Type) -> TensorType:
    """Read an MLIR tensor type. ValueError when a dynamic dimension has no spelling."""
    if not isinstance(type_, ir.RankedTensorType):
        raise ValueError(f"{type_} is not a ranked tensor type")
    sizes, encoding = type_.shape, type_.encoding
    if encoding is None and _DYNAMIC not in sizes:
        return TensorType(tuple(sizes), dtype_of(type_.element_type))
    names: list[str] = []
    if encoding is not None:
        if not isinstance(encoding, ir.ArrayAttr):
            raise ValueError(f"{type_}: the encoding must list the dynamic dimensions")
        names = [ir.StringAttr(name).value for name in encoding]
    if len(names) != sum(size == _DYNAMIC for size in sizes):
        raise ValueError(f"{type_}: each dynamic dimension needs its name in the encoding")
    remaining = iter(names)
    shape = (parse_dim(next(remaining)) if size == _DYNAMIC else size for size in sizes)
    return TensorType(tuple(shape), dtype_of(type_.element_type))


def type_of(value: ir.Value) -> TensorType:
    """The type of a tensor value."""
    return from_mlir(value.type)


def element_dtype_of(value: ir.Value) -> np.dtype:
    """The numpy dtype of the elements of a tensor value."""
    return dtype_of(ir.RankedTensorType(value.type).element_type)
