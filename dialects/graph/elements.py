"""Constant data: numpy arrays as MLIR elements attributes and back.

Small arrays are written inline (``dense<[1, 2]>``); large ones as ``dense_resource`` blobs that
reference the numpy buffer, so that weights are neither copied nor printed. The bindings cannot
read a blob back; a weak table for each context, from blob name to array, does, and keeps nothing
alive: the blob holds the array for as long as the MLIR context lives.

Within `sharing_blobs`, equal arrays are one blob.
"""

import itertools
import re
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

import ml_dtypes
import numpy as np

from ...mlir import ir
from ..remembering import remembered
from .types import TensorType, from_mlir, to_mlir

INLINE_ELEMENTS = 16
"""Arrays of at most this many elements are written inline."""

INLINE_BF16 = 256
"""bf16 arrays of at most this many bytes are written inline, too. The backend moves them into
kernels, where it widens them to f32; that fails for blobs. It widens all bool arrays."""


_SAMPLES = 256
"""Elements by which arrays are found that may be equal."""
_COMPARED = 1 << 20
"""Bytes that are compared at a time."""

_NIBBLES = (np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4))


class _Blobs:
    """The blobs that were written in one context."""

    def __init__(self) -> None:
        self.arrays: weakref.WeakValueDictionary[str, np.ndarray] = weakref.WeakValueDictionary()
        self.serial = itertools.count()
        """The serial number of the next blob; one counter per context, so that equal programs have
        equal names."""


_written: "weakref.WeakKeyDictionary[ir.Context, _Blobs]" = weakref.WeakKeyDictionary()


_shared: "ContextVar[dict[tuple[ir.Type, bytes], list[ir.Attribute]] | None]" = ContextVar(
    "_shared", default=None
)
"""Blobs by their type and a sample of their elements, within `sharing_blobs`."""


@contextmanager
def sharing_blobs() -> Generator[None]:
    """A context, which may be within another one, in which equal arrays become one blob: weights
    that several nodes read, or programs of one module, are packed for each of them, and the memory
    of what is packed again is freed at once."""
    if _shared.get() is not None:
        yield
        return
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def write(array: np.ndarray, hint: str = "constant") -> ir.Attribute:
    """`array` as an elements attribute in the current context; `hint` names its blob."""
    type_ = to_mlir(TensorType(array.shape, array.dtype))
    if array.size <= INLINE_ELEMENTS:
        return _inline(np.asarray(array, order="C"), type_)
    if not any(array.strides):  # one element, broadcast
        return ir.DenseElementsAttr.get_splat(type_, _inline_scalar(array))
    if _is_widened(array):
        return _inline(np.asarray(array, order="C"), type_)
    array = np.ascontiguousarray(array)
    shared = _shared.get()
    if shared is None:
        return _write_blob(array, type_, hint)
    alike = shared.setdefault((type_, _sample(array)), [])
    for attribute in alike:
        if _is_same(read(attribute), array):
            return attribute
    alike.append(_write_blob(array, type_, hint))
    return alike[-1]


def _write_blob(array: np.ndarray, type_: ir.Type, hint: str) -> ir.Attribute:
    blobs = _written.setdefault(type_.context, _Blobs())
    name = f"{re.sub(r'[^A-Za-z0-9_.]', '_', hint)}_{next(blobs.serial)}"
    stored = _storage(array)
    attribute = ir.DenseResourceElementsAttr.get_from_buffer(stored, name, type_)
    blobs.arrays[_blob_name(attribute)] = stored  # MLIR changes a name that was read from a file
    return attribute


