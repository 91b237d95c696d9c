"""Contractions: a named op of linalg where one fits, else a generic one.

The backend reads a transposed operand through the maps of the contraction, without a copy. That
is what is wanted, but for the right operand of a matrix product: see `_columns_in_rows`.
"""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects import graph, iree
from ...mlir import arith, ir, linalg, tensor
from .elementwise import lower_elementwise
from .generic import generic, loop_index, parallel, projection
from .lowering import Lowering, Size, lowers
from .movement import reshape_tensor
from .reduction import accumulator, reduce_axes
from .scalar import convert_scalar


@lowers(graph.MatmulOp)
def matmul(ctx: Lowering, op: graph.GraphOp, a: ir.Value, b: ir.Value) -> ir.Value:
    """A matrix on the right serves all rows of the left operand at once.

    ``[..., M, K] x [K, N]`` is one product of a matrix of ``[... * M, K]``; equal batches are one
    batch; batches that broadcast are read through the maps of a generic contraction.
    """
    left, right, result = (graph.type_of(v) for v in (op.a, op.b, op.result))
    b = _columns_in_rows(ctx, op, b)
    if all(size == 1 for size in right.shape[:-2]):
        rows = graph.element_count(left.shape[:-1])
        flat = [(rows, left.shape[-1]), right.shape[-2:], (rows, result.shape[-1])]
    elif left.shape[:-2] == right.shape[:-2]:
        batch = graph.element_count(result.shape[:-2])
        flat = [(batch, *t.shape[-2:]) for t in (left, right, result)]
    else:
        return _broadcast_product(ctx, op, a, b)
    a = reshape_tensor(ctx, a, left, left.with_shape(flat[0]))
    b = reshape_tensor(ctx, b, right, right.with_shape(flat[1]))
    product = result.with_shape(flat[2])
    y = multiply(ctx, a, left.with_shape(flat[0]), b, right.with_shape(flat[1]), product)
    return reshape_tensor(ctx, y, product, result)


def is_few(rows: Size) -> bool:
    """Whether so few rows are multiplied that a matrix is not worth a copy before."""
    return isinstance(rows, int) and rows < 8


def stored(ctx: Lowering, x: ir.Value, type_: graph.TensorType) -> ir.Value:
    """`x`, of `type_`, computed and stored before what uses it."""
    sizes = [size for size in ctx.mixed(type_.shape) if isinstance(size, ir.Value)]
    return iree.optimization_barrier(x, sizes)


def _columns_in_rows(ctx: Lowering, op: graph.GraphOp, b: ir.Value) -> ir.Value:
    """`b`, copied before the product when its rows are the columns of what was computed.

    Otherwise vectors would be gathered across rows. Measured for 12x128x64x128: 1.1 ms, and with
    the copy 0.32 ms. For a few rows of `a` the copy costs more than it saves.
    """
    transpose = graph.graph_op(op.b.owner)
    rows = graph.element_count(graph.type_of(op.a).shape[:-1])
    if not isinstance(transpose, graph.TransposeOp) or is_few(rows):
        return b
    if isinstance(graph.graph_op(transpose.x.owner), graph.ConstantOp):
        return b  # the backend would copy it in every run
    *_, rows_of, columns_of = transpose.attrs["perm"]
    swaps = rows_of == len(transpose.attrs["perm"]) - 1
    return stored(ctx, b, graph.type_of(op.b)) if swaps and columns_of != rows_of else b


def multiply(
    ctx: Lowering,
    a: ir.Value,
    left: graph.TensorType,
    b: ir.Value,
    right: graph.TensorType,
    result: graph.TensorType,
) -> ir.Value:
    """``[M, K] x [K, N]``, or a batch of such; narrow floats are summed in f32."""
    signs = {graph.is_unsigned(t.dtype) for t in (left, right)}
    if len(signs) > 1:
        rank = result.rank
        batch = list(range(rank - 2))
        axes = [[*batch, rank - 2, rank], [*batch, rank, rank - 1]]
        return generic_product(ctx, [a, b], [left, right], axes, result, loops=rank + 1)
    if result.rank == 3 and result.shape[-1] == 1:
        return _by_vectors(ctx, a, left, b, right, result)
    named = linalg.matmul if result.rank == 2 else linalg.batch_matmul
    cast = linalg.TypeFn.cast_unsigned if signs == {True} else None
    return contract(ctx, functools.partial(named, cast=cast), a, b, result)


