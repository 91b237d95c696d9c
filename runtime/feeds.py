"""Validation of feeds, before anything runs."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import FeedError
from .device.device import Device
from .device.device_tensor import DeviceTensor
from .device.dlpack_import import UNREADABLE, read_tensor
from .elements import ELEMENT_TYPES
from .metadata import TensorSpec, format_shape

_Looks = tuple[str, type, np.dtype, tuple[int, ...]]
"""Name, class, element type and shape of a feed."""


class FeedBinder:
    """Turns feeds by name into arrays in the order of the model's inputs.

    Tensors in the memory of the device that `device` returns stay there; without a device, all
    feeds are brought to the host.
    """

    def __init__(
        self, inputs: Sequence[TensorSpec], device: Callable[[], Device | None] = lambda: None
    ):
        self._device = device
        self._inputs = tuple((spec, ELEMENT_TYPES[spec.dtype].dtype) for spec in inputs)
        self._names = tuple(spec.name for spec in inputs)
        # Types and shapes of the last accepted arrays: feeds that match skip the checks.
        self._accepted: tuple[list[_Looks], bool] | None = None

    def bind(self, feeds: Mapping[str, Any]) -> list[np.ndarray | DeviceTensor]:
        """One array per input, of its dtype (in any byte order), its rank and its shape.

        The arrays may be strided or read-only, and are the caller's own wherever possible; tensors
        are on the device or in host memory. Raises `FeedError` that lists all problems, not only
        the first.
        """
        arrays = self._like_the_last(feeds)
        if arrays is not None:
            return arrays
        arrays = self._check(feeds)
        self._accept(feeds)
        return arrays

    def _like_the_last(self, feeds: Mapping[str, Any]) -> list[np.ndarray | DeviceTensor] | None:
        """The arrays, if they match the last accepted ones in type and shape; otherwise None."""
        accepted = self._accepted
        if accepted is None:
            return None
        looks, only_arrays = accepted
        if len(feeds) != len(looks):
            return None
        arrays = []
        try:
            for name, kind, dtype, shape in looks:
                array = feeds[name]
                if type(array) is not kind or array.dtype != dtype or array.shape != shape:
                    return None
                arrays.append(array)
        except (LookupError, TypeError):
            return None  # `_check` reports the problem
        return arrays if only_arrays or self._has(arrays) else None

    def _accept(self, feeds: Mapping[str, Any]) -> None:
        """Remember the types and shapes of these feeds, if they were used unconverted."""
        looks = []
        for name in self._names:
            array = feeds[name]
            if type(array) not in (np.ndarray, DeviceTensor) or not array.dtype.isnative:
                return
            looks.append((name, type(array), array.dtype, array.shape))
        self._accepted = looks, all(kind is np.ndarray for _, kind, _, _ in looks)

    def _has(self, arrays: Sequence[Any]) -> bool:
        """Return whether all tensors among `arrays` are on the device."""
        tensors = [array for array in arrays if type(array) is DeviceTensor]
        if not tensors:
            return True
        device = self._device()
        return device is not None and all(each.on(device) for each in tensors)

    def _check(self, feeds: Mapping[str, Any]) -> list[np.ndarray | DeviceTensor]:
        if not isinstance(feeds, Mapping):
            raise FeedError(f"feeds must map input names to arrays, not be a {_kind(feeds)}")
        problems = self._check_names(feeds)
        arrays: list[np.ndarray | DeviceTensor] = []
        device = self._device()
        for spec, dtype in self._inputs:
            if spec.name not in feeds:
                continue
            array = _convert(feeds[spec.name], spec, dtype, device, problems)
            if array is None:
                continue
            if not _fits(array.shape, spec.shape):
                problems.append(f"input '{spec.name}' {_expected(spec, array)}")
            arrays.append(array)
        if problems:
            raise FeedError("\n".join(problems))
        self._check_dims(arrays)
        return arrays

    def _check_names(self, feeds: Mapping[str, Any]) -> list[str]:
        problems = []
        missing = [spec for spec, _ in self._inputs if spec.name not in feeds]
        problems += [f"input '{spec.name}' is missing: expected {_type(spec)}" for spec in missing]
        for name in feeds:
            if name not in self._names:
                near = difflib.get_close_matches(str(name), self._names, n=1, cutoff=0.5)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                inputs = ", ".join(self._names) or "none"
                problems.append(f"the model has no input '{name}'{hint} (inputs: {inputs})")
        return problems

    def _check_dims(self, arrays: Sequence[np.ndarray | DeviceTensor]) -> None:
        """Raise `FeedError` if dimensions of the same name differ in size."""
        problems, names = [], set()
        first: dict[str, tuple[int, str]] = {}
        for (spec, _), array in zip(self._inputs, arrays, strict=True):
            for dim, size in zip(spec.shape, array.shape, strict=True):
                if not isinstance(dim, str) or dim == "":
                    continue
                known, owner = first.setdefault(dim, (size, spec.name))
                if known != size:
                    names.add(dim)
                    problems.append(
                        f"input '{spec.name}' has {dim} = {size}, "
                        f"but input '{owner}' has {dim} = {known}"
                    )
        if problems:
            error = FeedError("\n".join(problems))
            error.names = frozenset(names)
            raise error


def name_arguments(
    names: Sequence[str], args: Sequence[Any], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Positional and keyword arguments as feeds. Raises `FeedError` for too many or duplicates."""
    if len(args) > len(names):
        raise FeedError(
            f"the model has {len(names)} input(s) ({', '.join(names)}), {len(args)} were given"
        )
    feeds = dict(zip(names, args, strict=False))
    if twice := feeds.keys() & kwargs.keys():
        listing = ", ".join(f"'{name}'" for name in names if name in twice)
        raise FeedError(f"input {listing} is given twice, by position and by name")
    return feeds | kwargs


