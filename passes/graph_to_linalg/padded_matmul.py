"""Matmuls padded to sizes for which the backend has tiles on GPUs.

The backend computes other sizes without tensor cores, or without accumulators in registers, and
rejects some. Multiplications counted in the innermost loop of the code for CUDA (sm_80): 4 for
dynamic rows, and 512 in tiles of 64 rows; no FMAs for 208x768x768, and 512 for 224x768x768. For
Vulkan (Ampere, f16): 128x64x1000 is rejected, and 128x64x1024 is computed with cooperative
matrices.
"""

from collections.abc import Callable

from ...dialects import graph
from ...mlir import ir
from .dispatch import stored
from .lowering import Lowering
from .movement import extract_slice, pad_tensor, reshape_tensor
from .reduced_products import generic_product

MIN_ROWS, MIN_COLUMNS = 16, 8
"""Minimum sizes of a matmul for tiles, whatever its other sizes."""

Product = Callable[..., ir.Value]


def has_unknown_rows(left: graph.TensorType, right: graph.TensorType) -> bool:
    """Return whether the rows are the only dynamic size of a float matmul of two matrices."""
    known = left.rank == 2 and all(isinstance(size, int) for size in (left.shape[1], *right.shape))
    return known and graph.is_float(left.dtype) and not isinstance(left.shape[0], int)


def multiply_by_tiles(
    ctx: Lowering,
    a: ir.Value,
    left: graph.TensorType,
    b: ir.Value,
    right: graph.TensorType,
    result: graph.TensorType,
) -> ir.Value:
    """Build ``[M, K] x [K, N]`` as ``[T, tile, K] x [K, N]``, with rows padded by zeros."""
    (rows, depth), columns, tile = left.shape, result.shape[1], ctx.row_tile
    count = (rows + tile - 1) // tile
    padded, tiles = left.with_shape((count * tile, depth)), left.with_shape((count, tile, depth))
    a = reshape_tensor(ctx, _extended(ctx, a, left, padded), padded, tiles)
    product = result.with_shape((count, tile, columns))
    y = generic_product(ctx, [a, b], [tiles, right], [[0, 1, 3], [3, 2]], product, loops=4)
    whole = result.with_shape((count * tile, columns))
    return _cut(ctx, reshape_tensor(ctx, y, product, whole), whole, result)


def sizes_on_grid(left: graph.TensorType, right: graph.TensorType) -> list[int] | None:
    """The padded ``M``, ``K`` and ``N``; None if they need no padding, or are dynamic."""
    sizes = [size for size in (*left.shape[-2:], right.shape[-1]) if isinstance(size, int)]
    if len(sizes) < 3 or not graph.is_float(left.dtype):
        return None
    rows, depth, columns = sizes
    if rows < MIN_ROWS or columns < MIN_COLUMNS or depth == 0:
        return None
    units = (32, 16, 32 if columns > 16 else 16)
    extended = [-(-size // unit) * unit for size, unit in zip(sizes, units, strict=True)]
    return None if extended == sizes else extended


def multiply_on_grid(
    ctx: Lowering,
    multiply: Product,
    sizes: list[int],
    a: ir.Value,
    left: graph.TensorType,
    b: ir.Value,
    right: graph.TensorType,
    result: graph.TensorType,
) -> ir.Value:
    """Build `multiply` of operands zero-padded to `sizes`, and slice it to `result`.

    The product is materialized: the backend would move the slice before the matmul, and so undo the
    padding.
    """
    rows, depth, columns = sizes
    batch = result.shape[:-2]
    whole = [
        type_.with_shape((*batch, *matrix))
        for type_, matrix in (
            (left, (rows, depth)), (right, (depth, columns)), (result, (rows, columns))
        )
    ]  # fmt: skip
    a, b = _extended(ctx, a, left, whole[0]), _extended(ctx, b, right, whole[1])
    y = stored(ctx, multiply(ctx, a, whole[0], b, whole[1], whole[2]), whole[2])
    return _cut(ctx, y, whole[2], result)


def _extended(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, target: graph.TensorType
) -> ir.Value:
    """Pad `x` with zeros at the end of its axes."""
    if source.shape == target.shape:
        return x
    high = [t - s for s, t in zip(source.shape, target.shape, strict=True)]
    zero = ctx.scalar(0, source.dtype)
    return pad_tensor(ctx, x, zero, [0] * source.rank, high, target)


def _cut(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, target: graph.TensorType
) -> ir.Value:
    """Slice `x` to the sizes of `target`."""
    if source.shape == target.shape:
        return x
    rank = target.rank
    return extract_slice(ctx, x, [0] * rank, target.shape, [1] * rank, target)
