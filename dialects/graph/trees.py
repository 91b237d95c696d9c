"""Decision trees: the leaf of each tree that an example reaches."""

import numpy as np

from .attributes import Int
from .base import GraphOp, Tensor, TypeRuleError, builder
from .elementwise import require_float, require_integer
from .traits import MixedPrecision
from .types import TensorType

LESS, EQUAL, GREATER, UNORDERED = 1, 2, 4, 8
"""Bits of a node's `outcomes`: the comparisons of a feature with the threshold that are true."""


class TreeLeavesOp(GraphOp, name="tree_leaves"):
    """The leaf of each tree that each row of `x` reaches (i32, rows by trees).

    At node ``n``, ``x[row, features[n]]`` is less than, equal to, greater than or not comparable
    with ``thresholds[n]``. If `outcomes` has that bit, the next node is ``children[n, 0]``, else
    ``children[n, 1]``. Trees start at `roots`. A number n below 0 stands for leaf ``-1 - n``; a row
    that reaches no leaf after `depth` nodes is at leaf 0. Rows have at least `width` features.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    roots: Tensor
    features: Tensor
    thresholds: Tensor
    outcomes: Tensor
    children: Tensor
    depth: Int
    width: Int

    @staticmethod
    def infer(
        x: TensorType,
        roots: TensorType,
        features: TensorType,
        thresholds: TensorType,
        outcomes: TensorType,
        children: TensorType,
        *,
        depth: int,
        width: int,
    ) -> TensorType:
        require_float(x)
        for table in (roots, features, outcomes, children):
            require_integer(table)
        nodes = features.shape
        fits = (x.rank, roots.rank, len(nodes)) == (2, 1, 1) and 0 not in nodes and depth >= 0
        same = thresholds.shape == outcomes.shape == nodes and children.shape == (*nodes, 2)
        if not fits or not same or thresholds.dtype != x.dtype:
            raise TypeRuleError(
                f"nodes of {features}, {thresholds}, {outcomes} and {children} are no trees for {x}"
            )
        columns = x.shape[1]
        if width < 1 or (isinstance(columns, int) and columns < width):
            raise TypeRuleError(f"the trees compare {width} features, but rows have {columns}")
        return TensorType((x.shape[0], roots.shape[0]), np.dtype(np.int32))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        roots: np.ndarray,
        features: np.ndarray,
        thresholds: np.ndarray,
        outcomes: np.ndarray,
        children: np.ndarray,
        *,
        depth: int,
        width: int,
    ) -> np.ndarray:
        del width
        rows = np.arange(len(x))[:, None]
        at = np.broadcast_to(roots, (len(x), len(roots))).astype(np.int32)
        for _ in range(depth):
            node = np.clip(at, 0, len(features) - 1)
            value, threshold = x[rows, features[node]], thresholds[node]
            bits = [value < threshold, value == threshold, value > threshold]
            seen = np.select(bits, [LESS, EQUAL, GREATER], UNORDERED)
            missed = (outcomes[node] & seen) == 0
            at = np.where(at < 0, at, children[node, missed.astype(np.int64)])
        return np.where(at < 0, -1 - at, 0).astype(np.int32)


tree_leaves = builder(TreeLeavesOp)
