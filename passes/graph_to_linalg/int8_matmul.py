"""Calls of the kernels that multiply 8-bit integers."""

import math
from dataclasses import replace

import numpy as np

from ...dialects import graph
from ...dialects.locations import node_name
from ...mlir import ir
from ..infra.query import constant_array
from ..kernels.amx import TILES_INT8
from ..kernels.amx_conv import AmxConvEmitter, AmxConvShape
from ..kernels.amx_matmul import AmxMatmulEmitter, AmxMatmulShape
from ..kernels.balanced_blocks import BLOCK_LINES, balance
from ..kernels.direct_conv_shape import in_segments
from ..kernels.epilogue import VectorEpilogue
from ..kernels.group_dot import (
    INT8_DOTS,
    DotInstruction,
    GroupDot,
    WideningDot,
    exceeds_pairs,
)
from ..kernels.int8_direct_conv import Int8DirectConvEmitter, Int8DirectConvShape, border_words
from ..kernels.int8_matmul import QuadsMatmulShape, WordsMatmulEmitter
from ..kernels.pack_int8 import PackInt8, PackInt8Emitter
from ..kernels.split_bytes import SplitBytes, SplitBytesEmitter
from ..kernels.vnni_matmul import VnniMatmulEmitter
from .direct_convolution import along_axes, dynamic_sizes_of, extents_of, planes_of
from .image_extents import known_extents
from .kernel_calls import Operand, compute, run_emitter
from .kernel_rules import always, lowers_with_epilogue
from .lowering import Lowering, lowers
from .operands import constant_tensor
from .packed_matmul import row_count
from .rows import row_chunks

WINDOW_TAPS = 8
"""Taps of a row of a depthwise kernel that are multiplied four at a time, at most."""

MOST_EXACT = 1 / 4
"""Share of the lines of weights that may exceed pairs (`exceeds_pairs`), at most, for the others to
be multiplied in pairs: each of them is a branch that is hard to predict."""

FEW_EXACT = 1 / 50
"""Share of these lines up to which they take less time than shuffles for all lines."""

MANY_ROWS = 4
"""Rows of a matmul from which on shuffles take less time than reading their order does."""


