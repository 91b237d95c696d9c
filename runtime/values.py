"""Inputs and outputs other than numeric tensors: strings, sequences, optionals, maps.

Only hybrid models have them. Strings are arrays of Python strings, a sequence is a list, an
optional is its value or ``None``, a map is a dict.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from operator import countOf
from typing import Any

import ml_dtypes
import numpy as np

from ..errors import FeedError

_TENSOR = re.compile(r"(\w+)(?:\[(.*)\])?")
_WRAPPED = re.compile(r"(seq|optional|map)\((.*)\)")


@dataclass(frozen=True)
class ValueSpec:
    """Name and type of an input or output that is not a numeric tensor, or is of unknown rank.

    `type` reads ``seq(float32[N, 3])``, ``optional(seq(int64[]))``, ``map(int64, float32)``, or
    ``float32`` for a tensor of any shape.
    """

    name: str
    type: str

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


def bind_value(value: Any, type_: str, where: str) -> Any:
    """Convert `value` to the host's representation of `type_`. Raises `FeedError`."""
    kind, inner = _parsed(type_)
    if kind == "tensor":
        return _bind_tensor(value, type_, where)
    if kind == "optional":
        return None if value is None else bind_value(value, inner, where)
    if kind == "map":
        return _bind_map(_require(value, Mapping, type_, where), type_, where)
    items = _require(value, (list, tuple), type_, where)
    return [bind_value(item, inner, f"{where}[{i}]") for i, item in enumerate(items)]


@cache
def _parsed(type_: str) -> tuple[str, str]:
    """The kind of `type_`, and the type within it."""
    wrapped = _WRAPPED.fullmatch(type_)
    return ("tensor", "") if wrapped is None else (wrapped[1], wrapped[2])


@dataclass(frozen=True)
class _Tensor:
    """Element type, rank (None for any) and sizes by axis of a tensor."""

    dtype: np.dtype
    rank: int | None
    sizes: tuple[tuple[int, int], ...]

    def fits(self, shape: tuple[int, ...]) -> bool:
        if self.rank is not None and len(shape) != self.rank:
            return False
        return not self.sizes or all(shape[axis] == size for axis, size in self.sizes)


@cache
def _tensor(type_: str) -> _Tensor:
    matched = _TENSOR.fullmatch(type_)
    assert matched is not None, type_
    name, shape = matched.groups()
    dims = [dim for dim in (shape or "").split(", ") if dim]
    return _Tensor(
        np.dtype(object if name == "string" else getattr(ml_dtypes, name, name)),
        None if shape is None else len(dims),
        tuple((axis, int(dim)) for axis, dim in enumerate(dims) if dim.isdecimal()),
    )


def _require(value: Any, kinds: type | tuple[type, ...], type_: str, where: str) -> Any:
    if not isinstance(value, kinds):
        names = " or ".join(k.__name__ for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise FeedError(f"{where} must be {type_}, a {names}; given a {type(value).__name__}")
    return value


def _bind_map(given: Mapping[Any, Any], type_: str, where: str) -> dict[Any, Any]:
    """A dict of Python keys and numpy values, whose types are explicit."""
    key_type, value_type = type_[len("map(") : -1].split(", ", 1)
    value_type = value_type.partition("[")[0]  # exporters declare axes that scalars do not have
    key_kind, kinds = (str, str) if key_type == "string" else (int, (int, np.integer))
    dtype = _tensor(value_type).dtype
    literal = {"O": str, "f": float}.get(dtype.kind)
    if set(map(type, given)) <= {key_kind} and set(map(type, given.values())) <= {literal}:
        column = np.empty(len(given), dtype)
        column[:] = [*given.values()]
        return dict(zip(given, column, strict=True))
    bound: dict[Any, Any] = {}
    for key, item in given.items():
        if not isinstance(key, kinds):
            raise FeedError(f"{where} must be {type_}, and has the key {key!r}")
        bound[key_kind(key)] = _bind_tensor(item, value_type, f"{where}[{key!r}]")[()]
    return bound


def _bind_tensor(value: Any, type_: str, where: str) -> np.ndarray:
    wanted = _tensor(type_)
    dtype = wanted.dtype
    if value is None:
        raise FeedError(f"{where} must be {type_}, given None")
    array = _strings(value, type_, where) if dtype.hasobject else np.asarray(value)
    if array.dtype != dtype:
        if hasattr(value, "dtype"):
            raise FeedError(f"{where} must be {type_}, given {array.dtype.name}; cast it")
        array = array.astype(dtype)
    if not wanted.fits(array.shape):
        raise FeedError(f"{where} must be {type_}, given an array of shape {list(array.shape)}")
    return array


def _strings(value: Any, type_: str, where: str) -> np.ndarray:
    """An array of ``str``; bytes are decoded as UTF-8."""
    array = np.asarray(value, object)
    items = (array if array.ndim == 1 else array.ravel()).tolist()
    if countOf(map(type, items), str) == len(items):
        return array
    texts = [item.decode() if isinstance(item, bytes) else item for item in array.flat]
    if not all(isinstance(text, str) for text in texts):
        raise FeedError(f"{where} must be {type_}, and holds other things than strings")
    bound = np.empty(len(texts), object)
    bound[:] = texts
    return bound.reshape(array.shape)