def _by_vectors(
    ctx: Lowering,
    a: ir.Value,
    left: graph.TensorType,
    b: ir.Value,
    right: graph.TensorType,
    result: graph.TensorType,
) -> ir.Value:
    """A batch of matrices by one column each, as sums over rows.

    Matrices that are computed are stored before: the backend would compute them in the loops of
    the sums, and for gathered ones finds vectors too large.
    """
    if not isinstance(a.owner, ir.Block) and a.owner.name != "arith.constant":
        a = stored(ctx, a, left)
    column = right.with_shape(right.shape[:2])
    flat = result.with_shape(result.shape[:2])
    b = reshape_tensor(ctx, b, right, column)
    y = generic_product(ctx, [a, b], [left, column], [[0, 1, 2], [0, 2]], flat, loops=3)
    return reshape_tensor(ctx, y, flat, result)


def contract(
    ctx: Lowering, build: Callable[..., Any], a: ir.Value, b: ir.Value, type_: graph.TensorType
) -> ir.Value:
    """A named contraction that gives `type_`; narrow floats are summed in f32."""
    wide = type_.with_dtype(accumulator(type_.dtype))
    product = build(a, b, outs=[ctx.filled(wide, 0)])
    y = product if isinstance(product, ir.Value) else product.operation.results[0]
    return converted(ctx, y, wide, type_)


def generic_product(
    ctx: Lowering,
    inputs: Sequence[ir.Value],
    types: Sequence[graph.TensorType],
    axes: Sequence[Sequence[int | None]],
    result: graph.TensorType,
    loops: int,
) -> ir.Value:
    """The product of `inputs` summed over the loops behind those of the result.

    ``axes[i]`` holds the loop along which each axis of input ``i`` is read, None for its first
    element. The result's axes are the first loops.
    """
    wide = result.with_dtype(accumulator(result.dtype))
    is_float = graph.is_float(wide.dtype)
    multiply_scalars, add = (arith.mulf, arith.addf) if is_float else (arith.muli, arith.addi)

    def body(*scalars: ir.Value) -> ir.Value:
        *factors, total = scalars
        product: ir.Value | None = None
        for factor, type_ in zip(factors, types, strict=True):
            factor = convert_scalar(factor, type_.dtype, wide.dtype)
            product = factor if product is None else multiply_scalars(product, factor)
        return add(total, product)

    (y,) = generic(
        inputs,
        [projection(loops, each) for each in axes],
        [ctx.filled(wide, 0)],
        [projection(loops, list(range(result.rank)))],
        ["parallel"] * result.rank + ["reduction"] * (loops - result.rank),
        body,
    )
    return converted(ctx, y, wide, result)


def converted(
    ctx: Lowering, x: ir.Value, source: graph.TensorType, target: graph.TensorType
) -> ir.Value:
    """`x` with the element type of `target`."""
    if source.dtype == target.dtype:
        return x
    return parallel(
        [x],
        [ir.AffineMap.get_identity(source.rank)],
        ctx.empty(target),
        lambda element: convert_scalar(element, source.dtype, target.dtype),
    )


def _broadcast_product(ctx: Lowering, op: graph.GraphOp, a: ir.Value, b: ir.Value) -> ir.Value:
    result = graph.type_of(op.result)
    rank = result.rank
    inputs, types, axes = [], [], []
    for value, lowered, matrix in ((op.a, a, [rank - 2, rank]), (op.b, b, [rank, rank - 1])):
        type_ = graph.type_of(value)
        skipped = rank - type_.rank
        wanted = type_.with_shape((*result.shape[skipped:-2], *type_.shape[-2:]))
        lowered, type_ = decide_broadcast(ctx, value, lowered, wanted)
        batch = [None if s == 1 else i for i, s in enumerate(type_.shape[:-2], start=skipped)]
        inputs.append(lowered)
        types.append(type_)
        axes.append([*batch, *matrix])
    return generic_product(ctx, inputs, types, axes, result, loops=rank + 1)


def decide_broadcast(
    ctx: Lowering, value: ir.Value, lowered: ir.Value, wanted: graph.TensorType
) -> tuple[ir.Value, graph.TensorType]:
    """`lowered` with axes that are 1 or those of `wanted`: others are repeated at run time.

    In memory: within a product, the backend may compile without end what is gathered so.
    """
    type_ = graph.type_of(value)
    if all(a in (1, b) for a, b in zip(type_.shape, wanted.shape, strict=True)):
        return lowered, type_
    repeated = lower_elementwise(ctx, wanted, {value: lowered}, lambda known: known[value])
    return stored(ctx, repeated, wanted), wanted


@dataclass(frozen=True)
class _Factor:
    """A tensor with a letter for each of its axes."""

    value: ir.Value
    type: graph.TensorType
    letters: str


