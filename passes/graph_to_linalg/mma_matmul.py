"""Matmuls and convolutions by the kernel for tensor cores (`kernels.mma_matmul`), with the
elementwise ops that follow."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...dialects import graph, iree
from ...dialects.locations import node_name
from ...mlir import ir
from ..infra.query import constant_array, producer
from ..kernels.mma_matmul import MmaMatmulEmitter, MmaShape
from ..kernels.mma_tiles import (
    ODD_ROWS,
    CopiedImage,
    conv_shape,
    copied_image,
    matmul_shape,
    with_warpgroups,
)
from ..kernels.thread_emitter import Prepare
from ..kernels.wgmma_matmul import WgmmaMatmulEmitter, WgmmaTile
from .generic_contraction import Factor, converted, sum_of_parts, untransposed
from .image_vectors import image_in_vectors
from .kernel_calls import define, flat
from .lowering import Lowering, plain_type
from .movement import reshape_tensor
from .operands import Operand, known, operand
from .padding import padded_axes
from .thread_epilogue import F32, Steps, ThreadEpilogue

_Product = graph.MatmulOp | graph.ConvOp


def multiply_on_tensor_cores(ctx: Lowering, op: graph.GraphOp, steps: Steps) -> ir.Value | None:
    """Build a matmul or convolution and the elementwise `steps` on its result.

    None if the kernel does not compute it, or a step reads what is neither of the result's size nor
    one value for each column.
    """
    if not ctx.mma_sync or not isinstance(op, _Product):
        return None
    is_conv = isinstance(op, graph.ConvOp)
    shape = conv_shape(op, ctx.tf32) if is_conv else matmul_shape(op, ctx.tf32)
    built = shape if isinstance(shape, str) else _built(ctx, op, shape, steps)
    statistics, node = ctx.statistics("mma-matmul"), node_name(op.operation)
    if isinstance(built, str):
        statistics.record_declined(node, built)
        return None
    statistics.record_fired(node)
    return built


def _built(ctx: Lowering, op: _Product, shape: MmaShape, steps: Steps) -> ir.Value | str:
    """The result of the kernel, or the reason why there is none."""
    shape = replace(shape, k_innermost=_is_k_innermost(ctx, op, shape))
    if ctx.warpgroups:
        shape = with_warpgroups(shape)
    if not shape.right.copied:
        return ODD_ROWS
    total = op.operation.results[0]
    if shape.parts > 1:
        return (
            "K is split, and the ops that follow are computed with the sum"
            if steps
            else (_in_parts(ctx, op, shape))
        )
    result = steps[-1].operation.results[0] if steps else total
    epilogue = ThreadEpilogue.of(total, steps, graph.type_of(result))
    if epilogue is None:
        return "what follows reads a value that broadcasts along columns"
    return _run(ctx, op, shape, epilogue)


def _run(ctx: Lowering, op: _Product, shape: MmaShape, epilogue: ThreadEpilogue) -> ir.Value:
    """Run the kernel and its epilogue."""
    others = [ctx.values[value] for value in epilogue.memory]
    result = plain_type(epilogue.result)
    return _call(ctx, op, shape, epilogue.key, others, result, epilogue.preparation)


def _call(
    ctx: Lowering,
    op: _Product,
    shape: MmaShape,
    key: object,
    others: Sequence[ir.Value],
    result: ir.RankedTensorType,
    preparation: Callable[[MmaMatmulEmitter, Sequence[ir.Value]], Prepare],
) -> ir.Value:
    """Call the kernel on the operands of `op` and `others`. `preparation` receives its emitter and
    the buffers of `others` and the result."""
    operands = [*_operands(ctx, op, shape), *others]

    results = [result, *_scratch(shape)]

    def kernel(number: ir.Value, *buffers: ir.Value) -> None:
        left, right, *others = buffers
        if isinstance(shape.tile, WgmmaTile):
            scratch = others.pop() if len(results) > 1 else None
            emitter = WgmmaMatmulEmitter(shape, left, right, scratch)
        else:
            emitter = MmaMatmulEmitter(shape, left, right)
        emitter.workgroup(number, preparation(emitter, others))

    memory = [flat(each) for each in (*(operand.type for operand in operands), *results)]
    threads = shape.tile.threads
    name = define(ctx, "mma", (shape, key), memory, kernel, shape.flops, threads=threads)
    return iree.run_kernel(name, shape.workgroups, operands, results)[0]


def _scratch(shape: MmaShape) -> list[ir.RankedTensorType]:
    """The memory that the kernel needs beside its result."""
    if not isinstance(shape.tile, WgmmaTile) or not any(shape.tile.bulk):
        return []
    i8 = ir.IntegerType.get_signless(8)
    return [ir.RankedTensorType.get([shape.tile.scratch_bytes(shape.workgroups)], i8)]


def _copied(op: _Product, shape: MmaShape) -> CopiedImage | None:
    """The image that windows are copied from, if that is not the operand."""
    if isinstance(op, graph.MatmulOp):
        return None
    assert shape.windows is not None
    return copied_image(op, shape.windows)


def _is_k_innermost(ctx: Lowering, op: _Product, shape: MmaShape) -> bool:
    """Return whether K is innermost in the right operand as it is in memory."""
    return _copied(op, shape) is not None or _transposed(ctx, op) is not None


def _operands(ctx: Lowering, op: _Product, shape: MmaShape) -> tuple[ir.Value, ir.Value]:
    """The operands in memory."""
    copied = _copied(op, shape)
    if isinstance(op, graph.MatmulOp) or copied is None:
        left, right = _sides(op)
        return ctx.values[left], _transposed(ctx, op) or ctx.values[right]
    image = image_in_vectors(ctx, op.x, copied.low, copied.sizes)
    *kernel, _, filters = range(graph.type_of(op.w).rank)
    weights = _constant(ctx, op.w) or operand(ctx, op.w, ctx.values[op.w])
    weights = weights.transposed([filters, *kernel, filters - 1])
    *_, taps, channels = graph.type_of(op.w).static_shape[:-1]
    high = [*[0] * (filters - 1), copied.taps - taps, copied.sizes[-1] - channels]
    if weights.array is not None:
        padded = np.pad(weights.array, [(0, size) for size in high])
        return image, known(ctx, padded).value
    return image, padded_axes(weights, [0] * len(high), high, 0).value


def _constant(ctx: Lowering, value: ir.Value) -> Operand | None:
    """The data of a constant, possibly transposed; None for others."""
    transpose = producer(value, graph.TransposeOp)
    array = constant_array(value if transpose is None else transpose.x)
    if array is None:
        return None
    return known(ctx, array if transpose is None else array.transpose(transpose.attrs["perm"]))


def _sides(op: _Product) -> tuple[ir.Value, ir.Value]:
    return (op.a, op.b) if isinstance(op, graph.MatmulOp) else (op.x, op.w)


def _transposed(ctx: Lowering, op: _Product) -> ir.Value | None:
    """The tensor in memory of which the right operand is the transpose, ``[batch..., N, K]`` or
    ``[N, K...]``; None if it is in memory itself."""
    right = _sides(op)[1]
    type_ = graph.type_of(right)
    stored = untransposed(Factor(ctx.values[right], type_, list(range(type_.rank))))
    last = type_.rank - 1
    batch = range(type_.rank - 2 if isinstance(op, graph.MatmulOp) else 0)
    inner = [axis for axis in range(last) if axis not in batch]
    wanted = [axis for axis in (*batch, last, *inner) if type_.shape[axis] != 1]
    read = [axis for axis in stored.axes if axis is not None and type_.shape[axis] != 1]
    is_transposed = read == wanted and wanted != sorted(wanted)
    return stored.value if is_transposed else None


def _in_parts(ctx: Lowering, op: _Product, shape: MmaShape) -> ir.Value:
    """Build a split-K matmul: the matmuls of the parts of K, then their sum."""
    result = graph.type_of(op.operation.results[0])
    wide = graph.TensorType((shape.m, shape.n), F32)
    parts = wide.with_shape((shape.parts, *wide.shape))

    def preparation(emitter: MmaMatmulEmitter, buffers: Sequence[ir.Value]) -> Prepare:
        return lambda at, *_: lambda vector_: emitter.store(vector_, buffers[0], at)

    y = _call(ctx, op, shape, "parts", [], plain_type(parts), preparation)
    narrow = wide.with_dtype(result.dtype)
    total = converted(ctx, sum_of_parts(ctx, y, wide), wide, narrow)
    return reshape_tensor(ctx, total, narrow, result)
