"""Boxes around objects: which ones of many to keep."""

import numpy as np

from ..symbolic import Dim
from .attributes import Bool, Size
from .base import GraphOp, Tensor, TypeRuleError, builder
from .traits import MixedPrecision
from .types import TensorType

_I64 = np.dtype(np.int64)
_F32 = np.dtype(np.float32)


class NonMaxSuppressionOp(GraphOp, name="non_max_suppression"):
    """Boxes that do not overlap a better one too much (the heart of ONNX NonMaxSuppression).

    `boxes` [batch, n, 4] holds the coordinates y and x of two opposite corners, or, `by_center`,
    x and y of centers and then widths and heights (f32). For each batch and class, `order`
    [batch, class, n] lists boxes from the best on, of which the first ``candidates[batch, class]``
    are looked at. One is selected unless its intersection over union with one that was selected
    before exceeds `threshold`, until `limit` are.

    The result [batch, class, n] lists the selected boxes, then -1.
    """

    amp = MixedPrecision.KEEP

    boxes: Tensor
    order: Tensor
    candidates: Tensor
    limit: Tensor
    threshold: Tensor
    by_center: Bool

    @staticmethod
    def infer(
        boxes: TensorType,
        order: TensorType,
        candidates: TensorType,
        limit: TensorType,
        threshold: TensorType,
        *,
        by_center: bool,
    ) -> TensorType:
        del by_center
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
        *,
        by_center: bool,
    ) -> np.ndarray:
        boxes, result = _corners(boxes, by_center), np.full_like(order, -1)
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


def _corners(boxes: np.ndarray, by_center: bool) -> np.ndarray:
    """Lowest and highest coordinates along both axes, whose order does not matter."""
    first, second = boxes[..., :2], boxes[..., 2:]
    half = second * np.float32(0.5)
    low, high = (
        (first - half, first + half)
        if by_center
        else (np.minimum(first, second), np.maximum(first, second))
    )
    return np.concatenate([low, high], axis=-1)


def _overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union of `box` with each of `others`; 0 where one has no area."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.maximum(high - low, 0), axis=1)
    area, areas = np.prod(box[2:] - box[:2]), np.prod(others[:, 2:] - others[:, :2], axis=1)
    union = area + areas - common
    return np.divide(common, union, out=np.zeros_like(common), where=common > 0)


class ListBoxesOp(GraphOp, name="list_boxes"):
    """The boxes that are `selected`, each with its batch and class: [count, 3], i64.

    `selected` [batch, class, n] lists `count` boxes in all, each list followed by -1 (as
    `graph.non_max_suppression` gives it).
    """

    amp = MixedPrecision.KEEP

    selected: Tensor
    count: Size

    @staticmethod
    def infer(selected: TensorType, *, count: int | Dim) -> TensorType:
        if selected.rank != 3 or selected.dtype != _I64:
            raise TypeRuleError(f"selected boxes are [batch, class, n] in i64, not {selected}")
        return TensorType((count, 3), _I64)

    @staticmethod
    def evaluate(selected: np.ndarray, *, count: int) -> np.ndarray:
        del count
        batches, classes, _ = where = np.nonzero(selected >= 0)
        return np.stack([batches, classes, selected[where]], axis=1)


non_max_suppression = builder(NonMaxSuppressionOp)
list_boxes = builder(ListBoxesOp)