@lowers_with_epilogue(graph.Int8MatmulOp, narrows=always)
def int8_matmul(ctx: Lowering, op: graph.Int8MatmulOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a matmul of 8-bit integers and its `epilogue`."""
    known, sizes = row_count(op)
    _, groups, width, group = graph.type_of(op.w).static_shape
    if op.attrs["unit"] == "amx":
        columns = op.attrs["columns"]
        tiles = AmxMatmulShape(known, group * groups, columns, ctx.cpu, dot=TILES_INT8)
        return compute(ctx, AmxMatmulEmitter, "amx_int8_matmul", tiles, op, epilogue, sizes=sizes)
    dot, beside, weights = _dot_of(ctx, op, shuffles=known is None or known >= MANY_ROWS)
    shape = QuadsMatmulShape(
        known, groups, op.attrs["columns"],
        nr=width, lanes=dot.lanes, mr=op.attrs["mr"], cpu=ctx.cpu, dot=dot,
        factors=_factors(op, group * groups),
    )  # fmt: skip
    words = op.x_bytes == 2
    emitter, family = (
        (WordsMatmulEmitter, "int8_words_matmul") if words else (VnniMatmulEmitter, "int8_matmul")
    )
    return compute(
        ctx, emitter, family, shape, op, epilogue, sizes=sizes, beside=beside, weights=weights
    )


@lowers_with_epilogue(graph.Int8DirectConvOp, narrows=always)
def int8_direct_conv(
    ctx: Lowering, op: graph.Int8DirectConvOp, epilogue: VectorEpilogue
) -> ir.Value:
    """Compute a direct convolution of 8-bit integers and its `epilogue`."""
    if op.attrs["unit"] == "amx":
        tiles = _tiles_shape(ctx, op)
        return compute(ctx, AmxConvEmitter, "amx_int8_conv", tiles, op, epilogue)
    attrs, sizes = op.attrs, dynamic_sizes_of(op)
    (*image, _), result = extents_of(op)
    _, *kernel, quads, width, group = graph.type_of(op.w).static_shape
    has_border = op.border != 0 and any((*attrs["low"], *attrs["high"]))
    dot, beside, weights = _dot_of(ctx, op)
    if has_border:
        beside = [*beside, _constant(border_words(op.border, op.x_bytes))]
    shape = Int8DirectConvShape(
        known_extents((*image, attrs["groups"] * quads)), known_extents(result),
        along_axes(kernel, 1), along_axes(attrs["strides"], 1), along_axes(attrs["dilations"], 1),
        along_axes(attrs["low"], 0), nr=width, groups=attrs["groups"], tile_w=attrs["tile_w"],
        lanes=attrs["lanes"], dot=dot,
        has_border=has_border,
        factors=_factors(op, attrs["groups"] * quads * group), planes=planes_of(op),
        x_bytes=op.x_bytes,
    )  # fmt: skip
    windowed = _windowed_weights(op)
    if windowed is not None:
        shape, weights = replace(shape, is_windowed=True), windowed
    shape = in_segments(shape, ctx.cpu, shape.group * shape.image[3] * op.x_bytes)
    return compute(
        ctx, Int8DirectConvEmitter, "int8_direct_conv", shape, op, epilogue, sizes=sizes,
        beside=beside, weights=weights,
    )  # fmt: skip


def _windowed_weights(op: graph.Int8DirectConvOp) -> Operand | None:
    """The weights of a depthwise convolution with groups of adjacent taps; None if it is another
    one, or if windows of adjacent pixels are not what they multiply."""
    array, dot = constant_array(op.w), INT8_DOTS[op.unit]
    if array is None or array.shape[-1] == dot.size or not isinstance(dot, DotInstruction):
        return None
    width = array.shape[-4]
    if op.dilations[-1] != 1 or not 1 < width <= WINDOW_TAPS:
        return None
    filled = np.pad(
        array[..., 0, :, 0], [(0, 0)] * (array.ndim - 4) + [(0, -width % dot.size), (0, 0)]
    )
    groups = filled.reshape(*filled.shape[:-2], -1, dot.size, filled.shape[-1])
    return _constant(np.ascontiguousarray(np.moveaxis(groups, -2, -1)))


def _constant(array: np.ndarray) -> Operand:
    return constant_tensor(array), graph.TensorType(array.shape, array.dtype)


@lowers(graph.SplitBytesOp)
def split_bytes(ctx: Lowering, op: graph.SplitBytesOp, x: ir.Value) -> ir.Value:
    """Split words into bytes, which what follows multiplies."""
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    rows, sizes = row_chunks(source, source.rank - 1)
    shape = SplitBytes(rows)
    return run_emitter(
        ctx, "split_bytes", shape, (), [(x, source)], [result], sizes,
        lambda *buffers: SplitBytesEmitter(shape, *buffers),
    )  # fmt: skip


@lowers(graph.PackInt8Op)
def pack_int8(ctx: Lowering, op: graph.PackInt8Op, w: ir.Value) -> ir.Value:
    """Pack weights that are computed."""
    type_, result = graph.type_of(op.w), graph.type_of(op.result)
    shape = PackInt8(*type_.static_shape, width=op.width)
    return run_emitter(
        ctx, "pack_int8", shape, (), [(w, type_)], [result], [],
        lambda *buffers: PackInt8Emitter(shape, *buffers),
    )  # fmt: skip


def _factors(op: graph.Int8MatmulOp | graph.Int8DirectConvOp, most: int) -> int:
    """The factors of a row, or the channels of a pixel, which are `most` if nothing else is
    known."""
    size = graph.type_of(op.x).shape[-1]
    return size // op.x_bytes if isinstance(size, int) else most


def _dot_of(
    ctx: Lowering, op: graph.Int8MatmulOp | graph.Int8DirectConvOp, shuffles: bool = True
) -> tuple[GroupDot, list[Operand], Operand | None]:
    """How a kernel on vectors multiplies the weights of `op`, what it reads beside them
    (`BesideWeights`), and the weights in another order, if that is needed and `shuffles` may be."""
    dot, weights = INT8_DOTS[op.attrs["unit"]], constant_array(op.w)
    if not isinstance(dot, WideningDot) or weights is None or weights.shape[-1] != dot.size:
        return dot, [], None
    exact, found = exceeds_pairs(weights), None
    beside: list[Operand] = []
    lines = _full_lines(op, weights)
    if shuffles and exact.mean() > FEW_EXACT and lines >= BLOCK_LINES:
        blocks = balance(weights, lines)
        if blocks.exact.mean() < exact.mean():
            dot, exact = replace(dot, is_balanced=True), blocks.exact
            found, beside = _constant(blocks.weights), [_constant(blocks.order)]
    in_pairs, flags = pair_products(ctx, op, dot, exact)
    if not in_pairs.in_pairs:
        return INT8_DOTS[op.attrs["unit"]], [], None
    if flags is not None:
        beside.append(flags)
    return in_pairs, beside, found


def pair_products(
    ctx: Lowering, op: graph.GraphOp, dot: WideningDot, exact: np.ndarray
) -> tuple[WideningDot, Operand | None]:
    """How to multiply weights of which the lines `exact` may exceed pairs, and which lines these
    are, if there are any among others."""
    statistics, node = ctx.statistics("byte-pairs"), node_name(op.operation)
    if exact.mean() > MOST_EXACT:
        statistics.record_declined(node, "the sums of many pairs of products may exceed 16 bits")
        return dot, None
    statistics.record_fired(node)
    flags = _constant(exact.astype(np.int8).ravel()) if exact.any() else None
    return replace(dot, in_pairs=True), flags


def _full_lines(op: graph.Int8MatmulOp | graph.Int8DirectConvOp, weights: np.ndarray) -> int:
    """The lines of a panel, or of a tap in it, whose groups are full."""
    lines, _, size = weights.shape[-3:]
    groups = 1 if isinstance(op, graph.Int8MatmulOp) else op.attrs["groups"]
    return lines - bool(_factors(op, groups * lines * size) // groups % size)


def _tiles_shape(ctx: Lowering, op: graph.Int8DirectConvOp) -> AmxConvShape:
    """The kernel shape of a convolution on the tiles of AMX."""
    (images, height, width, _), (_, rows, pixels, features) = (
        [graph.static_size(size) for size in shape] for shape in extents_of(op)
    )
    _, *kernel, groups, _, size = graph.type_of(op.w).static_shape
    taps, image, result = along_axes(kernel, 1), (height, width), (rows, pixels)
    return AmxConvShape(
        AmxConvShape.count_positions(images, image, result), math.prod(taps) * groups * size,
        features, ctx.cpu, dot=TILES_INT8, image=image, result=result, kernel=taps,
        dilations=along_axes(op.attrs["dilations"], 1),
    )  # fmt: skip
