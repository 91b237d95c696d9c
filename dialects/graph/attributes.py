"""Attributes of `graph` ops as Python values.

An op declares an attribute by annotating its name with one of the aliases at the end, such as
`Ints`; builders take and rules receive plain Python values, MLIR holds the attribute.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ...mlir import ir
from ..remembering import remembered
from ..symbolic import Dim
from ..symbolic_syntax import parse_dim
from . import elements
from .fields import Field
from .types import dtype_of, element_type


@dataclass(frozen=True)
class AttributeKind:
    """Conversion between Python values of one kind and MLIR attributes.

    `write` raises TypeError or ValueError on a value, `read` on an attribute, of another kind.
    """

    name: str
    write: Callable[[Any], ir.Attribute]
    read: Callable[[ir.Attribute], Any]


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)


def _write_size(size: int | Dim) -> ir.Attribute:
    if isinstance(size, Dim):
        return ir.StringAttr.get(str(size))
    return ir.IntegerAttr.get(_i64(), int(size))


def _read_size(attribute: ir.Attribute) -> int | Dim:
    if isinstance(attribute, ir.StringAttr):
        return parse_dim(attribute.value)
    return ir.IntegerAttr(attribute).value


def _kind(
    name: str, write: Callable[[Any], ir.Attribute], read: Callable[[ir.Attribute], Any]
) -> AttributeKind:
    """A kind whose Python values cannot change."""
    return AttributeKind(name, write, remembered(read))


INT = _kind(
    "integer",
    lambda value: ir.IntegerAttr.get(_i64(), int(value)),
    lambda attribute: ir.IntegerAttr(attribute).value,
)
FLOAT = _kind(
    "float",
    lambda value: ir.FloatAttr.get(ir.F64Type.get(), float(value)),
    lambda attribute: ir.FloatAttr(attribute).value,
)
BOOL = _kind(
    "bool",
    lambda value: ir.BoolAttr.get(bool(value)),
    lambda attribute: ir.BoolAttr(attribute).value,
)
STR = _kind(
    "string",
    lambda value: ir.StringAttr.get(value),
    lambda attribute: ir.StringAttr(attribute).value,
)
INTS = _kind(
    "list of integers",
    lambda values: ir.DenseI64ArrayAttr.get([int(v) for v in values]),
    lambda attribute: tuple(ir.DenseI64ArrayAttr(attribute)),
)
FLOATS = _kind(
    "list of floats",
    lambda values: ir.DenseF64ArrayAttr.get([float(v) for v in values]),
    lambda attribute: tuple(ir.DenseF64ArrayAttr(attribute)),
)
SIZE = _kind("integer or symbolic dimension", _write_size, _read_size)
SIZES = _kind(
    "list of integers and symbolic dimensions",
    lambda sizes: ir.ArrayAttr.get([_write_size(s) for s in sizes]),
    lambda attribute: tuple(_read_size(a) for a in ir.ArrayAttr(attribute)),
)
STRS = _kind(
    "list of strings",
    lambda values: ir.ArrayAttr.get([ir.StringAttr.get(v) for v in values]),
    lambda attribute: tuple(ir.StringAttr(a).value for a in ir.ArrayAttr(attribute)),
)
ELEMENT_TYPE = _kind(
    "element type",
    lambda dtype: ir.TypeAttr.get(element_type(np.dtype(dtype))),
    lambda attribute: dtype_of(ir.TypeAttr(attribute).value),
)
ELEMENTS = AttributeKind("elements", elements.write, elements.read)

Int = Annotated[Field[int, int | np.integer], INT]
Float = Annotated[Field[float, float | np.floating], FLOAT]
Bool = Annotated[Field[bool, bool | np.bool_], BOOL]
Str = Annotated[Field[str, str], STR]
Ints = Annotated[Field[tuple[int, ...], Iterable[int]], INTS]
Floats = Annotated[Field[tuple[float, ...], Iterable[float]], FLOATS]
Size = Annotated[Field[int | Dim, int | Dim], SIZE]
Sizes = Annotated[Field[tuple[int | Dim, ...], Iterable[int | Dim]], SIZES]
Strs = Annotated[Field[tuple[str, ...], Iterable[str]], STRS]
ElementType = Annotated[Field[np.dtype, np.dtype | type | str], ELEMENT_TYPE]
Elements = Annotated[Field[np.ndarray, np.ndarray], ELEMENTS]
