"""Decision trees: the leaf of each tree that an example reaches."""

from typing import Any

import numpy as np

from .attributes import Int, Str
from .base import GraphOp, Tensor, TypeRuleError, builder
from .elementwise import require_float, require_integer
from .traits import MixedPrecision
from .types import TensorType

LESS, EQUAL, GREATER, UNORDERED = 1, 2, 4, 8
"""Bits of a node's `outcomes`: the comparisons of a feature with the threshold that are true."""

NODE_WORDS = 4
"""Integers of a packed node: bits of the threshold, feature, and both children."""
FEATURE_BITS = 24
"""Bits of a packed node's feature; its outcomes follow."""
VOTE_REDUCTIONS: dict[str, Any] = {"sum": np.sum, "max": np.max, "min": np.min}


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
        require_features(x, width)
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


def require_features(x: TensorType, width: int) -> None:
    """Require that rows of `x` have the `width` features that trees compare."""
    columns = x.shape[1]
    if width < 1 or (isinstance(columns, int) and columns < width):
        raise TypeRuleError(f"the trees compare {width} features, but rows have {columns}")


def reduce_votes(votes: np.ndarray, reduction: str) -> np.ndarray:
    """Reduce `votes` [rows, trees, targets] over the trees."""
    neutral = {"sum": 0, "max": -np.inf, "min": np.inf}[reduction]
    return VOTE_REDUCTIONS[reduction](votes, axis=1, initial=neutral).astype(votes.dtype)


def lead_outside(
    roots: np.ndarray, features: np.ndarray, children: np.ndarray, leaves: int, width: int
) -> bool:
    """Return whether the tables of `TreeLeavesOp` name other nodes than there are, other leaves
    than `leaves`, or other features than `width`."""
    numbers = (roots, children)
    least = min(int(each.min(initial=0)) for each in numbers)
    most = max(int(each.max(initial=0)) for each in numbers)
    compared = (int(features.min()), int(features.max()))
    return (
        least < -leaves or most >= len(features) or not 0 <= min(compared) <= max(compared) < width
    )


def leaf_words(leaves: int) -> int:
    """Integers before the first node of a table with this many packed leaves."""
    return NODE_WORDS * leaves


def pack_children(children: np.ndarray) -> np.ndarray:
    """Offsets, from the first node of a packed table, of nodes and leaves numbered as in
    `TreeLeavesOp`."""
    return NODE_WORDS * children


def pack_roots(roots: np.ndarray) -> np.ndarray:
    """`pack_children` of the roots of trees, and of the first leaf behind them: what follows the
    last tree may be read."""
    return np.append(pack_children(roots), -NODE_WORDS).astype(roots.dtype)


def unpack_children(offsets: np.ndarray) -> np.ndarray:
    """The inverse of `pack_children`."""
    return offsets // NODE_WORDS


def pack_nodes(
    features: np.ndarray,
    thresholds: np.ndarray,
    outcomes: np.ndarray,
    children: np.ndarray,
    leaves: int,
) -> np.ndarray:
    """The tables of `TreeLeavesOp` as one, of integers as wide as a threshold.

    Each node has `NODE_WORDS`. Before them, the last first, are the leaves: nodes of the first
    feature, each of which has itself as both children, so that a walk stays there.
    """
    integer = np.dtype(f"i{thresholds.dtype.itemsize}")
    packed = np.zeros((leaves + len(features), NODE_WORDS), integer)
    packed[leaves:, 0] = thresholds.view(integer)
    packed[leaves:, 1] = features.astype(integer) | outcomes.astype(integer) << FEATURE_BITS
    packed[leaves:, 2:] = pack_children(children)
    packed[:leaves, 2:] = pack_children(np.arange(-leaves, 0))[:, None]
    return packed.ravel()


class TreeVotesOp(GraphOp, name="tree_votes"):
    """The weights of the leaves that each row of `x` reaches, reduced over all trees.

    ``reduce(gather(weights, tree_leaves(x, ...)), axis=1)`` by one kernel, which
    `cpu-select-tree-kernels` selects. `nodes` has the tables of `tree_leaves` in one
    (`pack_nodes`), none of which may lead outside (`lead_outside`): the kernel trusts them. `roots`
    are offsets in it (`pack_roots`). `outcomes` are those that all nodes have, `varying` those that
    some have. `reduction` is ``sum``, ``max`` or ``min``.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    roots: Tensor
    nodes: Tensor
    weights: Tensor
    depth: Int
    width: Int
    outcomes: Int
    varying: Int
    reduction: Str

    @staticmethod
    def infer(
        x: TensorType,
        roots: TensorType,
        nodes: TensorType,
        weights: TensorType,
        *,
        depth: int,
        width: int,
        outcomes: int,
        varying: int,
        reduction: str,
    ) -> TensorType:
        require_float(x)
        require_integer(roots)
        wide = np.dtype(f"i{x.dtype.itemsize}")
        ranks = (x.rank, roots.rank, nodes.rank, weights.rank)
        same = weights.dtype == x.dtype and nodes.dtype == wide
        if ranks != (2, 1, 1, 2) or not same or depth < 0 or not _are_packed(nodes, weights):
            raise TypeRuleError(f"nodes of {nodes} with {weights} are no packed trees for {x}")
        if reduction not in VOTE_REDUCTIONS or not {outcomes, varying} <= {*range(2 * UNORDERED)}:
            raise TypeRuleError(f"'{reduction}' or outcomes {outcomes} are none of trees")
        require_features(x, width)
        return x.with_shape((x.shape[0], weights.shape[1]))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        roots: np.ndarray,
        nodes: np.ndarray,
        weights: np.ndarray,
        *,
        depth: int,
        width: int,
        outcomes: int,
        varying: int,
        reduction: str,
    ) -> np.ndarray:
        packed = nodes[leaf_words(len(weights)) :].reshape(-1, NODE_WORDS)
        told = packed[:, 1]
        leaves = TreeLeavesOp.evaluate(
            x,
            unpack_children(roots[:-1]),
            told & ((1 << FEATURE_BITS) - 1),
            np.ascontiguousarray(packed[:, 0]).view(x.dtype),
            told >> FEATURE_BITS & varying | outcomes,
            unpack_children(packed[:, 2:]),
            depth=depth,
            width=width,
        )
        votes = weights[np.clip(leaves, 0, len(weights) - 1)]
        return reduce_votes(votes, reduction)


def _are_packed(nodes: TensorType, weights: TensorType) -> bool:
    """If the sizes are those of a leaf and a node at least."""
    if not nodes.is_static or not weights.is_static or 0 in weights.shape:
        return False
    words = nodes.static_shape[0] - leaf_words(weights.static_shape[0])
    return words > 0 and words % NODE_WORDS == 0


tree_votes = builder(TreeVotesOp)