@lowers(graph.EinsumOp)
def einsum(ctx: Lowering, op: graph.GraphOp, xs: Sequence[ir.Value]) -> ir.Value:
    """Products of two factors at a time, first those that leave the fewest axes.

    All factors at once would be one loop nest over every letter, slow to run and to compile.
    """
    terms, letters = graph.parse_equation(op.attrs["equation"])
    result = graph.type_of(op.result)
    sizes = graph.letter_sizes(terms, [graph.type_of(x).shape for x in op.xs])
    given = zip(op.xs, xs, terms, strict=True)
    factors = [_factor(ctx, value, lowered, term, sizes) for value, lowered, term in given]
    while len(factors) > 2:
        pairs = itertools.combinations(range(len(factors)), 2)
        chosen, left = min(
            ((pair, _letters_left(factors, pair, letters)) for pair in pairs),
            key=lambda option: len(option[1]),
        )
        partial = result.with_shape(sizes[letter] for letter in left)
        partial = partial.with_dtype(accumulator(result.dtype))
        product = _multiplied(ctx, [factors[i] for i in chosen], left, partial)
        factors = [f for i, f in enumerate(factors) if i not in chosen]
        factors.insert(0, _Factor(product, partial, left))
    return _multiplied(ctx, factors, letters, result)


def _factor(
    ctx: Lowering, value: ir.Value, lowered: ir.Value, term: str, sizes: Mapping[str, Size]
) -> _Factor:
    """An operand with each letter once, in its full size; axes that are repeated are dropped."""
    wanted = graph.type_of(value).with_shape(sizes[letter] for letter in term)
    lowered, type_ = decide_broadcast(ctx, value, lowered, wanted)
    if len(set(term)) < len(term):
        lowered, type_, term = _diagonal(ctx, lowered, type_, term)
    kept = [i for i, letter in enumerate(term) if type_.shape[i] != 1 or sizes[letter] == 1]
    whole = type_.with_shape(type_.shape[i] for i in kept)
    return _Factor(
        reshape_tensor(ctx, lowered, type_, whole), whole, "".join(term[i] for i in kept)
    )


def _letters_left(factors: Sequence[_Factor], pair: tuple[int, int], letters: str) -> str:
    """The letters of two factors that the result, or another factor, has as well."""
    others = "".join(f.letters for i, f in enumerate(factors) if i not in pair)
    both = dict.fromkeys("".join(factors[i].letters for i in pair))
    return "".join(letter for letter in both if letter in letters + others)


def _multiplied(
    ctx: Lowering, factors: Sequence[_Factor], letters: str, result: graph.TensorType
) -> ir.Value:
    """One generic: a parallel loop per letter of the result, a reduction loop per other letter.

    What only one of several factors sums over is summed before: the backend fails at some
    products along a loop that only one operand has.
    """
    if len(factors) > 1:
        factors = [
            _summed(ctx, f, letters + "".join(g.letters for g in factors if g is not f))
            for f in factors
        ]
    order = letters + "".join(sorted({*"".join(f.letters for f in factors)} - {*letters}))
    return generic_product(
        ctx,
        [f.value for f in factors],
        [f.type for f in factors],
        [[order.index(letter) for letter in f.letters] for f in factors],
        result,
        loops=len(order),
    )


def _summed(ctx: Lowering, factor: _Factor, wanted: str) -> _Factor:
    """`factor` without the letters that are not wanted."""
    axes = tuple(i for i, letter in enumerate(factor.letters) if letter not in wanted)
    if not axes:
        return factor
    wide = accumulator(factor.type.dtype)
    add = arith.addf if graph.is_float(wide) else arith.addi
    value = reduce_axes(ctx, factor.value, factor.type, axes, 0, add)
    type_ = factor.type.with_shape(graph.reduced_shape(factor.type.shape, axes, False))
    letters = "".join(letter for letter in factor.letters if letter in wanted)
    return _Factor(value, type_.with_dtype(wide), letters)


def _diagonal(
    ctx: Lowering, x: ir.Value, type_: graph.TensorType, term: str
) -> tuple[ir.Value, graph.TensorType, str]:
    """The elements of `x` at equal places of the axes that share a letter."""
    letters = "".join(dict.fromkeys(term))
    diagonal = type_.with_shape(type_.shape[term.index(letter)] for letter in letters)
    last = [ctx.index(size - 1) for size in type_.shape]

    def element() -> ir.Value:
        places = [loop_index(letters.index(letter)) for letter in term]
        inside = [arith.minsi(place, end) for place, end in zip(places, last, strict=True)]
        return tensor.extract(x, inside)

    return parallel([], [], ctx.empty(diagonal), element), diagonal, letters
