"""Matmuls on NVIDIA GPUs in tiles that are chosen here (`kernels.gpu_tiles`); a long K is split."""

from ...dialects import graph
from ...mlir import ir
from ..kernels.gpu_tiles import MatmulTiling, WorkgroupTile, matmul_tiling
from .generic_contraction import Factor, converted, factors_of, product, sum_of_parts, untransposed
from .gpu_lowering_config import tile_attribute
from .lowering import Lowering
from .matmul_operands import Matmul
from .reduction import accumulator


def multiply_in_tiles(ctx: Lowering, matmul: Matmul) -> ir.Value | None:
    """Build `matmul`, of rank 2 or 3; None if there is no plan for it.

    A transposed right operand is read as it is.
    """
    result = matmul.result
    plan = matmul_tiling(matmul.left.type, matmul.right.type, result) if ctx.mma_sync else None
    if plan is None:
        return None
    left, right = factors_of(matmul)
    factors = [left, untransposed(right)]
    if plan.parts > 1:
        return _in_parts(ctx, factors, result, plan)
    return _tiled(ctx, factors, result, plan.tile)


def _tiled(
    ctx: Lowering, factors: list[Factor], result: graph.TensorType, tile: WorkgroupTile
) -> ir.Value:
    left = factors[0].type
    sizes = [graph.static_size(size) for size in (*result.shape[-2:], left.shape[-1])]
    hint = tile_attribute(left.dtype, tile, result.rank - 2, sizes)
    return product(ctx, factors, result, result.rank + 1, hint)


def _in_parts(
    ctx: Lowering, factors: list[Factor], result: graph.TensorType, plan: MatmulTiling
) -> ir.Value:
    """Build a split-K matmul: the products of the parts of K, then their sum."""
    k = result.rank
    loops: dict[int | None, int] = {0: 1, 1: 2, k: 0, k + 1: 3}  # part, M, N, K within the part
    split = [factor.split(ctx, k, plan.parts) for factor in factors]
    split = [Factor(f.value, f.type, [loops[axis] for axis in f.axes]) for f in split]
    wide = result.with_dtype(accumulator(result.dtype))
    parts = wide.with_shape((plan.parts, *result.shape))
    y = _tiled(ctx, split, parts, plan.tile)
    return converted(ctx, sum_of_parts(ctx, y, wide), wide, result)
