"""Labels, categories and maps of ``ai.onnx.ml``: lookups in tables that are built once."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from .registry import HostError, host_op
from .strings import as_strings

_DOMAIN = "ai.onnx.ml"
_FLOAT = np.dtype(np.float32)
_INT = np.dtype(np.int64)
_STRING = np.dtype(object)


def _look_up(
    keys: Sequence[Any], values: Sequence[Any], default: Any, dtype: np.dtype
) -> Callable[[np.ndarray], np.ndarray]:
    """A function that maps each element to the value of the equal key, or to `default`.

    Of equal keys the last one wins.
    """
    table = dict(zip(keys, values, strict=True))

    def look_up(x: np.ndarray) -> np.ndarray:
        found = [table.get(key, default) for key in x.ravel().tolist()]
        return (
            as_strings(found, x.shape)
            if dtype.hasobject
            else np.array(found, dtype).reshape(x.shape)
        )

    return look_up


@host_op("CategoryMapper", domain=_DOMAIN)
def category_mapper(
    *,
    cats_int64s: Sequence[int] = (),
    cats_strings: Sequence[str] = (),
    default_int64: int = -1,
    default_string: str = "_Unused",
) -> Callable[[np.ndarray], np.ndarray]:
    """Map strings to their numbers, and numbers to their strings."""
    _require_as_many(cats_int64s, cats_strings)
    to_int = _look_up(cats_strings, cats_int64s, default_int64, _INT)
    to_string = _look_up(cats_int64s, cats_strings, default_string, _STRING)
    return lambda x: to_int(x) if x.dtype.hasobject else to_string(x)


def _require_as_many(keys: Sequence[Any], values: Sequence[Any]) -> None:
    if len(keys) != len(values):
        raise HostError(f"it has {len(keys)} keys for {len(values)} values")


@host_op("LabelEncoder", domain=_DOMAIN)
def label_encoder_1(
    *,
    classes_strings: Sequence[str] = (),
    default_int64: int = -1,
    default_string: str = "_Unused",
) -> Callable[[np.ndarray], np.ndarray]:
    """Map strings to their indices among the classes, and indices to strings."""
    numbers = range(len(classes_strings))
    return category_mapper(
        cats_int64s=numbers,
        cats_strings=classes_strings,
        default_int64=default_int64,
        default_string=default_string,
    )


@host_op("LabelEncoder", domain=_DOMAIN, since=2)
def label_encoder(
    *,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = "_Unused",
    default_tensor: np.ndarray | None = None,
    **given: Any,
) -> Callable[[np.ndarray], np.ndarray]:
    """Map each element to the value of its key, or to the default. Of equal keys the first wins."""
    keys, _ = _column(given, "keys")
    values, dtype = _column(given, "values")
    if given:
        raise HostError(f"unknown attributes {', '.join(given)}")
    _require_as_many(keys, values)
    default: Any = {"O": default_string, "i": default_int64}.get(dtype.kind, default_float)
    if default_tensor is not None:
        default = default_tensor.ravel().tolist()[0]
    find = _look_up(keys[::-1], values[::-1], default, dtype)
    of_nan = next((v for k, v in zip(keys, values, strict=True) if k != k), None)
    if of_nan is None:
        return find

    def find_or_nan(x: np.ndarray) -> np.ndarray:
        found = find(x)
        found[np.isnan(x)] = of_nan
        return found

    return find_or_nan


def _column(given: dict[str, Any], kind: str) -> tuple[list[Any], np.dtype]:
    """The one of four possible attributes that is present, and its element type."""
    dtypes = {"strings": _STRING, "int64s": _INT, "floats": _FLOAT}
    found = {
        name: given.pop(f"{kind}_{name}")
        for name in (*dtypes, "tensor")
        if f"{kind}_{name}" in given
    }
    found = {name: value for name, value in found.items() if len(value)}
    if len(found) != 1:
        raise HostError(f"it has {len(found)} lists of {kind}")
    ((name, column),) = found.items()
    if name == "tensor":
        return column.ravel().tolist(), column.dtype
    return list(column), dtypes[name]


@host_op("ZipMap", domain=_DOMAIN)
def zip_map(
    *, classlabels_int64s: Sequence[int] = (), classlabels_strings: Sequence[str] = ()
) -> Callable[[np.ndarray], list[dict[Any, float]]]:
    """Turn each row into a map from labels to its elements."""
    labels = list(classlabels_strings or classlabels_int64s)
    count = len(labels)

    def zip_rows(x: np.ndarray) -> list[dict[Any, float]]:
        if x.ndim not in (1, 2) or x.shape[-1] != count:
            raise HostError(
                f"takes rows of {count} elements, one for each label, not {list(x.shape)}"
            )
        rows = x.tolist() if x.ndim == 2 else [x.tolist()]
        return [*map(dict, map(zip, repeat(labels), rows))]

    return zip_rows


@host_op("DictVectorizer", domain=_DOMAIN)
def dict_vectorizer(
    *, int64_vocabulary: Sequence[int] = (), string_vocabulary: Sequence[str] = ()
) -> Callable[[Mapping[Any, Any]], np.ndarray]:
    """Turn a map into a row of its values in vocabulary order, with zeros for missing keys."""
    vocabulary = list(string_vocabulary or int64_vocabulary)

    def vectorize(x: Mapping[Any, Any]) -> np.ndarray:
        dtype = _dtype_of(x)
        missing: Any = "" if dtype.hasobject else 0
        return np.array([*map(x.get, vocabulary, repeat(missing))], dtype)[None]

    return vectorize


def _dtype_of(x: Mapping[Any, Any]) -> np.dtype:
    """The numpy type of the values; maps from ONNX Runtime hold Python values."""
    value = next(iter(x.values()), 0.0)
    if isinstance(value, np.generic):
        return value.dtype
    return {str: _STRING, int: _INT}.get(type(value), _FLOAT)


@host_op("CastMap", domain=_DOMAIN)
def cast_map(
    *, cast_to: str = "TO_FLOAT", map_form: str = "DENSE", max_map: int = 1
) -> Callable[[Mapping[int, Any]], np.ndarray]:
    """Turn a map into a row: values in key order (dense), or each at the index of its key."""
    dtype, convert, missing = _conversion(cast_to)
    if map_form not in ("DENSE", "SPARSE"):
        raise HostError(f"map_form '{map_form}' is unknown")

    def cast(x: Mapping[int, Any]) -> np.ndarray:
        if map_form == "DENSE":
            values = [*map(x.__getitem__, sorted(x))]
            if dtype != _FLOAT:  # numpy converts to floats itself
                values = [*map(convert, values)]
            return np.array(values, dtype)[None]
        if min(x, default=0) < 0:
            raise HostError(f"a key of {min(x)} in a sparse map")
        return np.array([[convert(x[i]) if i in x else missing for i in range(max_map)]], dtype)

    return cast


def _conversion(cast_to: str) -> tuple[np.dtype, Callable[[Any], Any], Any]:
    match cast_to:
        case "TO_FLOAT":
            return _FLOAT, float, 0.0
        case "TO_INT64":
            return _INT, lambda value: math.trunc(_rounded(value)), 0
        case "TO_STRING":  # as ONNX Runtime spells them
            return _STRING, lambda v: v if isinstance(v, str) else f"{_rounded(v):f}", "0.f"
    raise HostError(f"cast_to '{cast_to}' is unknown")


def _rounded(value: Any) -> float:
    """A value of a map of float32, or the number that a string spells."""
    return float(value) if isinstance(value, str) else float(np.float32(value))


@host_op("ArrayFeatureExtractor", domain=_DOMAIN)
def array_feature_extractor() -> Callable[..., np.ndarray]:
    """Select columns by index; a vector is one row."""

    def extract(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
        taken = x[..., indices.ravel()]
        return taken[None] if taken.ndim == 1 else taken

    return extract
