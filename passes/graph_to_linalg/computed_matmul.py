"""Calls of the kernel that multiplies computed matrices, on CPUs that kernels are written for
(`kernels.computed_matmul`).

IREE's code for matmuls has tiles of many rows, and copies a transposed right matrix or gathers from
it: a row by 768x3072 took three times as long, and by 3072x768 transposed, in a program of named
sizes, twelve times. Its tiles divide the columns evenly, if they can, so that columns without good
divisors have poor tiles.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim, ceildiv
from ...mlir import arith, ir
from ..infra.query import constant_array, producer
from ..kernels.computed_matmul import ComputedMatmulEmitter
from ..kernels.computed_matmul_shape import ComputedMatmulShape, Size, is_packed
from ..kernels.pack_matrix import PackMatrixEmitter
from .kernel_calls import define, flat_of
from .lowering import Lowering, plain_type

FEW_ROWS = 8
"""Rows below which IREE's tiles are mostly empty."""
FEW_COLUMNS = 16
"""Columns below which they are faster: it has tiles of so few columns."""
TILE_COLUMNS = 32
"""A divisor of the columns for which IREE has good tiles: 400x64x400 took 1.7 times as long as by
the kernel, and 100x256x20 1.4 times, but 128x64x128 0.97 times."""
LONG_K = 512
"""Elements of a row of the left matrix from which packing the right one pays: 1024x1024x1024 took
1.14 times as long by IREE's tiles."""


def multiply_computed(
    ctx: Lowering, op: graph.MatmulOp, a: ir.Value, b: ir.Value
) -> ir.Value | None:
    """Build the matmul by the kernel; None if it does not compute `op`. The report says why."""
    if not _has_kernels(ctx):
        return None
    statistics, node = ctx.statistics("computed-matmul"), node_name(op.operation)
    reason = _reason_against(op)
    if reason is not None:
        statistics.record_declined(node, reason)
        return None
    statistics.record_fired(node)
    left, right, result = (graph.type_of(v) for v in (op.a, op.b, op.result))
    batch, of_left, of_right = _batches(left, right, result)
    rows, columns = left.shape[-2], result.shape[-1]
    if all(size == 1 for size in of_right):
        rows, batch, of_left, of_right = rows * graph.element_count(batch), (), (), ()
    transposed = _transposed_matrix(op.b)
    if transposed is not None:
        b, right = ctx.values[transposed], graph.type_of(transposed)
    operands = [(a, left), (b, right)]
    if columns == 1:  # the columns are the rows of its transpose
        operands.reverse()
        rows, columns, of_left, of_right = columns, rows, of_right, of_left
    is_transposed = transposed is not None or rows == 1 == result.shape[-1]
    shape = ComputedMatmulShape(
        batch, of_left, of_right, rows, left.shape[-1], columns, is_transposed, ctx.cpu
    )
    return _run(ctx, shape, operands, result)


def reads_transposed(op: graph.MatmulOp) -> bool:
    """Return whether the kernel computes `op`, where there are kernels, and reads its right
    operand, the result of a transpose, as it was before that."""
    return _transposed_matrix(op.b) is not None and _reason_against(op) is None


def _has_kernels(ctx: Lowering) -> bool:
    return ctx.cpu.has_vectors and not (ctx.gpu or ctx.in_kernel)


def _transposed_matrix(b: ir.Value) -> ir.Value | None:
    """The operand of the transpose that makes `b` of its rows as columns; None if there is none."""
    op = producer(b, graph.TransposeOp)
    if op is None:
        return None
    perm = list(op.attrs["perm"])
    swapped = [*range(len(perm) - 2), len(perm) - 1, len(perm) - 2]
    return op.x if perm == swapped else None


def _reason_against(op: graph.MatmulOp) -> str | None:
    left, right, result = (graph.type_of(v) for v in (op.a, op.b, op.result))
    if left.dtype != np.float32:
        return "only f32 is multiplied by it"
    if 0 in (*left.shape, *right.shape):
        return "there is nothing to multiply"
    if constant_array(op.b) is not None:
        return "its weights are known, and too small to be packed"
    rows, k, columns = left.shape[-2], left.shape[-1], result.shape[-1]
    if columns == 1:
        return None
    if all(size == 1 for size in right.shape[:-2]):
        rows = graph.element_count(left.shape[:-1])
    if isinstance(rows, int) and rows < FEW_ROWS:
        return None
    if isinstance(columns, int) and columns < FEW_COLUMNS:
        return "the columns fill no vector"
    if not (isinstance(rows, int) and isinstance(k, int) and isinstance(columns, int)):
        return None
    if columns % TILE_COLUMNS == 0 and k < LONG_K:
        return "there are rows enough for the backend's tiles, which divide the columns"
    return None


