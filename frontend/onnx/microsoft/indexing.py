"""Rows of quantized tables."""

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import UnsupportedError
from ..operators.quantization import dequantize
from ..operators.shapes import normalize_axis
from .quantized_matmul import dequantized, unpacked
from .registry import microsoft_op


@microsoft_op("GatherBlockQuantized")
def gather_block_quantized(
    data, indices, scales, zero_points=None,
    *, bits=4, block_size=128, gather_axis=0, quantize_axis=1,
):  # fmt: skip
    """Slices of `data`, dequantized by blocks along `quantize_axis`; zeros for indices outside.

    Bytes hold 8 / `bits` numbers along the last axis.
    """
    rank = graph.type_of(data).rank
    axis, blocked = (normalize_axis(a, rank) for a in (gather_axis, quantize_axis))
    packed = graph.type_of(data).dtype == np.uint8
    if packed and bits not in (2, 4, 8):
        raise graph.TypeRuleError(f"{bits} bits")
    parts: list[ir.Value | None] = [data, scales, zero_points]
    extent = graph.type_of(data).shape[axis]
    inside, clamped = _inside(indices, extent)
    before = axis != blocked and graph.type_of(scales).shape[axis] == extent
    if before:
        parts = [x if x is None else graph.gather(x, clamped, axis=axis) for x in parts]
        blocked = blocked if blocked < axis else blocked + graph.type_of(indices).rank - 1
    y = _dequantized(parts, blocked, block_size, bits if packed else None)
    y = y if before else graph.gather(y, clamped, axis=axis)
    shape = [1] * axis + [*graph.type_of(indices).shape] + [1] * (rank - axis - 1)
    return graph.where(graph.reshape(inside, shape=shape), y, graph.splat_like(0, y))


def _inside(indices: ir.Value, extent: int | Dim) -> tuple[ir.Value, ir.Value]:
    """A mask of the indices that are in range, and the indices with 0 for the others."""
    indices = graph.cast(indices, to=np.int64)
    size = graph.size_scalar(extent)
    inside = graph.and_(graph.greater_or_equal(indices, graph.neg(size)), graph.less(indices, size))
    return inside, graph.where(inside, indices, graph.splat_like(0, indices))


def _dequantized(
    parts: list[ir.Value | None], axis: int, block_size: int, bits: int | None
) -> ir.Value:
    """Data by its scales and zero points, which each serve a block along `axis`."""
    data, scales, zeros = parts
    assert data is not None
    assert scales is not None
    if bits is not None:
        data = unpacked(data, bits)
        zeros = None if zeros is None else _first(unpacked(zeros, bits), scales)
    extent = graph.type_of(data).shape[axis]
    if not isinstance(extent, int):
        raise UnsupportedError("blocks along an axis of unknown size")
    block = graph.constant(value=np.arange(extent) // (block_size or extent))
    scales = graph.gather(scales, block, axis=axis)
    zeros = None if zeros is None else graph.gather(zeros, block, axis=axis)
    if bits is not None:
        return dequantized(data, scales, zeros, bits)
    return dequantize(data, scales, zeros, graph.type_of(scales).dtype)


def _first(x: ir.Value, like: ir.Value) -> ir.Value:
    """The leading part of `x` with the shape of `like`."""
    shape = graph.type_of(like).shape
    return graph.slice_(x, starts=[0] * len(shape), sizes=shape, steps=[1] * len(shape))


@microsoft_op("TorchEmbedding")
def torch_embedding(weight, indices, padding_idx=None, scale_grad_by_freq=None):
    """Rows of `weight`; the other inputs concern its gradient."""
    del padding_idx, scale_grad_by_freq
    return graph.gather(weight, indices, axis=0)
