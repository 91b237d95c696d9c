"""Images at points that are data: GridSample, AffineGrid."""

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim, maximum
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op
from .shapes import positions, require_sizes

_MODES = {"bilinear": "linear", "bicubic": "cubic"}


@onnx_op("GridSample", since=16)
@onnx_op("GridSample", domain="com.microsoft")
def grid_sample(x, grid, *, align_corners=0, mode="bilinear", padding_mode="zeros"):
    """The grid's unit is half an axis; its origin is in the middle."""
    image = graph.type_of(x)
    grid = _grid_of(grid, image)
    if mode != "nearest" and not graph.is_float(image.dtype):
        raise UnsupportedError(f"interpolation between elements of {image.dtype}")
    extents = _floats(reversed(image.shape[2:]), grid)
    one = graph.splat_like(1, grid)
    shifted = graph.add(grid, one)
    if align_corners:
        doubled = graph.mul(shifted, graph.sub(extents, one))
    else:
        doubled = graph.sub(graph.mul(shifted, extents), one)
    return graph.sample(
        x,
        graph.mul(doubled, graph.splat_like(0.5, grid)),
        mode=_MODES.get(mode, mode),
        padding=padding_mode,
        align_corners=bool(align_corners),
    )


@onnx_op("GridSample", since=20)
def grid_sample_20(x, grid, *, align_corners=0, mode="linear", padding_mode="zeros"):
    return grid_sample(x, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)


def _grid_of(grid: ir.Value, image: graph.TensorType) -> ir.Value:
    """`grid` with a coordinate for each spatial axis of `image`, in f32 at least.

    f16 has eleven bits, and the coordinates in an image with a thousand columns lie between them.
    """
    type_, axes = graph.type_of(grid), image.rank - 2
    if axes < 1 or type_.rank != image.rank:
        raise graph.TypeRuleError(f"grid {type_} does not fit an image {image}")
    if isinstance(type_.shape[-1], Dim):  # is checked when the model runs
        grid = graph.reshape(grid, shape=[*type_.shape[:-1], axes])
    elif type_.shape[-1] != axes:
        raise graph.TypeRuleError(f"grid {type_} does not fit an image {image}")
    return grid if type_.dtype == np.float64 else graph.cast(grid, to=np.float32)


def _floats(sizes, like: ir.Value) -> ir.Value:
    """`sizes` as a tensor of rank 1 and of the element type of `like`."""
    sizes, dtype = list(sizes), graph.type_of(like).dtype
    if all(isinstance(size, int) for size in sizes):
        return graph.constant(value=np.array(sizes).astype(dtype))
    return graph.cast(graph.sizes(sizes=sizes), to=dtype)


@onnx_op("AffineGrid", since=20)
def affine_grid(theta, size, *, node, align_corners=0):
    """``theta[:, :, 0] * x + theta[:, :, 1] * y + theta[:, :, 2]`` in two dimensions."""
    matrices = graph.type_of(theta)
    sizes = require_sizes(size, node, "size")
    rank = len(sizes) - 2
    if rank not in (2, 3) or matrices.shape[1:] != (rank, rank + 1):
        raise graph.TypeRuleError(f"theta {matrices} does not fit {len(sizes)} sizes")
    batch, spatial = matrices.shape[0], sizes[2:]
    column = [batch, *[1] * rank, rank]
    total = graph.reshape(_column(theta, rank), shape=column)
    for i, extent in enumerate(reversed(spatial)):
        coordinate = _centered(extent, bool(align_corners), theta)
        coordinate = graph.reshape(coordinate, shape=[extent, *[1] * (i + 1)])
        share = graph.reshape(_column(theta, i), shape=column)
        total = graph.add(total, graph.mul(share, coordinate))
    return total


def _column(theta: ir.Value, i: int) -> ir.Value:
    batch, rows, _ = graph.type_of(theta).shape
    return graph.slice_(theta, starts=[0, 0, i], sizes=[batch, rows, 1], steps=[1, 1, 1])


def _centered(extent: int | Dim, align_corners: bool, like: ir.Value) -> ir.Value:
    """The positions on an axis, or their centers, in halves of the axis around its middle."""
    dtype = graph.type_of(like).dtype
    position = graph.cast(positions(extent), to=dtype)
    position = graph.add(position, position)
    if not align_corners:
        position = graph.add(position, graph.splat_like(1, like))
    span = graph.cast(
        graph.size_scalar(maximum(extent - 1, 1) if align_corners else extent), to=dtype
    )
    return graph.sub(graph.div(position, span), graph.splat_like(1, like))
