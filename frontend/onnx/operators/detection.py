"""Operators on boxes around objects."""

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import onnx_op
from .shapes import require_sizes


@onnx_op("NonMaxSuppression", since=10)
def non_max_suppression(
    boxes,
    scores,
    max_output_boxes_per_class=None,
    iou_threshold=None,
    score_threshold=None,
    *,
    node,
    center_point_box=0,
):
    """Sort candidates, select into a list as long as there are boxes, and keep the selected
    entries."""
    batch, classes, count = graph.type_of(scores).shape
    limit = _scalar(max_output_boxes_per_class, np.int64)
    threshold = _scalar(iou_threshold, np.float32)
    number = graph.is_nan(scores)
    lowest = graph.splat_like(-np.inf, scores)
    ranked = graph.where(number, lowest, scores)
    least = None if score_threshold is None else _scalar(score_threshold, np.float32)
    if least is None:
        candidates = graph.expand(graph.size_scalar(count), shape=[batch, classes])
    else:
        candidates = _count(graph.greater(scores, least), axes=[2])
    order = graph.order_candidates(ranked, candidates, least)
    selected = graph.non_max_suppression(
        boxes, order, candidates, limit, threshold, by_center=bool(center_point_box)
    )
    taken = graph.greater_or_equal(selected, graph.size_scalar(0))
    (total,) = require_sizes(_count(taken, axes=[0, 1, 2]), node, "selected")
    indices = graph.transpose(graph.non_zero(taken, count=total), perm=[1, 0])
    box = graph.reshape(graph.gather_nd(selected, indices, batch_dims=0), shape=[total, 1])
    where = graph.slice_(indices, starts=[0, 0], sizes=[total, 2], steps=[1, 1])
    return graph.concat([where, box], axis=1)


def _count(flags: ir.Value, axes: list[int]) -> ir.Value:
    """The number of true `flags` along `axes`, fewer than 2^31, as i64.

    The sum is in 32 bits, in which GPUs reduce rows.
    """
    return graph.cast(
        graph.reduce_sum(graph.cast(flags, to=np.int32), axes=axes, keepdims=False), to=np.int64
    )


def _scalar(value: ir.Value | None, dtype: type) -> ir.Value:
    """`value`, of one element, as a scalar; 0 when it is left out."""
    if value is None:
        return graph.constant(value=np.zeros((), dtype))
    return graph.cast(graph.reshape(value, shape=[]), to=dtype)
