"""Regions of images."""

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..operators.shapes import require_constant
from .registry import microsoft_op


@microsoft_op("CropAndResize")
def crop_and_resize(x, rois, batch_indices, crop_size, *, extrapolation_value=0.0, mode="bilinear"):
    """Each region, ``y1, x1, y2, x2`` of an image of height and width 1, sampled on a grid.

    The grid's corners are the region's; a point outside the image gives `extrapolation_value`.
    """
    if mode not in ("bilinear", "nearest"):
        raise graph.TypeRuleError(f"mode '{mode}'")
    height, width = (int(n) for n in require_constant(crop_size, "crop_size"))
    count = graph.type_of(rois).shape[0]
    extents = graph.type_of(x).shape[2:]
    inside, coordinates = [], []
    for axis, (extent, points) in enumerate(zip(extents, (height, width), strict=True)):
        coordinate, seen = _coordinates(rois, axis, extent, points)
        shape = [count, points, 1] if axis == 0 else [count, 1, points]
        inside.append(graph.reshape(seen, shape=shape))
        coordinate = coordinate if mode == "bilinear" else _rounded(coordinate)
        coordinate = graph.expand(
            graph.reshape(coordinate, shape=shape), shape=[count, height, width]
        )
        coordinates.append(graph.reshape(coordinate, shape=[count, height, width, 1]))
    y = graph.sample(
        graph.gather(x, batch_indices, axis=0),
        graph.concat([coordinates[1], coordinates[0]], axis=3),
        mode="linear" if mode == "bilinear" else "nearest",
        padding="border",
        align_corners=True,
    )
    seen = graph.reshape(graph.and_(*inside), shape=[count, 1, height, width])
    return graph.where(seen, y, graph.splat_like(extrapolation_value, y))


def _coordinates(
    rois: ir.Value, axis: int, extent: int | Dim, points: int
) -> tuple[ir.Value, ir.Value]:
    """Coordinates ``[regions, points]`` in elements, and whether they are on the axis."""
    count, dtype = graph.type_of(rois).shape[0], graph.type_of(rois).dtype
    last = graph.cast(graph.sub(graph.size_scalar(extent), graph.size_scalar(1)), to=dtype)
    share = np.linspace(0, 1, points) if points > 1 else np.array([0.5])
    near, far = (graph.constant(value=s.astype(dtype)) for s in (1 - share, share))
    begin, end = (
        graph.slice_(rois, starts=[0, i], sizes=[count, 1], steps=[1, 1]) for i in (axis, axis + 2)
    )
    begin, end = graph.mul(begin, last), graph.mul(end, last)
    coordinate = graph.add(graph.mul(begin, near), graph.mul(end, far))
    inside = graph.and_(
        graph.greater_or_equal(coordinate, graph.splat_like(0, coordinate)),
        graph.less_or_equal(coordinate, last),
    )
    return coordinate, inside


def _rounded(x: ir.Value) -> ir.Value:
    """Halves up."""
    return graph.floor(graph.add(x, graph.splat_like(0.5, x)))
