"""Caches of keys and values: writing to them in place, and attention to what is in use."""

import math
from dataclasses import replace

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph, iree
from ...mlir import arith, ir, tensor
from ..kernels.cached_attention import CachedAttentionEmitter
from ..kernels.cached_attention_shape import CachedAttentionShape
from ..kernels.cached_operands import CacheMemory
from ..kernels.extend_cache import ExtendCacheEmitter, extend_cache_shape
from ..kernels.tensor_scatter import TensorScatterEmitter, TensorScatterShape, tensor_scatter_shape
from .generic import loop_index, parallel
from .generic_contraction import converted
from .kernel_calls import Operand, define, flat_of, operands_of, run_emitter
from .lowering import Lowering, lowers, plain_type, scalar_constant
from .scratch import floats, scratch_of, uses_scratch

Value = ir.Value
_NARROWEST = 128
"""Bits of the vectors of attention for a CPU that names none."""


@lowers(graph.TensorScatterOp)
def tensor_scatter(
    ctx: Lowering,
    op: graph.TensorScatterOp,
    x: Value,
    updates: Value,
    begin: Value,
    cache_batch: Value | None,
) -> Value:
    """Write rows in the memory of `x`, of which the backend makes a copy if it is needed later."""
    shape = _scatter_shape(ctx, op)
    if shape is None:
        return _selected(ctx, op, x, updates, begin)
    del cache_batch
    batches = [] if op.cache_batch is None else [op.cache_batch]
    read = operands_of(ctx, [op.updates, op.begin, *batches, op.x])
    memory = [flat_of(type_, shape.sizes) for _, type_ in read]

    def kernel(workgroup_id: Value, *arguments: Value) -> None:
        count = len(shape.sizes)
        new, begin, *batch, held = arguments[count:]
        emitter = TensorScatterEmitter(shape, new, begin, batch[0] if batch else None, held)
        emitter.workgroup(workgroup_id, *arguments[:count])

    key = (shape, *memory)
    name = define(ctx, "tensor_scatter", key, memory, kernel, shape.flops, len(shape.sizes))
    scalars = [ctx.index(size) for size in shape.sizes]
    workgroups = shape.count_workgroups(*scalars) if scalars else shape.workgroups
    result = graph.type_of(op.result)
    return iree.run_kernel(
        name, workgroups, [value for value, _ in read], [plain_type(result)], scalars,
        ctx.dynamic_sizes(result), in_place=len(read) - 1,
    )[0]  # fmt: skip


def _scatter_shape(ctx: Lowering, op: graph.TensorScatterOp) -> TensorScatterShape | None:
    """The shape of the kernel; None if there is none for it."""
    x, updates = graph.type_of(op.x), graph.type_of(op.updates)
    if not ctx.cpu.has_vectors or ctx.gpu or graph.bit_width(x.dtype) % 8:
        return None
    shared, is_indexed = graph.type_of(op.begin).shape[0] == 1, op.cache_batch is not None
    return tensor_scatter_shape(
        x.shape, updates.shape, op.attrs["axis"], shared, is_indexed, ctx.cpu.lanes
    )


def _selected(
    ctx: Lowering, op: graph.TensorScatterOp, x: Value, updates: Value, begin: Value
) -> Value:
    """Select each element from `updates`, or from `x`."""
    type_, axis = graph.type_of(op.x), op.attrs["axis"]
    index = ir.IndexType.get()
    count = ctx.index(graph.type_of(op.updates).shape[axis])
    shared = graph.type_of(op.begin).shape[0] == 1
    zero = arith.constant(index, 0)

    def body(element: Value) -> Value:
        coordinates = [loop_index(loop) for loop in range(type_.rank)]
        first = tensor.extract(begin, [zero if shared else coordinates[0]])
        row = arith.subi(coordinates[axis], arith.index_cast(index, first))
        inside = arith.cmpi(arith.CmpIPredicate.ult, row, count)
        coordinates[axis] = arith.select(inside, row, zero)
        return arith.select(inside, tensor.extract(updates, coordinates), element)

    identity = ir.AffineMap.get_identity(type_.rank)
    return parallel([x], [identity], ctx.empty(type_), body)


@lowers(graph.ExtendCacheOp)
def extend_cache(ctx: Lowering, op: graph.ExtendCacheOp, *operands: Value) -> Value:
    """Extend a cache that `graph-expand-cached-attention` left for the kernel."""
    del operands
    past, new, result = (graph.type_of(x) for x in (op.past, op.new, op.result))
    axis, shared = op.attrs["axis"], graph.type_of(op.begin).shape[0] == 1
    lanes = ctx.cpu.lanes * 4 // past.dtype.itemsize
    shape = extend_cache_shape(
        past.shape, new.shape[axis], result.shape[axis], axis, shared, max(lanes, 1)
    )
    read = operands_of(ctx, [op.past, op.new, op.begin])
    return run_emitter(
        ctx, "extend_cache", shape, (), read, [result], shape.sizes,
        lambda *buffers: ExtendCacheEmitter(shape, *buffers),
    )  # fmt: skip


