"""Triangles and diagonals of matrices: by kernels on CPUs that kernels are written for
(`kernels.triangle`), elsewhere element by element.

The backend compares positions one by one: a triangle of 1000x1000 took 3.5 times as long as in ONNX
Runtime, and an identity matrix of named sizes 12 times.
"""

from collections.abc import Callable

import numpy as np

from ...dialects import graph, iree
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, tensor
from ..kernels.triangle import BYTES, WORKGROUPS_PER_THREAD, DiagonalEmitter
from .generic import loop_index, parallel
from .kernel_calls import define, flat_of
from .lowering import Lowering, Size, lowers, plain_type, scalar_constant


@lowers(graph.TriluOp)
def trilu(ctx: Lowering, op: graph.TriluOp, x: ir.Value) -> ir.Value:
    type_, upper = graph.type_of(op.x), op.attrs["upper"]
    if 0 in type_.shape:
        return ctx.empty(type_)
    if _has_kernel(ctx, type_.dtype):
        total = graph.element_count(type_.shape[:-1])
        rows, columns = type_.shape[-2:]
        sizes = (rows, columns, op.attrs["k"], total)

        def triangle(emitter: DiagonalEmitter, workgroup: ir.Value, count: ir.Value, total) -> None:
            emitter.triangle(workgroup, count, total, upper)

        return _run(ctx, "trilu", upper, x, type_, type_, sizes, triangle)
    diagonal, zero = ctx.index(op.attrs["k"]), scalar_constant(0, type_.dtype)
    predicate = arith.CmpIPredicate.sge if upper else arith.CmpIPredicate.sle

    def element(value: ir.Value) -> ir.Value:
        distance = arith.subi(loop_index(type_.rank - 1), loop_index(type_.rank - 2))
        return arith.select(arith.cmpi(predicate, distance, diagonal), value, zero)

    return parallel([x], [ir.AffineMap.get_identity(type_.rank)], ctx.empty(type_), element)


@lowers(graph.EyeOp)
def eye(ctx: Lowering, op: graph.EyeOp, value: ir.Value) -> ir.Value:
    result = graph.type_of(op.result)
    if 0 in result.shape:
        return ctx.empty(result)
    rows, columns = result.shape
    if _has_kernel(ctx, result.dtype):
        scalar, sizes = graph.type_of(op.value), (rows, columns, op.attrs["k"], rows)

        def write(emitter: DiagonalEmitter, workgroup: ir.Value, count: ir.Value, total) -> None:
            del total
            emitter.eye(workgroup, count)

        return _run(ctx, "eye", None, value, scalar, result, sizes, write)
    diagonal, zero = ctx.index(op.attrs["k"]), scalar_constant(0, result.dtype)

    def element() -> ir.Value:
        distance = arith.subi(loop_index(1), loop_index(0))
        is_on_it = arith.cmpi(arith.CmpIPredicate.eq, distance, diagonal)
        return arith.select(is_on_it, tensor.extract(value, []), zero)

    return parallel([], [], ctx.empty(result), element)


def _has_kernel(ctx: Lowering, dtype: np.dtype) -> bool:
    if ctx.gpu or ctx.in_kernel or not ctx.cpu.has_vectors:
        return False
    return dtype == np.bool_ or (graph.bit_width(dtype) % 8 == 0 and dtype.itemsize <= 8)


def _run(
    ctx: Lowering,
    family: str,
    kind: bool | None,
    x: ir.Value,
    source: graph.TensorType,
    result: graph.TensorType,
    sizes: tuple[Size, Size, Size, Size],
    write: Callable[..., None],
) -> ir.Value:
    """Run a kernel whose code `kind` decides. `sizes` are those of rows and columns, the diagonal,
    and the rows of all matrices."""
    every = (*sizes, *source.shape, *result.shape)
    names = list(dict.fromkeys(size for size in every if isinstance(size, Dim)))
    memory = [flat_of(type_, names, first=1) for type_ in (source, result)]

    def kernel(workgroup_id: ir.Value, count: ir.Value, *arguments: ir.Value) -> None:
        known = dict(zip(names, arguments, strict=False))
        rows, columns, k, total = (
            known[size] if isinstance(size, Dim) else _index(size) for size in sizes
        )
        read, written = arguments[len(names) :]
        emitter = DiagonalEmitter(ctx.cpu.vector_bits, read, written, (rows, columns, k))
        write(emitter, workgroup_id, count, total)

    anonymous = [("size", names.index(n)) if isinstance(n, Dim) else n for n in sizes]
    key = (*anonymous, kind, str(result.dtype), *memory)
    elements = ctx.index(graph.element_count(result.shape))
    written = arith.muli(elements, ctx.index(result.dtype.itemsize))
    wanted = arith.maxui(arith.divui(written, ctx.index(BYTES)), ctx.index(1))
    count = arith.minui(wanted, ctx.index(WORKGROUPS_PER_THREAD * ctx.threads))
    scalars = [count, *map(ctx.index, names)]
    name = define(ctx, family, key, memory, kernel, 0, len(scalars))
    return iree.run_kernel(
        name, count, [x], [plain_type(result)], scalars, ctx.dynamic_sizes(result)
    )[0]


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
