"""Resampling: images read at positions between their elements."""

import itertools

import numpy as np

from .attributes import Bool, Int, Str
from .base import GraphOp, Tensor, TypeRuleError, builder
from .contraction import require_equal_sizes
from .elementwise import require_float, require_integer
from .movement import require_axis
from .traits import MixedPrecision
from .types import TensorType, is_float

INTERPOLATIONS = ("nearest", "linear", "cubic")
PADDINGS = ("zeros", "border", "reflection")
CUBIC_COEFFICIENT = -0.75


def _wide(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


class InterpolateOp(GraphOp, name="interpolate"):
    """Weighted sums of elements along `axis`, the building block of Resize.

    ``result[i] = sum(weights[i, tap] * x[indices[i, tap]])``; `indices` (integers) and `weights`
    are [n, taps], and the result has n elements along `axis`. Indices outside of the axis are
    clamped to it. `weights` are f64 for f64, else f32.
    """

    amp = MixedPrecision.FOLLOW
    along_axis = "gives the axis another size"

    x: Tensor
    indices: Tensor
    weights: Tensor
    axis: Int

    @staticmethod
    def infer(x: TensorType, indices: TensorType, weights: TensorType, *, axis: int) -> TensorType:
        require_float(x)
        require_integer(indices)
        require_axis(axis, x.rank)
        if weights.dtype != _wide(x.dtype):
            raise TypeRuleError(f"weights for {x} are {_wide(x.dtype)}, not {weights.dtype}")
        if indices.rank != 2 or weights.shape != indices.shape:
            raise TypeRuleError(f"needs indices and weights of one shape, not {indices}, {weights}")
        if x.shape[axis] == 0 and indices.shape[0] != 0:
            raise TypeRuleError(f"cannot read from an empty axis of {x}")
        return x.with_shape((*x.shape[:axis], indices.shape[0], *x.shape[axis + 1 :]))

    @staticmethod
    def evaluate(
        x: np.ndarray, indices: np.ndarray, weights: np.ndarray, *, axis: int
    ) -> np.ndarray:
        indices = np.clip(indices, 0, max(x.shape[axis] - 1, 0))
        shape = (-1, *[1] * (x.ndim - axis - 1))
        total = np.zeros((*x.shape[:axis], len(indices), *x.shape[axis + 1 :]), weights.dtype)
        for tap in range(indices.shape[1]):
            taken = np.take(x, indices[:, tap], axis=axis)
            total += taken * weights[:, tap].reshape(shape)
        return total.astype(x.dtype)


class SampleOp(GraphOp, name="sample"):
    """An image sampled at given points (ONNX GridSample, but for the unit of the grid).

    `x` is [N, C, spatial...]; `points` is [N, out..., axes] and lists coordinates in elements,
    that of the last spatial axis first. The result is [N, C, out...].

    `mode`: ``nearest`` (halves to even), ``linear`` or ``cubic``. `padding`: what lies outside is
    0 (``zeros``), the nearest element (``border``), or the image mirrored (``reflection``) at its
    outer elements' centers (`align_corners`) or outer edges. An infinite coordinate lies outside,
    and so does one that is no number; what would not be mirrored back stands for the first element.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    points: Tensor
    mode: Str
    padding: Str
    align_corners: Bool

    @staticmethod
    def infer(
        x: TensorType, points: TensorType, *, mode: str, padding: str, align_corners: bool
    ) -> TensorType:
        del align_corners
        require_float(points)
        if x.rank < 3 or points.rank != x.rank or points.shape[-1] != x.rank - 2:
            raise TypeRuleError(f"points {points} do not fit an image {x}")
        if mode not in INTERPOLATIONS or padding not in PADDINGS:
            raise TypeRuleError(f"mode '{mode}' or padding '{padding}' is unknown")
        if mode != "nearest" and not is_float(x.dtype):
            raise TypeRuleError(f"cannot interpolate elements of {x}")
        require_equal_sizes(x.shape[0], points.shape[0], f"batches of {x} and {points}")
        if 0 in x.shape[2:] and 0 not in points.shape:
            raise TypeRuleError(f"cannot read from an empty image {x}")
        return x.with_shape((*x.shape[:2], *points.shape[1:-1]))

    @staticmethod
    def evaluate(
        x: np.ndarray, points: np.ndarray, *, mode: str, padding: str, align_corners: bool
    ) -> np.ndarray:
        spatial = x.shape[2:]
        wide = points.astype(_wide(points.dtype))
        taps = [
            _taps(wide[..., -1 - i], extent, mode, padding, align_corners)
            for i, extent in enumerate(spatial)
        ]
        batch = np.arange(len(x)).reshape(-1, *[1] * len(spatial))
        image = np.moveaxis(x, 1, -1)
        total = np.zeros((*points.shape[:-1], x.shape[1]), x.dtype)
        if mode != "nearest":
            total = total.astype(_wide(x.dtype))
        for corner in itertools.product(*taps):
            indices, weights, inside = zip(*corner, strict=True)
            found = image[(batch, *indices)]
            found = np.where(np.logical_and.reduce(inside)[..., None], found, found.dtype.type(0))
            if mode == "nearest":
                total = found
            else:
                total = total + found * np.prod(weights, axis=0)[..., None]
        return np.moveaxis(total, -1, 1).astype(x.dtype)


Tap = tuple[np.ndarray, np.ndarray, np.ndarray]


def _taps(p: np.ndarray, extent: int, mode: str, padding: str, align_corners: bool) -> list[Tap]:
    """Along one axis: the position, the weight, and whether it is on the axis, of each tap at
    `p`."""
    low, high = (0.0, extent - 1.0) if align_corners else (-0.5, extent - 0.5)
    p = np.rint(p) if mode == "nearest" else p
    if padding != "zeros" and mode != "cubic":
        inner = np.clip(p, 0, extent - 1) if padding == "border" else _reflected(p, low, high)
        p = np.where((p < low) | (p > high), inner, p)
    base = np.floor(p)
    with np.errstate(invalid="ignore"):
        ratio = np.nan_to_num(p - base)
    taps: list[Tap] = []
    for offset, weight in _weights(ratio, mode):
        position = base + offset
        if padding == "reflection" and mode == "cubic":  # whose taps reach further out
            position = _reflected(position, low, high)
        inside = (padding != "zeros") | ((position >= 0) & (position <= extent - 1))
        clamped = np.clip(np.nan_to_num(position), 0, max(extent - 1, 0)).astype(np.int64)
        taps.append((clamped, weight, inside))
    return taps


def _reflected(p: np.ndarray, low: float, high: float) -> np.ndarray:
    """`p` mirrored at `low` and `high` until it is between them."""
    if high <= low:
        return np.full_like(p, low)
    period = 2 * (high - low)
    way = p - low
    way = way - np.floor(way / period) * period
    return low + np.minimum(way, period - way)


def _weights(ratio: np.ndarray, mode: str) -> list[tuple[int, np.ndarray]]:
    """Offsets and weights of the elements around a point that is `ratio` behind one."""
    if mode == "nearest":
        return [(0, np.ones_like(ratio))]
    if mode == "linear":
        return [(0, 1 - ratio), (1, ratio)]
    return [(offset, _cubic(np.abs(ratio - offset))) for offset in (-1, 0, 1, 2)]


def _cubic(distance: np.ndarray) -> np.ndarray:
    """The kernel of cubic convolution for points less than 2 away."""
    a, d = CUBIC_COEFFICIENT, distance
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, far)


interpolate = builder(InterpolateOp)
sample = builder(SampleOp)
