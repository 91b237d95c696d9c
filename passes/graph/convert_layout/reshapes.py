"""Reshapes that only split leading axes sink towards the results.

A matmul exported as ``Gemm`` works on [rows, columns], and the ops that follow it on
[batch, length, columns]. On [rows, columns], these ops can be fused into the matmul.
"""

from typing import Any

from ....dialects import graph
from ....mlir import ir
from ...infra.query import producer
from ...infra.rewrite import Decline, Rewrite, rewrite
from .sink import ELEMENTWISE_OPS, rebuild

_Shape = tuple[Any, ...]


def _split(value: ir.Value) -> graph.ReshapeOp | None:
    """The reshape that makes `value` from at least two axes by splitting leading axes and keeping
    the last ones; or None."""
    op = producer(value, graph.ReshapeOp)
    if op is None:
        return None
    source, shape = graph.type_of(op.x).shape, graph.type_of(value).shape
    return op if 2 <= len(source) < len(shape) and _common(source, shape) else None


def _common(source: _Shape, shape: _Shape) -> int:
    """The number of equal trailing axes."""
    count = 0
    while count < min(len(source), len(shape)) and source[-1 - count] == shape[-1 - count]:
        count += 1
    return count


class SinkReshapeThroughElementwise(Rewrite):
    """``f(reshape(a), b)  -->  reshape(f(a, reshape(b)))``.

    Every other operand must have the same shape, or vary only along the axes that are kept.
    """

    name = "sink-reshape-through-elementwise"
    root = ELEMENTWISE_OPS

    def pattern(self, op: Any) -> dict[str, Any] | None:
        shape = graph.type_of(op.operation.results[0]).shape
        for value in op.operation.operands:
            split = _split(value)
            if split is not None and graph.type_of(value).shape == shape:
                return {"source": split.x, "shape": shape}
        return None

    def check(self, op: Any, source: ir.Value, shape: _Shape) -> str | None:
        for value in op.operation.operands:
            if self._on_rows(value, graph.type_of(source).shape, shape) is None:
                return "another operand varies along an axis that is split"
            if _is_contraction(value) and not _is_contraction(source):
                return "another operand is a matmul, which this is to be computed with"
        return None

    def rewrite(self, op: Any, source: ir.Value, shape: _Shape) -> ir.Value:
        rows = graph.type_of(source).shape
        operands = [
            _reshaped(value, self._on_rows(value, rows, shape)) for value in op.operation.operands
        ]
        return graph.reshape(rebuild(op, operands), shape=shape)

    def _on_rows(self, value: ir.Value, rows: _Shape, shape: _Shape) -> _Shape | None:
        """The shape in which an operand is compatible with `rows`; None if there is none."""
        given = graph.type_of(value).shape
        if given == shape:
            return rows
        kept = _common(rows, shape)
        leading, last = given[: max(0, len(given) - kept)], given[-kept:]
        return last if all(size == 1 for size in leading) else None


def _reshaped(value: ir.Value, shape: _Shape | None) -> ir.Value:
    """`value` in `shape`, which is the operand of its reshape if that has `shape`."""
    assert shape is not None
    if graph.type_of(value).shape == shape:
        return value
    split = _split(value)
    if split is not None and graph.type_of(split.x).shape == shape:
        return split.x
    return graph.reshape(value, shape=shape)


def _is_contraction(value: ir.Value) -> bool:
    return producer(value, (graph.MatmulOp, graph.ConvOp, graph.AttentionOp)) is not None


@rewrite(graph.LayerNormOp, graph.RmsNormOp, graph.SoftmaxOp, graph.LogSoftmaxOp)
def sink_reshape_through_last_axes(
    op: graph.LayerNormOp | graph.RmsNormOp | graph.SoftmaxOp | graph.LogSoftmaxOp,
):
    """``f(reshape(x), axis)  -->  reshape(f(x, axis'))``, if `f` works along axes that are kept."""
    split = _split(op.operation.operands[0])
    if split is None:
        return None
    rows, shape = graph.type_of(split.x).shape, graph.type_of(split.result).shape
    _, *others = op.operand_groups.values()
    axis = op.attrs["axis"] - len(shape) + len(rows)
    if axis < len(rows) - _common(rows, shape):
        return Decline("an axis that is split takes part")
    if any(other and graph.type_of(other).rank > len(rows) - axis for other in others):
        return Decline("parameters vary along other axes")
    return graph.reshape(rebuild(op, [split.x, *others], axis=axis), shape=shape)


SINK_RESHAPES = (SinkReshapeThroughElementwise, sink_reshape_through_last_axes)
