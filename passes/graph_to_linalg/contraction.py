"""Contractions: a named op of linalg if one fits, else a generic one.

The backend reads a transposed operand through the maps of the contraction, without a copy. This is
desired except for the right operand of a matmul: see `_columns_in_rows`.
"""

import functools
from collections.abc import Callable
from typing import Any

from ...dialects import graph
from ...mlir import ir, linalg
from .broadcast import expanded
from .computed_matmul import multiply_computed
from .dispatch import behind_barrier
from .generic_contraction import Factor, converted, factors_of, generic_contraction
from .gpu_matmul import multiply_in_tiles
from .lowering import Lowering, Size, lowers
from .matmul_operands import Matmul, TypedTensor
from .mma_matmul import multiply_on_tensor_cores
from .movement import reshape_tensor
from .padded_matmul import (
    has_unknown_rows,
    multiply_by_tiles,
    multiply_on_grid,
    sizes_on_grid,
)
from .reduction import accumulator


@lowers(graph.MatmulOp)
def matmul(ctx: Lowering, op: graph.MatmulOp, a: ir.Value, b: ir.Value) -> ir.Value:
    """Multiply all rows of the left operand by a matrix on the right at once.

    ``[..., M, K] x [K, N]`` is one matmul of ``[... * M, K]``; equal batches are one batch; batches
    that broadcast are read through the maps of a generic contraction.
    """
    if (y := multiply_on_tensor_cores(ctx, op, [])) is not None:
        return y
    if (y := multiply_computed(ctx, op, a, b)) is not None:
        return y
    left, right, result = (graph.type_of(v) for v in (op.a, op.b, op.result))
    if left.shape[-1] == 0:  # sums of nothing, for which the backend divides by zero
        return ctx.filled(result, 0)
    b = _columns_in_rows(ctx, op, b)
    shared = all(size == 1 for size in right.shape[:-2])
    if shared or left.shape[:-2] == right.shape[:-2]:
        return _flat_matmul(ctx, Matmul(TypedTensor(a, left), TypedTensor(b, right), result))
    return _broadcast_matmul(ctx, op, a, b)


def _flat_matmul(ctx: Lowering, matmul: Matmul) -> ir.Value:
    """Build a matmul with equal batches, or without a batch on the right, as rank 3 or 2."""
    left, right, result = matmul.left.type, matmul.right.type, matmul.result
    if all(size == 1 for size in right.shape[:-2]):
        rows = graph.element_count(left.shape[:-1])
        flat = [(rows, left.shape[-1]), right.shape[-2:], (rows, result.shape[-1])]
    else:
        batch = graph.element_count(result.shape[:-2])
        flat = [(batch, *t.shape[-2:]) for t in (left, right, result)]
    a, b = matmul.left.reshaped(ctx, flat[0]), matmul.right.reshaped(ctx, flat[1])
    product = result.with_shape(flat[2])
    return reshape_tensor(ctx, multiply(ctx, Matmul(a, b, product)), product, result)


def is_few(rows: Size) -> bool:
    """Return whether `rows` is too small for a prior copy of the matrix to pay."""
    return isinstance(rows, int) and rows < 8


def _columns_in_rows(ctx: Lowering, op: graph.MatmulOp, b: ir.Value) -> ir.Value:
    """`b`, materialized before the matmul if its rows are the columns of a computed tensor.

    Otherwise vectors would be gathered across rows. Measured for 12x128x64x128: 1.1 ms, and with
    the copy 0.32 ms. For few rows of `a`, the copy costs more than it saves.
    """
    transpose = graph.graph_op(op.b.owner)
    left, right = (graph.type_of(v).shape for v in (op.a, op.b))
    shared = all(size == 1 for size in right[:-2])
    rows = graph.element_count(left[:-1])
    if not isinstance(transpose, graph.TransposeOp) or is_few(rows):
        return b
    if left[-2] == 1 and not shared:
        return b  # a matrix by a vector is read as it is
    if isinstance(graph.graph_op(transpose.x.owner), graph.ConstantOp):
        return b  # the backend would copy it in every run
    if ctx.mma_sync and graph.type_of(op.b).dtype.itemsize == 2:
        return b  # tensor cores take it as it is
    *_, rows_of, columns_of = transpose.attrs["perm"]
    swaps = rows_of == len(transpose.attrs["perm"]) - 1
    return behind_barrier(ctx, b, graph.type_of(op.b)) if swaps and columns_of != rows_of else b


