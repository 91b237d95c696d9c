"""Regions of interest: parts of images resampled to one size."""

import numpy as np

from .attributes import Bool, Float, Int, Str
from .base import GraphOp, Tensor, TypeRuleError, builder
from .contraction import require_equal_sizes
from .elementwise import require_float, require_integer
from .traits import MixedPrecision
from .types import TensorType
from .window import from_channels_first, join_layout, split_layout, to_channels_first

REGION_MODES = ("avg", "max")


def _require_image(x: TensorType, rois: TensorType, columns: int, height: int, width: int) -> None:
    require_float(x)
    if x.rank != 4 or rois.rank != 2 or x.dtype != rois.dtype:
        raise TypeRuleError(f"needs images and a table of regions, not {x} and {rois}")
    require_equal_sizes(rois.shape[1], columns, "columns of the table of regions")
    if height < 1 or width < 1:
        raise TypeRuleError(f"regions cannot become {height} by {width}")


def _wide(*arrays: np.ndarray) -> list[np.ndarray]:
    dtype = np.float64 if arrays[0].dtype == np.float64 else np.float32
    return [array.astype(dtype) for array in arrays]


class RoiAlignOp(GraphOp, name="roi_align"):
    """Regions sampled at points between elements (ONNX RoiAlign).

    `x` is [N, C, H, W]. A row of `rois` is x1, y1, x2, y2, in elements once multiplied by `scale`;
    `batch` says which image it is of. The result is [regions, C, height, width]. With the `layout`
    ``channels_last``, C is the last axis of both.

    Each of its elements is the mean (`mode` ``avg``) of `ratio` by `ratio` points, of as many as
    the region has elements where `ratio` is 0; or the largest share (``max``) of any element in a
    point. `half_pixel`: whether elements are centered on halves; otherwise a region is at least
    one element wide. A point more than 1 outside of the image is 0.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    rois: Tensor
    batch: Tensor
    height: Int
    width: Int
    ratio: Int
    scale: Float
    mode: Str
    half_pixel: Bool
    layout: Str

    @staticmethod
    def infer(
        x: TensorType,
        rois: TensorType,
        batch: TensorType,
        *,
        height: int,
        width: int,
        ratio: int,
        scale: float,
        mode: str,
        half_pixel: bool,
        layout: str,
    ) -> TensorType:
        del scale, half_pixel
        _require_image(x, rois, 4, height, width)
        require_integer(batch)
        if batch.rank != 1 or mode not in REGION_MODES or ratio < 0:
            raise TypeRuleError(f"batch indices {batch}, mode '{mode}' or ratio {ratio}")
        require_equal_sizes(rois.shape[0], batch.shape[0], "regions and batch indices")
        _, channels, _ = split_layout(x.shape, layout)
        return x.with_shape(join_layout(rois.shape[0], channels, (height, width), layout))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        rois: np.ndarray,
        batch: np.ndarray,
        *,
        height: int,
        width: int,
        ratio: int,
        scale: float,
        mode: str,
        half_pixel: bool,
        layout: str,
    ) -> np.ndarray:
        x = to_channels_first(x, layout)
        (wide, corners), dtype = _wide(x, rois), x.dtype
        corners = corners * corners.dtype.type(scale) - corners.dtype.type(0.5 * half_pixel)
        result = np.zeros((len(rois), x.shape[1], height, width), wide.dtype)
        for i, (x1, y1, x2, y2) in enumerate(corners):
            image = wide[np.clip(batch[i], 0, len(x) - 1)]
            rows = _points(y1, y2, height, ratio, half_pixel, image.shape[1])
            columns = _points(x1, x2, width, ratio, half_pixel, image.shape[2])
            result[i] = _pooled(image, rows, columns, mode)
        return from_channels_first(result.astype(dtype), layout)


Points = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _points(
    start: np.floating, end: np.floating, bins: int, ratio: int, half_pixel: bool, extent: int
) -> Points:
    """Both neighbours of each point of each bin, [bins, points], and the weights of both."""
    kind = start.dtype.type
    span = end - start if half_pixel else max(end - start, kind(1))
    size = span / kind(bins)
    count = ratio if ratio > 0 else max(int(np.ceil(size)), 0)
    steps = (np.arange(count, dtype=start.dtype) + kind(0.5)) * (size / kind(max(count, 1)))
    p = start + np.arange(bins, dtype=start.dtype)[:, None] * size + steps
    outside = (p < -1) | (p > extent)
    p = np.clip(p, 0, extent - 1)
    low = np.floor(p).astype(np.int64)
    high = np.minimum(low + 1, extent - 1)
    part = p - low
    return low, high, np.where(outside, 0, 1 - part), np.where(outside, 0, part)


def _pooled(image: np.ndarray, rows: Points, columns: Points, mode: str) -> np.ndarray:
    """[C, bins of rows, bins of columns]."""
    shares: list[np.ndarray] = []
    for row, row_weight in ((rows[0], rows[2]), (rows[1], rows[3])):
        for column, column_weight in ((columns[0], columns[2]), (columns[1], columns[3])):
            found = image[:, row[:, :, None, None], column[None, None]]
            shares.append(found * row_weight[:, :, None, None] * column_weight[None, None])
    if 0 in shares[0].shape:
        return np.zeros((len(image), len(rows[0]), len(columns[0])), image.dtype)
    if mode == "max":
        return np.maximum.reduce(shares).max(axis=(2, 4))
    return np.sum(shares, axis=0).mean(axis=(2, 4))


class MaxRoiPoolOp(GraphOp, name="max_roi_pool"):
    """The largest element in each bin of regions (ONNX MaxRoiPool); 0 in empty bins.

    `x` is [N, C, H, W]. A row of `rois` is the number of an image, x1, y1, x2, y2, the last four
    in elements once multiplied by `scale` and rounded. The result is [regions, C, height, width].
    With the `layout` ``channels_last``, C is the last axis of both.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    rois: Tensor
    height: Int
    width: Int
    scale: Float
    layout: Str

    @staticmethod
    def infer(
        x: TensorType, rois: TensorType, *, height: int, width: int, scale: float, layout: str
    ) -> TensorType:
        del scale
        _require_image(x, rois, 5, height, width)
        _, channels, _ = split_layout(x.shape, layout)
        return x.with_shape(join_layout(rois.shape[0], channels, (height, width), layout))

    @staticmethod
    def evaluate(
        x: np.ndarray, rois: np.ndarray, *, height: int, width: int, scale: float, layout: str
    ) -> np.ndarray:
        if layout == "channels_last":
            first, sizes = np.moveaxis(x, -1, 1), {"height": height, "width": width}
            result = MaxRoiPoolOp.evaluate(
                first, rois, **sizes, scale=scale, layout="channels_first"
            )
            return np.moveaxis(result, 1, -1)
        _, table = _wide(x, rois)
        result = np.zeros((len(rois), x.shape[1], height, width), x.dtype)
        scaled = table[:, 1:] * table.dtype.type(scale)
        corners = np.trunc(scaled + np.copysign(0.5, scaled).astype(table.dtype))
        for i, (x1, y1, x2, y2) in enumerate(corners):
            image = x[np.clip(int(table[i, 0]), 0, len(x) - 1)]
            rows = _bins(y1, y2, height, image.shape[1])
            columns = _bins(x1, x2, width, image.shape[2])
            for r, c in np.ndindex(height, width):
                part = image[:, slice(*rows[r]), slice(*columns[c])]
                if part.size:
                    result[i, :, r, c] = part.max(axis=(1, 2))
        return result


def _bins(start: np.floating, end: np.floating, bins: int, extent: int) -> np.ndarray:
    """The first position of each bin and the one after its last: [bins, 2]."""
    kind = start.dtype.type
    size = max(end - start + kind(1), kind(1)) / kind(bins)
    edges = np.arange(bins, dtype=start.dtype)
    first, behind = np.floor(edges * size), np.ceil((edges + kind(1)) * size)
    return np.clip(np.stack([first, behind], axis=1) + start, 0, extent).astype(np.int64)


roi_align = builder(RoiAlignOp)
max_roi_pool = builder(MaxRoiPoolOp)