def _batches(
    left: graph.TensorType, right: graph.TensorType, result: graph.TensorType
) -> list[tuple[Size, ...]]:
    """The leading sizes of the result and, filled up by ones, of the operands; those that neither
    operand repeats are one."""
    count = result.rank - 2
    padded = [(1,) * (count + 2 - t.rank) + tuple(t.shape[:-2]) for t in (left, right)]
    whole = tuple(result.shape[:-2])
    merged: list[list[Size]] = [[], [], []]
    before: tuple[bool, ...] | None = None
    for sizes in zip(whole, *padded, strict=True):
        if sizes == (1, 1, 1):
            continue
        kind = tuple(size == sizes[0] for size in sizes)
        plain = all(is_own or size == 1 for is_own, size in zip(kind, sizes, strict=True))
        if plain and kind == before:
            for each, size in zip(merged, sizes, strict=True):
                each[-1] = each[-1] * size
        else:
            for each, size in zip(merged, sizes, strict=True):
                each.append(size)
        before = kind if plain else None
    return [tuple(each) for each in merged]


def _run(
    ctx: Lowering,
    shape: ComputedMatmulShape,
    operands: Sequence[tuple[ir.Value, graph.TensorType]],
    result: graph.TensorType,
) -> ir.Value:
    sizes = (*shape.batch, *shape.left, *shape.right, shape.rows, shape.k, shape.columns)
    (left, left_type), (right, right_type) = operands
    in_types = (s for t in (left_type, right_type, result) for s in t.shape)
    names = list(dict.fromkeys(s for s in (*sizes, *in_types) if isinstance(s, Dim)))
    anonymous = tuple(("size", names.index(s)) if isinstance(s, Dim) else s for s in sizes)
    key = (anonymous, len(shape.batch), shape.is_transposed)
    memory = [flat_of(type_, names) for type_ in (left_type, right_type, result)]
    values, scalars = [left, right], [ctx.index(size) for size in names]
    if shape.may_pack:
        values.append(_packed(ctx, shape, key, names, right, memory[1]))
        memory.insert(2, iree.Buffer(memory[0].element, 1, (len(names),)))
        scalars.append(_elements(ctx, shape, _packed_panels(ctx, shape)))

    def kernel(workgroup_id: ir.Value, *arguments: ir.Value) -> None:
        known = dict(zip(names, arguments, strict=False))
        a, b, *packed, y = arguments[len(scalars) :]
        value = _values_of(known)
        ComputedMatmulEmitter(shape, value, a, b, y, *packed).workgroup(workgroup_id)

    name = define(ctx, "computed_matmul", (key, *memory), memory, kernel, shape.flops, len(scalars))
    row_blocks, column_blocks = shape.blocks(
        *(ctx.index(size) for size in (shape.rows, shape.k, shape.columns))
    )
    matrices = ctx.index(graph.element_count(shape.batch))
    count = arith.muli(matrices, arith.muli(row_blocks, column_blocks))
    return iree.run_kernel(
        name, count, values, [plain_type(result)], scalars, ctx.dynamic_sizes(result)
    )[0]


def _packed(
    ctx: Lowering,
    shape: ComputedMatmulShape,
    key: object,
    names: Sequence[Dim],
    right: ir.Value,
    source: iree.Buffer,
) -> ir.Value:
    """The packed panels of `right`: none if there are few rows."""
    memory = [source, iree.Buffer(source.element, 1, (len(names),))]

    def kernel(workgroup_id: ir.Value, *arguments: ir.Value) -> None:
        known = dict(zip(names, arguments, strict=False))
        buffers = arguments[len(names) + 1 :]
        PackMatrixEmitter(shape, _values_of(known), *buffers).workgroup(workgroup_id)

    name = define(ctx, "pack_matrix", (key, *memory), memory, kernel, 0, len(names) + 1)
    panels = _packed_panels(ctx, shape)
    elements, known = _elements(ctx, shape, panels), _known_elements(shape)
    # the backend may compute constants, whose types it wants to be static
    size = ir.ShapedType.get_dynamic_size() if known is None else known
    type_ = ir.RankedTensorType.get([size], source.element)
    scalars = [*(ctx.index(size) for size in names), elements]
    sizes = [elements] if known is None else []
    return iree.run_kernel(name, panels, [right], [type_], scalars, sizes)[0]


def _known_elements(shape: ComputedMatmulShape) -> int | None:
    """The elements of all packed panels; None if they depend on the run."""
    panels = ceildiv(shape.columns, shape.panel) * graph.element_count(shape.right)
    elements = panels * shape.k * shape.panel
    return elements if isinstance(elements, int) and isinstance(shape.rows, int) else None


def _packed_panels(ctx: Lowering, shape: ComputedMatmulShape) -> ir.Value:
    """The packed panels of all matrices; 0 if there are few rows."""
    panels = arith.ceildivui(ctx.index(shape.columns), _index(shape.panel))
    panels = arith.muli(ctx.index(graph.element_count(shape.right)), panels)
    if isinstance(shape.rows, int):
        return panels
    return arith.select(is_packed(ctx.index(shape.rows)), panels, _index(0))


def _elements(ctx: Lowering, shape: ComputedMatmulShape, panels: ir.Value) -> ir.Value:
    """The elements of packed `panels`."""
    return arith.muli(arith.muli(panels, ctx.index(shape.k)), _index(shape.panel))


def _values_of(known: Mapping[Dim, ir.Value]) -> Callable[[Size], ir.Value]:
    def value(size: Size) -> ir.Value:
        return known[size] if isinstance(size, Dim) else _index(size)

    return value


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