def _sample(array: np.ndarray) -> bytes:
    """Elements of all parts of `array`: where they differ, so do the arrays."""
    flat = array.reshape(-1)
    return flat[:: max(1, flat.size // _SAMPLES)].tobytes()


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two contiguous arrays of a type and shape have the same bits."""
    ones, others = (each.reshape(-1).view(np.uint8) for each in (one, other))
    return all(
        np.array_equal(ones[first : first + _COMPARED], others[first : first + _COMPARED])
        for first in range(0, len(ones), _COMPARED)
    )


def read(attribute: ir.Attribute) -> np.ndarray:
    """The array of an elements attribute; read-only, shared with the attribute where possible."""
    type_ = from_mlir(attribute.type)
    if _is_blob(attribute):
        blobs = _written.get(attribute.context)
        array = None if blobs is None else blobs.arrays.get(_blob_name(attribute))
        if array is None:
            array = _parse_blob(attribute, type_)
        array = array.view(type_.dtype).reshape(type_.static_shape)
    else:
        array = _parse_inline(ir.DenseElementsAttr(attribute), type_)
    view = array.view()
    view.flags.writeable = False
    return view


def is_splat(attribute: ir.Attribute) -> bool:
    """Return whether an elements attribute is a splat. No data is read: a blob may be there without
    its data."""
    return isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat


def _is_widened(array: np.ndarray) -> bool:
    if array.dtype == np.bool_:
        return True
    return array.dtype == ml_dtypes.bfloat16 and array.nbytes <= INLINE_BF16


def _storage(array: np.ndarray) -> np.ndarray:
    """`array` with a buffer format that Python's buffer protocol knows."""
    if array.dtype.kind == "V" or array.dtype.type.__module__.startswith("ml_dtypes"):
        return array.view(np.dtype(f"u{array.dtype.itemsize}"))
    return array


def _inline(array: np.ndarray, type_: ir.Type) -> ir.Attribute:
    if array.size == 0:
        return ir.Attribute.parse(f"dense<> : {type_}")
    if array.dtype in _NIBBLES:
        element = ir.RankedTensorType(type_).element_type
        values = [ir.IntegerAttr.get(element, int(v)) for v in array.ravel()]
        return ir.DenseElementsAttr.get(values, type_)
    if array.dtype != np.bool_ and array.dtype != np.float16:
        array = _storage(array)
    return ir.DenseElementsAttr.get(array, type=type_)


def _inline_scalar(array: np.ndarray) -> ir.Attribute:
    scalar = _inline(array.ravel()[:1], to_mlir(TensorType((1,), array.dtype)))
    return ir.DenseElementsAttr(scalar).get_splat_value()


def _parse_inline(attribute: ir.DenseElementsAttr, type_: TensorType) -> np.ndarray:
    if type_.dtype.type.__module__.startswith("ml_dtypes"):
        array = _parse_text(str(attribute).split(" : ")[0].removeprefix("dense"), type_.dtype)
        if array.size == 1 and type_.rank:
            return np.broadcast_to(array.reshape(()), type_.static_shape)
        return array.reshape(type_.static_shape)
    if attribute.is_splat:
        first = np.asarray(attribute).ravel()[:1].astype(type_.dtype)
        return np.broadcast_to(first.reshape(()), type_.static_shape)
    return np.array(attribute).astype(type_.dtype, copy=False).reshape(type_.static_shape)


def _parse_text(text: str, dtype: np.dtype) -> np.ndarray:
    """The elements in ``<[1.0, 2.0]>``, or in ``<"0x...">``, which stands for many."""
    bits = re.fullmatch(r'<"0x([0-9A-Fa-f]*)">', text)
    if bits is not None:
        return np.frombuffer(bytes.fromhex(bits.group(1)), dtype=dtype)
    tokens = re.findall(r"[^\s<>,\[\]:]+", text)
    return np.array([_parse_scalar(token, dtype) for token in tokens]).astype(dtype)


def _parse_scalar(token: str, dtype: np.dtype) -> np.ndarray:
    if token.startswith("0x"):  # MLIR prints NaN and infinities as bits
        bits = int(token, 16)
        return np.array(bits, dtype=np.dtype(f"u{dtype.itemsize}")).view(dtype)
    return np.array(float(token)).astype(dtype)


def _is_blob(attribute: ir.Attribute) -> bool:
    if isinstance(attribute, ir.DenseElementsAttr):
        return False
    try:
        ir.DenseResourceElementsAttr(attribute)
    except ValueError:
        return False
    return True


@remembered
def _blob_name(attribute: ir.Attribute) -> str:
    match = re.match(r'dense_resource<"?([^">]+)"?>', str(attribute))
    assert match is not None
    return match.group(1)


def _parse_blob(attribute: ir.Attribute, type_: TensorType) -> np.ndarray:
    """The bits of a blob that was read from text or bytecode, from the section it prints as."""
    module = ir.Module.create(ir.Location.unknown(attribute.context))
    module.operation.attributes["blob"] = attribute
    match = re.search(r'"0x([0-9A-Fa-f]*)"', module.operation.get_asm(enable_debug_info=False))
    if match is None:
        raise ValueError(f"{attribute} has no data")
    data = bytes.fromhex(match.group(1))[4:]  # the first four bytes state the alignment
    return np.frombuffer(data, dtype=np.dtype(f"u{type_.dtype.itemsize}"))