@lowers(graph.ReadCacheOp)
def read_cache(
    ctx: Lowering, op: graph.ReadCacheOp, x: Value, lengths: Value, cache_batch: Value | None
) -> Value:
    """Copy the rows in use. `graph-share-cache-buffer` leaves it where a kernel cannot read the
    cache itself."""
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    index, signed = ir.IndexType.get(), arith.CmpIPredicate
    axis, shared = op.attrs["axis"], graph.type_of(op.lengths).shape[0] == 1
    size, room = ctx.index(result.shape[axis]), ctx.index(source.shape[axis])
    zero, one = arith.constant(index, 0), arith.constant(index, 1)
    last_batch = arith.subi(ctx.index(source.shape[0]), one)
    nothing = scalar_constant(0, source.dtype)

    def body() -> Value:
        coordinates = [loop_index(loop) for loop in range(result.rank)]
        batch = coordinates[0]
        length = arith.index_cast(index, tensor.extract(lengths, [zero if shared else batch]))
        row = arith.subi(arith.addi(coordinates[axis], length), size)
        inside = arith.andi(arith.cmpi(signed.sge, row, zero), arith.cmpi(signed.slt, row, room))
        coordinates[axis] = arith.select(inside, row, zero)
        if cache_batch is not None:
            number = arith.index_cast(index, tensor.extract(cache_batch, [batch]))
            coordinates[0] = arith.maxsi(arith.minsi(number, last_batch), zero)
        return arith.select(inside, tensor.extract(x, coordinates), nothing)

    return parallel([], [], ctx.empty(result), body)


@lowers(graph.CachedAttentionOp)
def cached_attention(ctx: Lowering, op: graph.CachedAttentionOp, *operands: Value | None) -> Value:
    """Compute an attention that `graph-expand-cached-attention` left for the kernel."""
    del operands
    shape = _attention_shape(op, ctx.cpu, ctx.threads)
    mask = None if op.mask is None else _float_mask(ctx, op.mask)
    sink = None if op.sink is None else operands_of(ctx, [op.sink])[0]
    batches = None if op.cache_batch is None else operands_of(ctx, [op.cache_batch])[0]
    optional = (mask, sink, batches)
    given = [x for x in optional if x is not None]
    read = [*operands_of(ctx, [op.q, op.k, op.v, op.past, op.last]), *given]
    results = [graph.type_of(op.result), *scratch_of(op, ctx.cpu)]

    def make_emitter(*buffers: Value) -> CachedAttentionEmitter:
        own, more, written = buffers[:5], iter(buffers[5 : len(read)]), buffers[len(read) :]
        optionals = (None if x is None else next(more) for x in optional)
        return CachedAttentionEmitter(shape, CacheMemory(*own, *optionals, *written))

    return run_emitter(ctx, "cached_attention", shape, (), read, results, shape.sizes, make_emitter)


def _float_mask(ctx: Lowering, mask: Value) -> Operand:
    """A mask in f32, to be added to the scores."""
    type_, value = graph.type_of(mask), ctx.values[mask]
    wide = type_.with_dtype(np.float32)
    if type_.dtype != np.bool_:
        return (value if type_ == wide else converted(ctx, value, type_, wide)), wide
    zero, hidden = (scalar_constant(x, wide.dtype) for x in (0, -np.inf))
    identity = ir.AffineMap.get_identity(type_.rank)
    return parallel(
        [value], [identity], ctx.empty(wide), lambda seen: arith.select(seen, zero, hidden)
    ), wide


@uses_scratch(graph.CachedAttentionOp)
def cached_attention_scratch(op: graph.CachedAttentionOp, cpu: CpuModel) -> list[graph.TensorType]:
    """Scores and blocks of all workgroups, as many elements for any number of threads."""
    return [floats(_attention_shape(op, cpu, 1).scratch)]


def _attention_shape(
    op: graph.CachedAttentionOp, cpu: CpuModel, threads: int
) -> CachedAttentionShape:
    q, k, v = (graph.type_of(value).shape for value in (op.q, op.k, op.v))
    cpu = cpu if cpu.has_vectors else replace(cpu, vector_bits=_NARROWEST)
    features, width = graph.static_size(q[3]), graph.static_size(v[3])
    one_past, one_last = (graph.type_of(x).shape[0] == 1 for x in (op.past, op.last))
    return CachedAttentionShape(
        q[0], graph.static_size(q[1]), graph.static_size(k[1]), q[2], k[2], features, width,
        op.attrs["scale"], op.attrs["softcap"], op.attrs["left"], op.attrs["right"],
        one_past, one_last, None if op.mask is None else graph.type_of(op.mask).shape,
        op.sink is not None, None if op.cache_batch is None else graph.type_of(op.k).shape[0],
        math.gcd(features, width, cpu.lanes), cpu, threads, graph.type_of(op.k).dtype.itemsize == 2,
    )  # fmt: skip
