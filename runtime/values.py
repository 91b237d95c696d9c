"""Inputs and outputs other than numeric tensors: strings, sequences, optionals, maps.

Only hybrid models have them. Strings are arrays of Python strings, a sequence is a list, an
optional is its value or ``None``, a map is a dict.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    wrapped = _WRAPPED.fullmatch(type_)
    if wrapped is None:
        return _bind_tensor(value, type_, where)
    kind, inner = wrapped.groups()
    if kind == "optional":
        return None if value is None else bind_value(value, inner, where)
    if kind == "map":
        return _bind_map(_require(value, Mapping, type_, where), type_, where)
    items = _require(value, (list, tuple), type_, where)
    return [bind_value(item, inner, f"{where}[{i}]") for i, item in enumerate(items)]


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
    bound: dict[Any, Any] = {}
    for key, item in given.items():
        if not isinstance(key, kinds):
            raise FeedError(f"{where} must be {type_}, and has the key {key!r}")
        bound[key_kind(key)] = _bind_tensor(item, value_type, f"{where}[{key!r}]")[()]
    return bound


def _bind_tensor(value: Any, type_: str, where: str) -> np.ndarray:
    matched = _TENSOR.fullmatch(type_)
    assert matched is not None, type_
    dtype, dims = matched.groups()
    if value is None:
        raise FeedError(f"{where} must be {type_}, given None")
    array = _strings(value, type_, where) if dtype == "string" else np.asarray(value)
    if dtype != "string" and array.dtype != _numpy_dtype(dtype):
        if hasattr(value, "dtype"):
            raise FeedError(f"{where} must be {type_}, given {array.dtype.name}; cast it")
        array = array.astype(_numpy_dtype(dtype))
    if dims is not None and not _fits(array.shape, [d for d in dims.split(", ") if d]):
        raise FeedError(f"{where} must be {type_}, given an array of shape {list(array.shape)}")
    return array


def _strings(value: Any, type_: str, where: str) -> np.ndarray:
    """An array of ``str``; bytes are decoded as UTF-8."""
    array = np.asarray(value, object)
    if set(map(type, array.ravel().tolist())) <= {str}:
        return array
    texts = [item.decode() if isinstance(item, bytes) else item for item in array.flat]
    if not all(isinstance(text, str) for text in texts):
        raise FeedError(f"{where} must be {type_}, and holds other things than strings")
    bound = np.empty(len(texts), object)
    bound[:] = texts
    return bound.reshape(array.shape)


def _numpy_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def _fits(shape: tuple[int, ...], dims: Sequence[str]) -> bool:
    return len(shape) == len(dims) and all(
        not dim.isdecimal() or int(dim) == size for size, dim in zip(shape, dims, strict=True)
    )
