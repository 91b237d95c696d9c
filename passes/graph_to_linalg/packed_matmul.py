"""Calls of the matmul kernels with packed weights; im2col."""

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import arith, ir, tensor
from ..kernels.amx_matmul import AmxMatmulEmitter, AmxMatmulShape
from ..kernels.bf16_matmul import PairsMatmulShape
from ..kernels.epilogue import VectorEpilogue
from ..kernels.group_dot import DOT_BF16
from ..kernels.packed_matmul import MatmulEmitter, MatmulShape
from ..kernels.scalar_functions import compare, like
from ..kernels.vnni_matmul import VnniMatmulEmitter
from . import bfloat16
from .dispatch import behind_barrier
from .generic import generic, loop_index, parallel, projection
from .gpu_lowering_config import im2col_attribute
from .kernel_calls import compute
from .kernel_rules import lowers_with_epilogue
from .lowering import Fusion, Lowering, lowers
from .movement import extract_slice, pad_tensor, reshape_tensor


def stores_once(op: graph.PackedMatmulOp, cpu: CpuModel) -> bool:
    """Return whether the kernel of a packed matmul has one K block, and stores no partial sums."""
    return matmul_shape(op, None, cpu).k_blocks == 1


@lowers_with_epilogue(graph.PackedMatmulOp, narrows=stores_once)
def packed_matmul(ctx: Lowering, op: graph.PackedMatmulOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a packed matmul and its `epilogue`."""
    known, sizes = row_count(op)
    shape = matmul_shape(op, known, ctx.cpu)
    return compute(ctx, MatmulEmitter, "matmul", shape, op, epilogue, sizes=sizes)


def matmul_shape(op: graph.PackedMatmulOp, rows: int | None, cpu: CpuModel) -> MatmulShape:
    """The kernel shape of a packed matmul of `rows` rows, None if dynamic."""
    weights = graph.type_of(op.w)
    _, k, width = weights.static_shape
    return MatmulShape(
        rows, k, op.attrs["columns"],
        nr=width, lanes=op.attrs["lanes"], mr=op.attrs["mr"], cpu=cpu,
        element_bytes=weights.dtype.itemsize, are_pixels=rows is None and _has_named_pixels(op),
    )  # fmt: skip


def _has_named_pixels(op: graph.PackedMatmulOp) -> bool:
    """Return whether the rows are pixels of images whose heights or widths are named."""
    _, *extents, _ = graph.type_of(op.x).shape
    return len(extents) > 1 and any(isinstance(size, Dim) for size in extents)


def keeps_accumulators(op: graph.Bf16MatmulOp, cpu: CpuModel) -> bool:
    """Return whether the kernel of a bf16 matmul keeps its accumulators in registers over all of K,
    so that the result need not be f32."""
    return op.attrs["unit"] == "amx" or _pairs_shape(op, None, cpu).k_blocks == 1


@lowers_with_epilogue(graph.Bf16MatmulOp, narrows=keeps_accumulators)
def bf16_matmul(ctx: Lowering, op: graph.Bf16MatmulOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a bf16 matmul and its `epilogue`."""
    if op.attrs["unit"] == "amx":
        return _by_tiles(ctx, op, epilogue, terms=1)
    return _by_pairs(ctx, op, epilogue)


@lowers_with_epilogue(graph.Bf16x3MatmulOp)
def bf16x3_matmul(ctx: Lowering, op: graph.Bf16x3MatmulOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a matmul of bf16 terms and its `epilogue`."""
    return _by_tiles(ctx, op, epilogue, terms=2)


def _by_tiles(
    ctx: Lowering,
    op: graph.Bf16MatmulOp | graph.Bf16x3MatmulOp,
    epilogue: VectorEpilogue,
    terms: int,
) -> ir.Value:
    known, sizes = row_count(op)
    k = 2 * graph.type_of(op.w).static_shape[-3]
    shape = AmxMatmulShape(known, k, op.attrs["columns"], ctx.cpu, terms)
    return compute(ctx, AmxMatmulEmitter, "amx_matmul", shape, op, epilogue, sizes=sizes)


@lowers(graph.SplitHiLoOp, fuses=Fusion.CONSUMER)
def split_hi_lo(ctx: Lowering, op: graph.SplitHiLoOp, x: ir.Value) -> ir.Value:
    """Split each element into two bf16 terms; for infinities the second term is 0."""
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    terms_type = result.with_shape((*source.shape[:-1], 2, source.shape[-1]))
    loops = terms_type.rank

    def body(element: ir.Value) -> ir.Value:
        high = bfloat16.rounded(element)
        exact = compare("OEQ", element, high)
        low = arith.select(exact, like(0, element), arith.subf(element, high))
        first = arith.cmpi(
            arith.CmpIPredicate.eq, loop_index(loops - 2), arith.constant(ir.IndexType.get(), 0)
        )
        return arith.truncf(ir.BF16Type.get(), arith.select(first, high, low))

    axes = [*range(loops - 2), loops - 1]
    y = parallel([x], [projection(loops, axes)], ctx.empty(terms_type), body)
    return reshape_tensor(ctx, y, terms_type, result)


def _by_pairs(ctx: Lowering, op: graph.Bf16MatmulOp, epilogue: VectorEpilogue) -> ir.Value:
    known, sizes = row_count(op)
    shape = _pairs_shape(op, known, ctx.cpu)
    return compute(ctx, VnniMatmulEmitter, "bf16_matmul", shape, op, epilogue, sizes=sizes)


def _pairs_shape(op: graph.Bf16MatmulOp, rows: int | None, cpu: CpuModel) -> PairsMatmulShape:
    _, pairs, width, _ = graph.type_of(op.w).static_shape
    return PairsMatmulShape(
        rows, pairs, op.attrs["columns"],
        nr=width, lanes=DOT_BF16.lanes, mr=op.attrs["mr"], cpu=cpu,
    )  # fmt: skip


def row_count(op: graph.KernelContraction) -> tuple[int | None, list[Dim]]:
    """The rows of `x`: their static number or None, and the size of a dynamic one."""
    count = graph.element_count(graph.type_of(op.x).shape[:-1])
    return (count, []) if isinstance(count, int) else (None, [count])


@lowers(graph.Im2colOp)
def im2col(ctx: Lowering, op: graph.Im2colOp, x: ir.Value) -> ir.Value:
    """Copy every window; loops: batch, output positions, kernel, channels.

    On GPUs the result is materialized: the backend does not tile ops that gather their operands.
    """
    attrs, source, result = op.attrs, graph.type_of(op.x), graph.type_of(op.result)
    low, high = (0, *attrs["low"], 0), (0, *attrs["high"], 0)
    padded = source.with_shape(a + s + b for a, s, b in zip(low, source.shape, high, strict=True))
    if any((*low, *high)):
        x = pad_tensor(ctx, x, ctx.scalar(0, source.dtype), low, high, padded)
    x = _without_rest(ctx, x, padded, attrs, result)
    windows = source.with_shape((*result.shape[:-1], *attrs["kernel"], source.shape[-1]))
    rows = reshape_tensor(ctx, _windows(ctx, x, attrs, windows), windows, result)
    return behind_barrier(ctx, rows, result) if ctx.gpu else rows


def _without_rest(
    ctx: Lowering, x: ir.Value, padded: graph.TensorType, attrs, result: graph.TensorType
) -> ir.Value:
    """Slice `x` to the end of the last window: if an axis has one window, the backend takes it for
    the whole axis. It rejects a longer axis, or, with a dynamic batch, writes out of bounds."""
    window = zip(
        result.shape[1:-1], attrs["strides"], attrs["kernel"], attrs["dilations"], strict=True
    )
    read = [(count - 1) * stride + (size - 1) * step + 1 for count, stride, size, step in window]
    axes = zip(result.shape[1:-1], read, padded.shape[1:-1], strict=True)
    used = [
        size if isinstance(size, int) and (padded.is_static or count == 1) else whole
        for count, size, whole in axes
    ]
    kept = padded.with_shape((padded.shape[0], *used, padded.shape[-1]))
    if kept == padded or any(isinstance(size, int) and size < 1 for size in kept.shape):
        return x
    return extract_slice(ctx, x, [0] * kept.rank, kept.shape, [1] * kept.rank, kept)


def _windows(ctx: Lowering, x: ir.Value, attrs, type_: graph.TensorType) -> ir.Value:
    """The windows of a padded image, [N, out..., kernel..., C]."""
    spatial = len(attrs["kernel"])
    batch = [] if type_.shape[0] == 1 and ctx.mma_sync else [ir.AffineExpr.get_dim(0)]
    first, count = len(batch), len(batch) + 1 + 2 * spatial
    loops = [ir.AffineExpr.get_dim(i) for i in range(count)]
    taps = loops[first + spatial : first + 2 * spatial]
    positions = [
        p * s + t * d
        for p, s, t, d in zip(
            loops[first : first + spatial], attrs["strides"], taps, attrs["dilations"], strict=True
        )
    ]
    whole = type_
    if not batch:  # the backend drops loops of one step, and the tiles with them
        x, type_ = _without_batch(x), type_.with_shape(type_.shape[1:])
    (y,) = generic(
        [x],
        [ir.AffineMap.get(count, 0, [*batch, *positions, loops[-1]])],
        [ctx.empty(type_)],
        [ir.AffineMap.get_identity(count)],
        ["parallel"] * count,
        lambda element, _: element,
    )
    if ctx.mma_sync and (hint := im2col_attribute(type_, spatial)) is not None:
        ir.OpResult(y).owner.attributes["compilation_info"] = hint
    return reshape_tensor(ctx, y, type_, whole)


def _without_batch(x: ir.Value) -> ir.Value:
    """[1, spatial..., C] -> [spatial..., C]."""
    type_ = ir.RankedTensorType(x.type)
    plain = ir.RankedTensorType.get(list(type_.shape)[1:], type_.element_type)
    return tensor.collapse_shape(plain, x, [[0, 1], *[[i] for i in range(2, type_.rank)]])