def _fits(given: tuple[int, ...], expected: tuple[int | str, ...]) -> bool:
    return len(given) == len(expected) and all(
        isinstance(dim, str) or dim == size for dim, size in zip(expected, given, strict=True)
    )


def _convert(
    value: Any, spec: TensorSpec, dtype: np.dtype, device: Device | None, problems: list[str]
) -> np.ndarray | DeviceTensor | None:
    """`value` as an array of `dtype`, or ``None`` with the reason added to `problems`."""
    where = f"input '{spec.name}'"
    try:
        array = as_array(value, device)
    except UNREADABLE as error:
        problems.append(f"{where} cannot be read as an array: {_kind(value)}: {error}")
        return None
    if array.dtype.newbyteorder("=") == dtype:
        return array
    if (
        isinstance(array, np.ndarray)
        and not hasattr(value, "dtype")
        and (cast := _cast_literal(array, dtype)) is not None
    ):
        return cast
    hint = ""
    if array.dtype.kind in "biufcV" and not array.dtype.hasobject:
        hint = f"; graphc does not cast: pass {spec.name}.astype({_spell(dtype)})"
    problems.append(f"{where} {_expected(spec, array)}{hint}")
    return None


def as_array(value: Any, device: Device | None) -> np.ndarray | DeviceTensor:
    """`value` as an array, or as a tensor if it is on `device`."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    if isinstance(value, DeviceTensor) or hasattr(value, "__dlpack__"):
        return read_tensor(value, device)
    if value is None:
        raise TypeError("there is no value")
    return np.asarray(value)


def _cast_literal(array: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Cast Python numbers, which have no width, to the input's type; None if they do not fit."""
    kind, wanted = array.dtype.kind, dtype.kind
    floating = wanted == "f" or dtype.name in ("bfloat16",) or dtype.name.startswith("float8")
    if array.size == 0 and array.dtype == np.float64:  # numpy's conversion of []
        return array.astype(dtype)
    if kind == "f" and (floating or wanted == "c"):
        return array.astype(dtype)
    if kind in "iu" and (wanted in "iuc" or floating):
        with np.errstate(all="ignore"):
            cast = array.astype(dtype)
            exact = np.array_equal(cast.astype(array.dtype), array)
        return cast if exact and (wanted not in "u" or not np.any(array < 0)) else None
    return None


def _expected(spec: TensorSpec, array: np.ndarray | DeviceTensor) -> str:
    text = f"must be {_type(spec)}, given {array.dtype.name}{format_shape(array.shape)}"
    if len(array.shape) != len(spec.shape):
        text += f" (rank {len(array.shape)} instead of {len(spec.shape)})"
    return text


def _type(spec: TensorSpec) -> str:
    return f"{spec.dtype}{format_shape(spec.shape)}"


def _spell(dtype: np.dtype) -> str:
    return f"np.{dtype.name}" if hasattr(np, dtype.name) else f"ml_dtypes.{dtype.name}"


def _kind(value: Any) -> str:
    return type(value).__name__
