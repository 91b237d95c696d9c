"""Matmuls padded to sizes for which the backend has tiles on GPUs.

The backend computes other sizes without tensor cores, or without accumulators in registers, and
rejects some. Multiplications counted in the innermost loop of the code for CUDA (sm_80): 4 for
dynamic rows, and 512 in tiles of 64 rows; no FMAs for 208x768x768, and 512 for 224x768x768. For
Vulkan (Ampere, f16): 128x64x1000 is rejected, and 128x64x1024 is computed with cooperative
matrices.
"""

from collections.abc import Callable, Sequence

from ...dialects import graph
from ...mlir import ir
from .dispatch import behind_barrier
from .generic_contraction import Factor, generic_contraction
from .lowering import Lowering, Size
from .matmul_operands import Matmul, TypedTensor
from .movement import extract_slice, pad_tensor, reshape_tensor

MIN_ROWS, MIN_COLUMNS = 16, 8
"""Minimum sizes of a matmul for tiles, whatever its other sizes."""


def has_unknown_rows(matmul: Matmul) -> bool:
    """Return whether the rows are the only dynamic size of a float matmul of two matrices."""
    left, right = matmul.left.type, matmul.right.type
    known = left.rank == 2 and all(isinstance(size, int) for size in (left.shape[1], *right.shape))
    return known and graph.is_float(left.dtype) and not isinstance(left.shape[0], int)


def multiply_by_tiles(ctx: Lowering, matmul: Matmul) -> ir.Value:
    """Build ``[M, K] x [K, N]`` as ``[T, tile, K] x [K, N]``, with rows padded by zeros."""
    left, right, result = matmul.left, matmul.right, matmul.result
    (rows, k), columns, tile = left.type.shape, result.shape[1], ctx.row_tile
    count = (rows + tile - 1) // tile
    tiles = _extended(ctx, left, (count * tile, k)).reshaped(ctx, (count, tile, k))
    product = result.with_shape((count, tile, columns))
    factors = [Factor(tiles.value, tiles.type, [0, 1, 3]), Factor(right.value, right.type, [3, 2])]
    y = generic_contraction(ctx, factors, product, loops=4)
    whole = result.with_shape((count * tile, columns))
    return _cut(ctx, reshape_tensor(ctx, y, product, whole), whole, result)


def sizes_on_grid(matmul: Matmul) -> list[int] | None:
    """The padded ``M``, ``K`` and ``N``; None if they need no padding, or are dynamic."""
    left, right = matmul.left.type, matmul.right.type
    sizes = [size for size in (*left.shape[-2:], right.shape[-1]) if isinstance(size, int)]
    if len(sizes) < 3 or not graph.is_float(left.dtype):
        return None
    rows, k, columns = sizes
    if rows < MIN_ROWS or columns < MIN_COLUMNS or k == 0:
        return None
    units = (32, 16, 32 if columns > 16 else 16)
    extended = [-(-size // unit) * unit for size, unit in zip(sizes, units, strict=True)]
    return None if extended == sizes else extended


def multiply_on_grid(
    ctx: Lowering,
    multiply: Callable[[Lowering, Matmul], ir.Value],
    sizes: list[int],
    matmul: Matmul,
) -> ir.Value:
    """Pad the operands with zeros to `sizes`, `multiply` them, and slice the result.

    The product is materialized: the backend would move the slice before the matmul, and so undo the
    padding.
    """
    rows, k, columns = sizes
    batch = matmul.result.shape[:-2]
    left = _extended(ctx, matmul.left, (*batch, rows, k))
    right = _extended(ctx, matmul.right, (*batch, k, columns))
    whole = matmul.result.with_shape((*batch, rows, columns))
    y = behind_barrier(ctx, multiply(ctx, Matmul(left, right, whole)), whole)
    return _cut(ctx, y, whole, matmul.result)


def _extended(ctx: Lowering, x: TypedTensor, shape: Sequence[Size]) -> TypedTensor:
    """Pad `x` with zeros at the end of its axes."""
    source, target = x.type, x.type.with_shape(shape)
    if source.shape == target.shape:
        return x
    high = [t - s for s, t in zip(source.shape, target.shape, strict=True)]
    zero = ctx.scalar(0, source.dtype)
    padded = pad_tensor(ctx, x.value, zero, [0] * source.rank, high, target)
    return TypedTensor(padded, target)


def _cut(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, target: graph.TensorType
) -> ir.Value:
    """Slice `x` to the sizes of `target`."""
    if source.shape == target.shape:
        return x
    rank = target.rank
    return extract_slice(ctx, x, [0] * rank, target.shape, [1] * rank, target)
