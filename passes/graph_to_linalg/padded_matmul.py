"""Matrix products in sizes for which the backend has tiles on graphics processors.

Other sizes it multiplies without tensor cores, or without sums in registers; and some it refuses.
Counted in the code for CUDA (sm_80), multiplications in the innermost loop: 4 for rows that only
the run counts and 512 in tiles of 64 rows; none that are fused with additions for 208x768x768, and
512 for 224x768x768. For Vulkan (Ampere, f16): 128x64x1000 is refused, and 128x64x1024 is computed
with cooperative matrices.
"""

from collections.abc import Callable

from ...dialects import graph
from ...mlir import ir
from .dispatch import stored
from .lowering import Lowering
from .movement import extract_slice, pad_tensor, reshape_tensor
from .reduced_products import generic_product

MIN_ROWS, MIN_COLUMNS = 16, 8
"""A product of fewer is not computed in tiles, whatever its other sizes."""

Product = Callable[..., ir.Value]


def has_unknown_rows(left: graph.TensorType, right: graph.TensorType) -> bool:
    """Whether nothing but the rows of a product of two matrices is left to the run."""
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
    """``[M, K] x [K, N]`` as ``[T, tile, K] x [K, N]``, rows of zeros behind."""
    (rows, depth), columns, tile = left.shape, result.shape[1], ctx.row_tile
    count = (rows + tile - 1) // tile
    padded, tiles = left.with_shape((count * tile, depth)), left.with_shape((count, tile, depth))
    a = reshape_tensor(ctx, _extended(ctx, a, left, padded), padded, tiles)
    product = result.with_shape((count, tile, columns))
    y = generic_product(ctx, [a, b], [tiles, right], [[0, 1, 3], [3, 2]], product, loops=4)
    whole = result.with_shape((count * tile, columns))
    return _cut(ctx, reshape_tensor(ctx, y, product, whole), whole, result)


def sizes_on_grid(left: graph.TensorType, right: graph.TensorType) -> list[int] | None:
    """What ``M``, ``K`` and ``N`` are extended to; None where they stay, or are not known."""
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
    """What `multiply` gives for operands that zeros extend to `sizes`, cut to `result`.

    In memory, as the backend would move what cuts it before the product, and undo this.
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
    """`x` with zeros behind the elements of its axes."""
    if source.shape == target.shape:
        return x
    high = [t - s for s, t in zip(source.shape, target.shape, strict=True)]
    zero = ctx.scalar(0, source.dtype)
    return pad_tensor(ctx, x, zero, [0] * source.rank, high, target)


def _cut(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, target: graph.TensorType
) -> ir.Value:
    """The first elements of `x`."""
    if source.shape == target.shape:
        return x
    rank = target.rank
    return extract_slice(ctx, x, [0] * rank, target.shape, [1] * rank, target)
