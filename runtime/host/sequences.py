"""Operators on sequences (lists) and optionals (the value or None)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .registry import HostError, host_op


@host_op("Optional")
def optional(*, type: Any = None) -> Callable[..., Any]:
    del type
    return lambda x=None: x


@host_op("OptionalHasElement")
def optional_has_element() -> Callable[..., np.ndarray]:
    return lambda x=None: np.asarray(x is not None)


@host_op("OptionalGetElement")
def optional_get_element() -> Callable[[Any], Any]:
    def get(x: Any) -> Any:
        if x is None:
            raise HostError("the optional is empty")
        return x

    return get


@host_op("Identity")
def identity() -> Callable[[Any], Any]:
    """Return the value itself; no operator here changes a value in place."""
    return lambda x: x


@host_op("SequenceEmpty")
def sequence_empty(*, dtype: int = 1) -> Callable[[], list[Any]]:
    del dtype
    return list


@host_op("SequenceConstruct")
def sequence_construct() -> Callable[..., list[Any]]:
    return lambda *elements: list(elements)


@host_op("SequenceLength")
def sequence_length() -> Callable[[list[Any]], np.ndarray]:
    return lambda sequence: np.asarray(len(sequence), np.int64)


@host_op("SequenceAt")
def sequence_at() -> Callable[..., Any]:
    return lambda sequence, position: sequence[_index(position, len(sequence) - 1, sequence)]


@host_op("SequenceErase")
def sequence_erase() -> Callable[..., list[Any]]:
    def erase(sequence: list[Any], position: Any = None) -> list[Any]:
        last = len(sequence) - 1
        index = _index(np.int64(-1) if position is None else position, last, sequence)
        return [*sequence[:index], *sequence[index + 1 :]]

    return erase


@host_op("SequenceInsert")
def sequence_insert() -> Callable[..., list[Any]]:
    def insert(sequence: list[Any], tensor: Any, position: Any = None) -> list[Any]:
        end = len(sequence)
        index = end if position is None else _index(position, end, sequence)
        return [*sequence[:index], tensor, *sequence[index:]]

    return insert


def _index(position: Any, last: int, sequence: list[Any]) -> int:
    """The index for `position`, where negative ones count from the end.

    Raises `HostError` if it is out of range, that is, beyond `last`.
    """
    index, size = int(np.asarray(position).item()), len(sequence)
    if not -size <= index <= last:
        raise HostError(f"position {index} is out of range for a sequence of {size}")
    return index + size if index < 0 else index


@host_op("SplitToSequence")
def split_to_sequence(*, axis: int = 0, keepdims: int = 1) -> Callable[..., list[np.ndarray]]:
    """Views of `x`, one for each part.

    ONNX Runtime leaves out the axis where parts have one row each because a scalar says so, too.
    """

    def cut(x: np.ndarray, split: np.ndarray | None = None) -> list[np.ndarray]:
        moved = np.moveaxis(x, axis, 0)
        if not keepdims and (split is None or (split.ndim == 0 and split == 1)):
            return [moved[index, ...] for index in range(len(moved))]
        ends = range(1, len(moved) + 1) if split is None else _ends(split, len(moved))
        back = axis % x.ndim
        before = (slice(None),) * back
        return [x[(*before, slice(a, b))] for a, b in zip([0, *ends], ends, strict=False)]

    return cut


def _ends(split: np.ndarray, size: int) -> Sequence[int]:
    """The end of each part; `split` is the length of each part, or of all but the last."""
    if split.ndim == 0:
        length = int(split)
        if length < 1:
            raise HostError(f"parts of {length} elements")
        return [*range(length, size, length), size]
    ends = np.cumsum(split).tolist()
    if (split < 0).any() or (ends[-1] if ends else 0) != size:
        raise HostError(f"parts of {split.tolist()} do not make {size} elements")
    return ends


@host_op("ConcatFromSequence")
def concat_from_sequence(*, axis: int, new_axis: int = 0) -> Callable[[list[Any]], np.ndarray]:
    join = np.stack if new_axis else np.concatenate
    return lambda sequence: join(sequence, axis)
