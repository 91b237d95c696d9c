"""Boxes around objects: which ones of many to keep."""

import numpy as np

from .base import GraphOp, Tensor, TypeRuleError, builder
from .traits import MixedPrecision
from .types import TensorType

_I64 = np.dtype(np.int64)
_F32 = np.dtype(np.float32)


class NonMaxSuppressionOp(GraphOp, name="non_max_suppression"):
    """Boxes that do not overlap a better one too much (the heart of ONNX NonMaxSuppression).

    `boxes` [batch, n, 4] holds corners: lowest y and x, highest y and x (f32). For each batch and
    class, `order` [batch, class, n] lists boxes from the best on, of which the first
    ``candidates[batch, class]`` are looked at. One is selected unless its intersection over union
    with one that was selected before exceeds `threshold`, until `limit` are.

    The result [batch, class, n] lists the selected boxes, then -1.
    """

    amp = MixedPrecision.KEEP

    boxes: Tensor
    order: Tensor
    candidates: Tensor
    limit: Tensor
    threshold: Tensor

    @staticmethod
    def infer(
        boxes: TensorType,
        order: TensorType,
        candidates: TensorType,
        limit: TensorType,
        threshold: TensorType,
    ) -> TensorType:
        if boxes.rank != 3 or boxes.shape[2] != 4 or boxes.dtype != _F32:
            raise TypeRuleError(f"boxes are [batch, n, 4] in f32, not {boxes}")
        if order.rank != 3 or order.dtype != _I64:
            raise TypeRuleError(f"an order is [batch, class, n] in i64, not {order}")
        if candidates != TensorType(order.shape[:2], _I64):
            raise TypeRuleError(f"candidates are counted for each batch and class: {candidates}")
        if limit != TensorType((), _I64) or threshold != TensorType((), _F32):
            raise TypeRuleError(f"limit and threshold are scalars, not {limit} and {threshold}")
        return order

    @staticmethod
    def evaluate(
        boxes: np.ndarray,
        order: np.ndarray,
        candidates: np.ndarray,
        limit: np.ndarray,
        threshold: np.ndarray,
    ) -> np.ndarray:
        result = np.full_like(order, -1)
        for batch, class_ in np.ndindex(order.shape[:2]):
            listed = order[batch, class_, : candidates[batch, class_]]
            chosen: list[int] = []
            for box in listed:
                if len(chosen) >= limit:
                    break
                overlaps = _overlaps(boxes[batch, box], boxes[batch, chosen])
                if not np.any(overlaps > threshold):
                    chosen.append(box)
            result[batch, class_, : len(chosen)] = chosen
        return result


def _overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union of `box` with each of `others`; 0 where one has no area."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.maximum(high - low, 0), axis=1)
    area, areas = np.prod(box[2:] - box[:2]), np.prod(others[:, 2:] - others[:, :2], axis=1)
    union = area + areas - common
    return np.divide(common, union, out=np.zeros_like(common), where=common > 0)


non_max_suppression = builder(NonMaxSuppressionOp)
