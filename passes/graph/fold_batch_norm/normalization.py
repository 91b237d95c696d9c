"""Batch normalisation with constant statistics."""

from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import constant_array
from ...infra.rewrite import Rewrite
from ..affine_op import Linear, channel_constant, linear


class BatchNormIntoWeights(Rewrite):
    """``batch_norm(conv(x, w) + b, scale, bias, mean, variance)  -->  conv(x, w * f) + b'``.

    With ``f = scale / sqrt(variance + epsilon)`` and ``b' = (b - mean) * f + bias``, for
    convolutions, transposed convolutions and matmuls with constant weights. Exact but for rounding:
    the new constants are computed in f64 and rounded once.
    """

    name = "batch-norm-into-weights"
    root = graph.BatchNormOp

    def pattern(self, op: graph.BatchNormOp):
        found = linear(op.x)
        line = _line(op)
        return None if found is None or line is None else {"linear": found, "line": line}

    def check(
        self, op: graph.BatchNormOp, *, linear: Linear, line: tuple[np.ndarray, np.ndarray]
    ) -> str | None:
        axis = op.attrs["axis"]
        if axis != linear.axis:
            return f"it normalises axis {axis}, but the channels are axis {linear.axis}"
        return linear.problem()

    def rewrite(self, op: graph.BatchNormOp, *, linear, line):
        factor, shift = line
        bias = shift if linear.bias is None else linear.bias * factor + shift
        return linear.rebuilt(linear.scaled(factor), bias)


class BatchNormToLine(Rewrite):
    """``batch_norm(x, scale, bias, mean, variance)  -->  x * f + s``.

    With ``f = scale / sqrt(variance + epsilon)`` and ``s = bias - mean * f``, computed in f64.
    Exact but for rounding; f16 and bf16 are computed in f32, as `batch_norm` does.
    """

    name = "batch-norm-to-line"
    root = graph.BatchNormOp

    def pattern(self, op: graph.BatchNormOp):
        line = _line(op)
        return None if line is None else {"line": line}

    def check(self, op: graph.BatchNormOp, *, line: tuple[np.ndarray, np.ndarray]) -> str | None:
        size = graph.type_of(op.x).shape[op.attrs["axis"]]
        if not isinstance(size, int):  # the constants' size would become that of the result
            return f"the number of channels is {size}, not {len(line[0])}, as the statistics say"
        return None

    def rewrite(self, op: graph.BatchNormOp, *, line):
        type_ = graph.type_of(op.x)
        narrow = type_.dtype.itemsize < 4
        wide = type_.with_dtype(np.float32) if narrow else type_
        factor, shift = (channel_constant(v, wide, op.attrs["axis"]) for v in line)
        x = graph.cast(op.x, to=wide.dtype) if narrow else op.x
        result = graph.add(graph.mul(x, factor), shift)
        return graph.cast(result, to=type_.dtype) if narrow else result


REWRITES = (BatchNormIntoWeights, BatchNormToLine)


def _line(op: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Factor and shift for each channel, in f64; None unless all statistics are constant."""
    wide = [_wide(value) for value in (op.scale, op.bias, op.mean, op.variance)]
    arrays = [array for array in wide if array is not None]
    if len(arrays) != len(wide):
        return None
    size = graph.type_of(op.x).shape[op.attrs["axis"]]
    length = size if isinstance(size, int) else max(array.size for array in arrays)
    scale, bias, mean, variance = (np.broadcast_to(array, (length,)) for array in arrays)
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + op.attrs["epsilon"])
        return factor, bias - mean * factor


def _wide(value: ir.Value) -> np.ndarray | None:
    array = constant_array(value)
    return None if array is None else array.astype(np.float64)
