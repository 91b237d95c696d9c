"""Inputs and outputs other than numeric tensors: strings, sequences, optionals, maps.

Only hybrid models have them. Strings are arrays of Python strings, a sequence is a list, an
optional is its value or ``None``, a map is a dict.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
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


Bind = Callable[[Any, str], Any]
"""Converts a value; an error says where it was given. Raises `FeedError`."""


def binder_of(type_: str) -> Bind:
    """A function that converts values to the host's representation of `type_`."""
    wrapped = _WRAPPED.fullmatch(type_)
    if wrapped is None:
        wanted = _tensor(type_)
        return partial(_bind_strings if wanted.dtype.hasobject else _bind_tensor, wanted)
    kind, inner = wrapped.groups()
    if kind == "map":
        return partial(_bind_map, type_)
    return partial(_bind_optional if kind == "optional" else _bind_items, type_, binder_of(inner))


def _bind_optional(_: str, bind: Bind, value: Any, where: str) -> Any:
    return None if value is None else bind(value, where)


def _bind_items(type_: str, bind: Bind, value: Any, where: str) -> list[Any]:
    items = _require(value, (list, tuple), type_, where)
    return [bind(item, f"{where}[{i}]") for i, item in enumerate(items)]


@dataclass(frozen=True)
class _Tensor:
    """A tensor's type as text, its element type, rank (None for any) and sizes by axis."""

    text: str
    dtype: np.dtype
    rank: int | None
    sizes: tuple[tuple[int, int], ...]

    def fits(self, shape: tuple[int, ...]) -> bool:
        if self.rank is not None and len(shape) != self.rank:
            return False
        return not self.sizes or all(shape[axis] == size for axis, size in self.sizes)


def _tensor(type_: str) -> _Tensor:
    matched = _TENSOR.fullmatch(type_)
    assert matched is not None, type_
    name, shape = matched.groups()
    dims = [dim for dim in (shape or "").split(", ") if dim]
    return _Tensor(
        type_,
        np.dtype(object if name == "string" else getattr(ml_dtypes, name, name)),
        None if shape is None else len(dims),
        tuple((axis, int(dim)) for axis, dim in enumerate(dims) if dim.isdecimal()),
    )


def _require(value: Any, kinds: type | tuple[type, ...], type_: str, where: str) -> Any:
    if not isinstance(value, kinds):
        names = " or ".join(k.__name__ for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise FeedError(f"{where} must be {type_}, a {names}; given a {type(value).__name__}")
    return value


def _bind_map(type_: str, value: Any, where: str) -> dict[Any, Any]:
    """A dict of Python keys and numpy values, whose types are explicit; or of strings, or of Python
    floats, which stand for float32 and are rounded by the operators that read them."""
    given: Mapping[Any, Any] = _require(value, Mapping, type_, where)
    key_type, value_type = type_[len("map(") : -1].split(", ", 1)
    value_type = value_type.partition("[")[0]  # exporters declare axes that scalars do not have
    key_kind, kinds = (str, str) if key_type == "string" else (int, (int, np.integer))
    if countOf(map(type, given), key_kind) == len(given):
        plain = {"string": str, "float32": float}.get(value_type)
        if plain is not None and countOf(map(type, given.values()), plain) == len(given):
            return dict(given)
    wanted = _tensor(value_type)
    bound: dict[Any, Any] = {}
    for key, item in given.items():
        if not isinstance(key, kinds):
            raise FeedError(f"{where} must be {type_}, and has the key {key!r}")
        bound[key_kind(key)] = _bind_tensor(wanted, item, f"{where}[{key!r}]")[()]
    return bound


def _bind_strings(wanted: _Tensor, value: Any, where: str) -> np.ndarray:
    """`_bind_tensor`, with the usual case first: in a short call each step counts."""
    if type(value) is np.ndarray and value.dtype.hasobject and not wanted.sizes:
        rank = value.ndim
        items = (value if rank == 1 else value.ravel()).tolist()
        if wanted.rank in (rank, None) and countOf(map(type, items), str) == len(items):
            return value
    return _bind_tensor(wanted, value, where)


def _bind_tensor(wanted: _Tensor, value: Any, where: str) -> np.ndarray:
    dtype, text = wanted.dtype, wanted.text
    if value is None:
        raise FeedError(f"{where} must be {text}, given None")
    bound = _strings(value, text, where) if dtype.hasobject else np.asarray(value)
    if bound.dtype != dtype:
        if hasattr(value, "dtype"):
            raise FeedError(f"{where} must be {text}, given {bound.dtype.name}; cast it")
        bound = bound.astype(dtype)
    if not wanted.fits(bound.shape):
        raise FeedError(f"{where} must be {text}, given an array of shape {list(bound.shape)}")
    return bound


def _strings(value: Any, type_: str, where: str) -> np.ndarray:
    """An array of ``str``; bytes are decoded as UTF-8."""
    given = np.asarray(value, object)
    items = (given if given.ndim == 1 else given.ravel()).tolist()
    if countOf(map(type, items), str) == len(items):
        return given
    texts = [item.decode() if isinstance(item, bytes) else item for item in items]
    if not all(isinstance(text, str) for text in texts):
        raise FeedError(f"{where} must be {type_}, and holds other things than strings")
    bound = np.empty(len(texts), object)
    bound[:] = texts
    return bound.reshape(given.shape)
