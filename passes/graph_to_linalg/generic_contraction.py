"""Products of tensors summed over loops, as one generic."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects import graph
from ...mlir import arith, ir, tensor
from .dispatch import VIEWS, behind_barrier
from .generic import generic, parallel, projection
from .lowering import Lowering, Size, plain_type
from .matmul_operands import Matmul, TypedTensor
from .movement import reshape_tensor
from .reduction import accumulator
from .scalar import convert_scalar
from .tiles import tile_hint

REGISTER_BYTES = 64
"""Bytes of a vector: one register on CPUs with the widest registers, two or four elsewhere."""
BLOCK = 64
"""Result elements that one workgroup computes."""

Axes = Sequence[int | None]


def generic_contraction(
    ctx: Lowering, factors: Sequence["Factor"], result: graph.TensorType, loops: int
) -> ir.Value:
    """The product of `factors`, summed over the loops after those of the result.

    The result's axes are the first loops.
    """
    if not ctx.gpu and len(factors) == 2:
        y = _by_vectors(ctx, factors, result, loops)
        if y is not None:
            return y
    return product(ctx, factors, result, loops)


@dataclass(frozen=True)
class Factor(TypedTensor):
    """A tensor and the loop along which each of its axes is read, None for its first element."""

    axes: Axes

    def refined(self, ctx: Lowering, sizes: Sequence[Size]) -> "Factor":
        """The factor with the sizes of the loops for the axes that are read along them."""
        pairs = zip(self.type.shape, self.axes, strict=True)
        type_ = self.type.with_shape(s if loop is None else sizes[loop] for s, loop in pairs)
        return Factor(ctx.cast(self.value, type_), type_, self.axes)

    def split(self, ctx: Lowering, loop: int, parts: int) -> "Factor":
        """The factor with the axis of `loop` split into `parts` and a new next loop within one."""
        at = self.axes.index(loop)
        size = graph.static_size(self.type.shape[at])
        shape = (*self.type.shape[:at], parts, size // parts, *self.type.shape[at + 1 :])
        type_ = self.type.with_shape(shape)
        axes = [*self.axes[: at + 1], loop + 1, *self.axes[at + 1 :]]
        return Factor(reshape_tensor(ctx, self.value, self.type, type_), type_, axes)

    def along(self, ctx: Lowering, runs: Sequence[Sequence[int]]) -> "Factor":
        """The factor with one axis for each run of loops that it is read along, in that loop."""
        found = [number for number, run in enumerate(runs) if run[0] in self.axes]
        order = sorted(found, key=lambda number: self.axes.index(runs[number][0]))
        sizes = [[self.type.shape[self.axes.index(loop)] for loop in runs[i]] for i in order]
        type_ = self.type.with_shape(map(graph.element_count, sizes))
        return Factor(reshape_tensor(ctx, self.value, self.type, type_), type_, order)


def factors_of(matmul: Matmul) -> tuple[Factor, Factor]:
    """The operands of `matmul`, read along the loops of the batch, M, N and K."""
    batch = range(matmul.result.rank - 2)
    m, n, k = (matmul.result.rank + i for i in (-2, -1, 0))
    left, right = matmul.left, matmul.right
    return (
        Factor(left.value, left.type, [*batch, m, k]),
        Factor(right.value, right.type, [*batch, k, n]),
    )


def product(
    ctx: Lowering,
    factors: Sequence[Factor],
    result: graph.TensorType,
    loops: int,
    hint: ir.Attribute | None = None,
) -> ir.Value:
    """Build the product of `factors` as one generic, with `hint` as its ``compilation_info``."""
    wide = result.with_dtype(accumulator(result.dtype))
    is_float = graph.is_float(wide.dtype)
    multiply_scalars, add = (arith.mulf, arith.addf) if is_float else (arith.muli, arith.addi)

    def body(*scalars: ir.Value) -> ir.Value:
        *elements, total = scalars
        term: ir.Value | None = None
        for factor, element in zip(factors, elements, strict=True):
            element = convert_scalar(element, factor.type.dtype, wide.dtype)
            term = element if term is None else multiply_scalars(term, element)
        assert term is not None
        return add(total, term)

    (y,) = generic(
        [f.value for f in factors],
        [projection(loops, f.axes) for f in factors],
        [ctx.filled(wide, 0)],
        [projection(loops, list(range(result.rank)))],
        ["parallel"] * result.rank + ["reduction"] * (loops - result.rank),
        body,
    )
    if hint is not None:
        ir.OpResult(y).owner.attributes["compilation_info"] = hint
    return converted(ctx, y, wide, result)


def _by_vectors(
    ctx: Lowering, factors: Sequence[Factor], result: graph.TensorType, loops: int
) -> ir.Value | None:
    """Build a batch of matrix-vector products; None for other products.

    The backend's own tiles are those of a matmul with the batch as one of its sides, and every
    element of a tile is unrolled. Measured for a batch of 12, 512x64 by 64, all sizes dynamic: 20 s
    to compile and 0.5 ms to run; with the tiles chosen here 0.3 s and 0.15 ms.
    """
    sizes = _loop_sizes(factors, loops)
    factors = [factor.refined(ctx, sizes) for factor in factors]
    kept = [loop for loop, size in enumerate(sizes) if size != 1]
    used = [{loop for loop in factor.axes if loop in kept} for factor in factors]
    summed = {loop for loop in kept if loop >= result.rank}
    batch = (used[0] & used[1]) - summed
    if 0 in sizes or not (batch and summed) or used[0] == used[1] or summed - (used[0] & used[1]):
        return None
    if used[0] < used[1]:
        factors, used = factors[::-1], used[::-1]
    elif not used[0] > used[1]:
        return None
    matrix, vector = map(untransposed, factors)
    runs = _runs(kept, result.rank, [matrix.axes, vector.axes])
    matrix, vector = (_in_memory(ctx, factor.along(ctx, runs)) for factor in (matrix, vector))
    counts = [graph.element_count([sizes[loop] for loop in run]) for run in runs]
    flat = result.with_shape(n for n, run in zip(counts, runs, strict=True) if run[0] < result.rank)
    hint = _tiles(matrix, vector, counts, flat)
    y = product(ctx, [matrix, vector], flat, len(runs), hint)
    return reshape_tensor(ctx, y, flat, result)


def _loop_sizes(factors: Sequence[Factor], loops: int) -> list[Size]:
    """The size of each loop, static if it is static in any factor."""
    sizes: list[Size | None] = [None] * loops
    for factor in factors:
        for size, loop in zip(factor.type.shape, factor.axes, strict=True):
            if loop is not None and not isinstance(sizes[loop], int):
                sizes[loop] = size
    return [1 if size is None else size for size in sizes]


def _runs(loops: Sequence[int], rank: int, reads: Sequence[Axes]) -> list[list[int]]:
    """Group `loops` into runs that collapse to one axis in all `reads` and in the result of `rank`.

    The backend collapses each run to one loop, and drops the tiles if a run has several loops.
    """
    runs: list[list[int]] = []
    for loop in loops:
        last = runs[-1][-1] if runs else None
        together = last is not None and (last < rank) == (loop < rank)
        for axes in reads:
            read = [axis for axis in axes if axis in loops]
            pairs = list(itertools.pairwise(read))
            together &= (last, loop) in pairs or (last not in read and loop not in read)
        if together:
            runs[-1].append(loop)
        else:
            runs.append([loop])
    return runs


def _tiles(
    matrix: Factor, vector: Factor, sizes: Sequence[Size], result: graph.TensorType
) -> ir.Attribute:
    """Tiles with vectors along the last axis of `matrix`: of accumulators, or of their terms."""
    lanes = REGISTER_BYTES // accumulator(result.dtype).itemsize
    rows = [axis for axis in range(result.rank) if axis not in vector.axes]
    steps = [1] * len(sizes)
    inner = matrix.axes[-1]
    assert inner is not None
    steps[inner] = 4 * lanes if inner in rows else lanes
    if inner >= result.rank:
        steps[rows[-1]] = 4  # accumulators at a time, for each of which the vector is loaded once
    for loop, size in enumerate(sizes):
        steps[loop] = min(steps[loop], size) if isinstance(size, int) else steps[loop]
    blocks = [max(step, BLOCK) if loop == rows[-1] else step for loop, step in enumerate(steps)]
    inside = [0] * (len(sizes) - result.rank)
    return tile_hint(
        "DoubleTilingExpert",
        distribution=[*blocks[: result.rank], *inside],
        parallel=[*steps[: result.rank], *inside],
        reduction=[*[0] * result.rank, *steps[result.rank :]],
    )


def untransposed(factor: Factor) -> Factor:
    """The operand of the transpose that makes `factor`, read in another order, or `factor`.

    Batch axes may have been collapsed after the transpose, if it left them in order.
    """
    op = _defining(factor.value)
    groups = None
    if op is not None and op.name == "tensor.collapse_shape":
        listed = ir.ArrayAttr(op.attributes["reassociation"])
        groups = [[ir.IntegerAttr(i).value for i in ir.ArrayAttr(group)] for group in listed]
        op = _defining(op.operands[0])
    if op is None or op.name != "linalg.transpose":
        return factor
    perm = list(ir.DenseI64ArrayAttr(op.attributes["permutation"]))
    x = op.operands[0]
    if groups is not None:
        if any(len(group) > 1 and [perm[i] for i in group] != group for group in groups):
            return factor
        owner = {i: number for number, group in enumerate(groups) for i in group}
        perm = [owner[perm[group[0]]] for group in groups]
    order = [perm.index(axis) for axis in range(len(perm))]
    type_ = factor.type.with_shape(factor.type.shape[i] for i in order)
    if groups is not None:
        x = tensor.collapse_shape(plain_type(type_), x, groups)
    return Factor(x, type_, [factor.axes[i] for i in order])


def _in_memory(ctx: Lowering, factor: Factor) -> Factor:
    """`factor`, materialized unless it is in memory already.

    The backend would compute it in the reduction loops, and its vectors are too large for gathers.
    """
    op = _defining(factor.value)
    while op is not None and op.name in VIEWS:
        op = _defining(op.operands[0])
    if op is None or op.name in _STORED:
        return factor
    return Factor(behind_barrier(ctx, factor.value, factor.type), factor.type, factor.axes)


_STORED = ("arith.constant", "iree_tensor_ext.compute_barrier.end")


def is_constant(value: ir.Value) -> bool:
    """Return whether `value` is a compile-time constant."""
    op = _defining(value)
    return op is not None and op.name == "arith.constant"


def _defining(value: ir.Value) -> ir.Operation | None:
    """The op that defines `value`; None for an argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def converted(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, target: graph.TensorType
) -> ir.Value:
    """Convert `x` to the element type of `target`."""
    if source.dtype == target.dtype:
        return x
    return parallel(
        [x],
        [ir.AffineMap.get_identity(source.rank)],
        ctx.empty(target),
        lambda element: convert_scalar(element, source.dtype, target.dtype),
    )


def sum_of_parts(ctx: Lowering, parts: ir.Value, type_: graph.TensorType) -> ir.Value:
    """The sum of the products of a split K, ``[parts, M, N]``, of `type_`, ``[M, N]``."""
    (total,) = generic(
        [parts],
        [projection(3, [2, 0, 1])],
        [ctx.filled(type_, 0)],
        [projection(3, [0, 1])],
        ["parallel", "parallel", "reduction"],
        lambda part, total: arith.addf(total, part),
    )
    return total
