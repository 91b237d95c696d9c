"""Decision trees by QuickScorer (Lucchese et al., SIGIR 2015): nodes in the order of thresholds.

A leaf is a bit of its tree, the leftmost the lowest. A node whose comparison fails rules out the
leaves on its left; the lowest bit that remains is the leaf that an example reaches.
"""

import numpy as np

from .attributes import Bool, Int, Str
from .base import GraphOp, Tensor, TypeRuleError, builder
from .elementwise import require_float, require_integer
from .traits import MixedPrecision
from .trees import VOTE_REDUCTIONS, reduce_votes, require_features
from .types import TensorType

TREE_BITS = 64
"""The most leaves of a tree."""


class QuickscorerVotesOp(GraphOp, name="quickscorer_votes"):
    """The weights of the leaves that each row of `x` reaches, reduced over all trees.

    ``reduce(gather(weights, tree_leaves(x, ...)), axis=1)`` by one kernel, which
    `cpu-select-tree-kernels` selects. Trees are in blocks of `block`, and the nodes of a block in
    the order of the `columns` that they compare. Those of the f-th column in block b are
    ``offsets[b * len(columns) + f]`` to the next offset, in the order of their `thresholds`; the
    last of them is no node, but a NaN where a scan ends.

    A node fails if ``threshold < x[column]``, or ``<=`` if comparisons are `strict`, and for NaN if
    `unordered` is 0. Then the leaves that are left of tree ``trees[n]``, counted within the block,
    are those that are also in ``masks[n]``. Leaf i of a tree has the weights
    ``weights[leaves[tree] + i]``. The kernel trusts all tables.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    columns: Tensor
    offsets: Tensor
    thresholds: Tensor
    trees: Tensor
    masks: Tensor
    unordered: Tensor
    leaves: Tensor
    weights: Tensor
    block: Int
    width: Int
    strict: Bool
    reduction: Str

    @staticmethod
    def infer(
        x: TensorType,
        columns: TensorType,
        offsets: TensorType,
        thresholds: TensorType,
        trees: TensorType,
        masks: TensorType,
        unordered: TensorType,
        leaves: TensorType,
        weights: TensorType,
        *,
        block: int,
        width: int,
        strict: bool,
        reduction: str,
    ) -> TensorType:
        del strict
        require_float(x)
        tables = (columns, offsets, trees, masks, unordered, leaves)
        for table in tables:
            require_integer(table)
        if any(each.rank != 1 or not each.is_static for each in (*tables, thresholds)):
            raise TypeRuleError("tables of trees have one axis of static size")
        nodes = thresholds.shape
        same = trees.shape == masks.shape == unordered.shape == nodes
        fits = (x.rank, weights.rank) == (2, 2) and block > 0 and weights.is_static
        segments = -(-leaves.static_shape[0] // max(block, 1)) * columns.static_shape[0]
        if not same or not fits or offsets.shape != (segments + 1,) or 0 in weights.shape:
            raise TypeRuleError(f"nodes of {thresholds} with {weights} are no trees for {x}")
        if not weights.dtype == thresholds.dtype == x.dtype or reduction not in VOTE_REDUCTIONS:
            raise TypeRuleError(f"'{reduction}' of {weights} is none of trees for {x}")
        require_features(x, width)
        return x.with_shape((x.shape[0], weights.shape[1]))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        columns: np.ndarray,
        offsets: np.ndarray,
        thresholds: np.ndarray,
        trees: np.ndarray,
        masks: np.ndarray,
        unordered: np.ndarray,
        leaves: np.ndarray,
        weights: np.ndarray,
        *,
        block: int,
        width: int,
        strict: bool,
        reduction: str,
    ) -> np.ndarray:
        del width
        lengths = np.diff(offsets)
        segments = np.repeat(np.arange(len(lengths)), lengths)
        value = x[:, columns[segments % len(columns)]]
        failed_by = thresholds <= value if strict else thresholds < value
        fails = np.where(np.isnan(value), unordered == 0, failed_by)
        tree = segments // len(columns) * block + trees
        left = np.full((len(x), len(leaves)), -1, np.int64)
        for row, failed in zip(left, fails, strict=True):
            np.bitwise_and.at(row, tree[failed], masks[failed])
        bits = left.view(np.uint64)
        lowest = np.bitwise_count((bits & -bits) - np.uint64(1))
        votes = weights[leaves + lowest]
        return reduce_votes(votes, reduction)


quickscorer_votes = builder(QuickscorerVotesOp)