def multiply(ctx: Lowering, matmul: Matmul) -> ir.Value:
    """Build `matmul`, of rank 2 or 3; narrow floats are accumulated in f32."""
    if ctx.row_tile and has_unknown_rows(matmul):
        return multiply_by_tiles(ctx, matmul)
    y = multiply_in_tiles(ctx, matmul)
    if y is not None:
        return y
    if ctx.gpu and (sizes := sizes_on_grid(matmul)) is not None:
        return multiply_on_grid(ctx, _multiply, sizes, matmul)
    return _multiply(ctx, matmul)


def _multiply(ctx: Lowering, matmul: Matmul) -> ir.Value:
    y = multiply_in_tiles(ctx, matmul)
    if y is not None:
        return y
    left, right, result = matmul.left, matmul.right, matmul.result
    signs = {graph.is_unsigned(x.type.dtype) for x in (left, right)}
    rank = result.rank
    by_vectors = rank == 3 and 1 in result.shape[1:]
    if len(signs) > 1 or by_vectors:
        return generic_contraction(ctx, factors_of(matmul), result, loops=rank + 1)
    named = linalg.matmul if rank == 2 else linalg.batch_matmul
    cast = linalg.TypeFn.cast_unsigned if signs == {True} else None
    return contract(ctx, functools.partial(named, cast=cast), left.value, right.value, result)


def contract(
    ctx: Lowering, build: Callable[..., Any], a: ir.Value, b: ir.Value, type_: graph.TensorType
) -> ir.Value:
    """Build a named contraction of type `type_`; narrow floats are accumulated in f32."""
    wide = type_.with_dtype(accumulator(type_.dtype))
    product = build(a, b, outs=[ctx.filled(wide, 0)])
    y = product if isinstance(product, ir.Value) else product.operation.results[0]
    return converted(ctx, y, wide, type_)


def _broadcast_matmul(ctx: Lowering, op: graph.MatmulOp, a: ir.Value, b: ir.Value) -> ir.Value:
    result = graph.type_of(op.result)
    rank = result.rank
    factors: list[Factor] = []
    for value, lowered, matrix in ((op.a, a, [rank - 2, rank]), (op.b, b, [rank, rank - 1])):
        type_ = graph.type_of(value)
        skipped = rank - type_.rank
        wanted = type_.with_shape((*result.shape[skipped:-2], *type_.shape[-2:]))
        lowered, type_ = decide_broadcast(ctx, value, lowered, wanted)
        batch = [None if s == 1 else i for i, s in enumerate(type_.shape[:-2], start=skipped)]
        factors.append(Factor(lowered, type_, [*batch, *matrix]))
    left, right = factors
    if {left.type.shape[:-2], right.type.shape[:-2]} == {result.shape[:-2]}:
        return _flat_matmul(ctx, Matmul(left, right, result))
    return generic_contraction(ctx, factors, result, loops=rank + 1)


def decide_broadcast(
    ctx: Lowering, value: ir.Value, lowered: ir.Value, wanted: graph.TensorType
) -> tuple[ir.Value, graph.TensorType]:
    """`lowered` with axes that are 1 or those of `wanted`; other axes are broadcast at run time."""
    type_ = graph.type_of(value)
    if all(a in (1, b) for a, b in zip(type_.shape, wanted.shape, strict=True)):
        return lowered, type_
    return expanded(ctx, value, lowered, wanted), wanted
