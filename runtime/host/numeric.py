"""Numeric operators that `onnx.reference` lacks in some version, or computes differently."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .reference import implementation_of
from .registry import HostError, host_op

_CONSTANTS = {
    "value_float": np.float32, "value_floats": np.float32, "value_int": np.int64,
    "value_ints": np.int64, "value_string": object, "value_strings": object,
}  # fmt: skip


@host_op("Constant")
def constant(**given: Any) -> Callable[[], np.ndarray]:
    """The same array in each call, read-only."""
    ((name, value),) = given.items()
    if name not in ("value", *_CONSTANTS):
        raise HostError(f"constants by {name} do not run on the host")
    array = value if name == "value" else np.asarray(value, _CONSTANTS[name])
    array.flags.writeable = False
    return lambda: array


@host_op("Mean")
def mean() -> Callable[..., np.ndarray]:
    """The mean of tensors, with multidirectional broadcasting."""
    return lambda *xs: (functools.reduce(np.add, xs) / len(xs)).astype(xs[0].dtype)


@host_op("Gather")
def gather(*, axis: int = 0) -> Callable[..., np.ndarray]:
    return lambda x, indices: np.asarray(x.take(indices, axis), x.dtype)


@host_op("GatherElements")
def gather_elements(*, axis: int = 0) -> Callable[..., np.ndarray]:
    return lambda x, indices: x[_index_along(indices, axis)]


@host_op("Scatter", since=9)
def scatter(*, axis: int = 0) -> Callable[..., np.ndarray]:
    """ScatterElements, under its name before opset 11."""

    def put(x: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
        result = x.copy()
        result[_index_along(indices, axis)] = updates
        return result

    return put


def _index_along(indices: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """Index arrays for each position of `indices`, with `indices` themselves along `axis`."""
    grid: list[Any] = list(np.indices(indices.shape, sparse=True))
    grid[axis] = indices
    return tuple(grid)


@host_op("Unsqueeze")
def unsqueeze_1(*, axes: Sequence[int]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.expand_dims(x, tuple(axes))


@host_op("Unsqueeze", since=13)
def unsqueeze() -> Callable[..., np.ndarray]:
    return lambda x, axes: np.expand_dims(x, tuple(axes.ravel().tolist()))


@host_op("Slice")
def slice_1(
    *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: _cut(x, starts, ends, axes, None)


@host_op("Slice", since=10)
def slice_() -> Callable[..., np.ndarray]:
    def cut(x: np.ndarray, *ranges: np.ndarray | None) -> np.ndarray:
        lists = [None if each is None else each.tolist() for each in ranges]
        starts, ends, axes, steps = [*lists, *[None] * (4 - len(lists))]
        return _cut(x, starts or [], ends or [], axes, steps)

    return cut


def _cut(
    x: np.ndarray,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None,
    steps: Sequence[int] | None,
) -> np.ndarray:
    """Slice `x`, with starts and ends clamped to the axis, for negative steps, too."""
    slices = [slice(None)] * x.ndim
    axes = [*range(len(starts))] if axes is None else axes
    for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(starts), strict=True):
        size = x.shape[axis]
        start, end = (at + size if at < 0 else at for at in (start, end))
        if step > 0:
            slices[axis] = slice(max(start, 0), max(end, 0), step)
        elif size:
            end = max(end, -1)
            slices[axis] = slice(min(max(start, 0), size - 1), None if end < 0 else end, step)
    return x[tuple(slices)]


@host_op("OneHot")
def one_hot(*, axis: int = -1) -> Callable[..., np.ndarray]:
    """Add a one-hot axis: `values[1]` at each index, `values[0]` elsewhere; they may be strings."""

    def encode(indices: np.ndarray, depth: np.ndarray, values: np.ndarray) -> np.ndarray:
        size = int(depth.item())
        positions = np.expand_dims(np.where(indices < 0, indices + size, indices), axis)
        shape = [1] * positions.ndim
        shape[axis] = size
        hit = positions == np.arange(size).reshape(shape)
        return np.where(hit, values[1], values[0]).astype(values.dtype)

    return encode


@host_op("Unique")
def unique(*, axis: int | None = None, **others: Any) -> Callable[..., tuple[np.ndarray, ...]]:
    """Convert strings to numpy's fixed-width type, as `onnx.reference` cannot sort rows of Python
    strings."""
    given = others if axis is None else {**others, "axis": axis}
    compute = _by_version("Unique", 11, n_outputs=4, **given)

    def find(x: np.ndarray) -> tuple[np.ndarray, ...]:
        if not x.dtype.hasobject:
            return compute(x)
        values, *indices = compute(x.astype(str))
        return values.astype(object), *indices

    return find


@host_op("GlobalMaxPool")
def global_max_pool() -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: x.max(tuple(range(2, x.ndim)), keepdims=True)


@host_op("DequantizeLinear", since=10)
def dequantize_linear_10(*, axis: int = 1) -> Callable[..., np.ndarray]:
    return _by_version("DequantizeLinear", 19, axis=axis)


@host_op("DequantizeLinear", since=19)
def dequantize_linear(**attributes: Any) -> Callable[..., np.ndarray]:
    return _by_version("DequantizeLinear", 25, **attributes)


_MODES = {"bilinear": "linear", "bicubic": "cubic"}


@host_op("GridSample", since=16)
def grid_sample(*, mode: str = "linear", **others: Any) -> Callable[..., np.ndarray]:
    """Translate the names of modes, which changed in opset 20."""
    return _by_version("GridSample", 20, mode=_MODES.get(mode, mode), **others)


@host_op("Upsample", since=9)
def upsample(*, mode: str = "nearest") -> Callable[..., np.ndarray]:
    resize = _by_version(
        "Resize", 19, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )
    return lambda x, scales: resize(x, None, scales)


@host_op("ConvTranspose")
def conv_transpose(*, group: int = 1, **others: Any) -> Callable[..., np.ndarray]:
    """Compute group by group: `onnx.reference` supports a single group."""
    compute = _by_version("ConvTranspose", 22, group=1, **others)

    def run(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        groups = zip(np.split(x, group, 1), np.split(w, group, 0), strict=True)
        y = np.concatenate([compute(*each) for each in groups], 1)
        return y if bias is None else y + bias.reshape(-1, *[1] * (x.ndim - 2))

    return run


def _by_version(op_type: str, version: int, **attributes: Any) -> Callable[..., Any]:
    """The implementation of `op_type` in `onnx.reference` for opset `version`."""
    return lambda *inputs: implementation_of(op_type, version)(*inputs, **attributes)
