"""The tables of `graph.quickscorer_votes`, from those of `graph.tree_leaves`."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...dialects.graph.quickscorer import TREE_BITS
from ...dialects.graph.trees import EQUAL, GREATER, LESS, UNORDERED
from ..infra.rewrite import Decline
from ..kernels.quickscorer import MOST_TREES

_ORDERED = LESS | EQUAL | GREATER
_NODE_BYTES = 13
"""Bytes of a node beside its threshold: tree, mask, and what NaN does."""


@dataclass(frozen=True)
class TreeTables:
    """The tables of `graph.tree_leaves`."""

    roots: np.ndarray
    features: np.ndarray
    thresholds: np.ndarray
    outcomes: np.ndarray
    children: np.ndarray


@dataclass(frozen=True)
class TreeShapes:
    """The places of nodes and leaves in their trees, each as often as it is reached."""

    nodes: np.ndarray
    """The numbers of the nodes."""
    node_trees: np.ndarray
    node_starts: np.ndarray
    """The first leaf below each node, counted within its tree from the left."""
    left_leaves: np.ndarray
    """The leaves below the left child of each node."""
    leaves: np.ndarray
    """The numbers of the leaves, tree by tree and from the left."""
    first_leaves: np.ndarray
    """The first of those of each tree."""
    expected_steps: float
    """Nodes that an example compares in all trees if it takes either way as often."""
    depths: np.ndarray
    """The most nodes that an example compares in each tree."""


@dataclass(frozen=True)
class QuickscorerPlan:
    """The tables, as the op has them."""

    columns: np.ndarray
    offsets: np.ndarray
    thresholds: np.ndarray
    trees: np.ndarray
    masks: np.ndarray
    unordered: np.ndarray
    shapes: TreeShapes
    block: int
    strict: bool


def plan_quickscorer(tables: TreeTables, cache_bytes: int) -> QuickscorerPlan:
    """Build the tables, in blocks that fit in a cache of `cache_bytes`.

    Raises
    ------
    Decline
        A tree has too many leaves, or a node compares in another way than by order.
    """
    tables, strict = _by_less(tables)
    if np.isnan(tables.thresholds).any():
        raise Decline("nodes compare by < and by <=, with zero or infinity")
    shapes = _shapes(tables)
    if not len(shapes.nodes):
        raise Decline("its trees are single leaves")
    trees = len(tables.roots)
    node_bytes = tables.thresholds.dtype.itemsize + _NODE_BYTES
    block_count = -(-len(shapes.nodes) * node_bytes // cache_bytes)
    block = max(min(-(-trees // max(block_count, 1)), MOST_TREES), 1)
    columns, column = np.unique(tables.features[shapes.nodes], return_inverse=True)
    segment = shapes.node_trees // block * len(columns) + column
    thresholds = tables.thresholds[shapes.nodes]
    unordered = (tables.outcomes[shapes.nodes] & UNORDERED != 0).astype(np.int8)
    order = np.lexsort((thresholds, segment))
    lengths = np.bincount(segment, minlength=-(-trees // block) * len(columns))
    ends = np.cumsum(lengths)
    masks = ~(((1 << shapes.left_leaves) - 1) << shapes.node_starts)

    def ended(values: np.ndarray, end: float) -> np.ndarray:
        return np.insert(values[order], ends, end)

    return QuickscorerPlan(
        columns=columns.astype(np.int32),
        offsets=np.append(0, ends + np.arange(1, len(ends) + 1)).astype(np.int32),
        thresholds=ended(thresholds, np.nan),
        trees=ended((shapes.node_trees % block).astype(np.int32), 0),
        masks=ended(masks, -1),
        unordered=ended(unordered, unordered[0]),
        shapes=shapes,
        block=block,
        strict=strict,
    )


def _by_less(tables: TreeTables) -> tuple[TreeTables, bool]:
    """The same trees with nodes that compare features by LESS | EQUAL, or all by LESS, and possibly
    UNORDERED; true for LESS."""
    by_greater = np.isin(tables.outcomes & _ORDERED, (GREATER, GREATER | EQUAL))
    outcomes = np.where(by_greater, ~tables.outcomes & (_ORDERED | UNORDERED), tables.outcomes)
    children = np.where(by_greater[:, None], tables.children[:, ::-1], tables.children)
    ordered = outcomes & _ORDERED
    if not np.isin(ordered, (LESS, LESS | EQUAL)).all():
        raise Decline("a node compares in another way than by order")
    if np.isnan(tables.thresholds).any():
        raise Decline("a node compares with NaN")
    is_less = ordered == LESS
    strict = 2 * int(is_less.sum()) > len(is_less)
    thresholds = np.where(is_less == strict, tables.thresholds, _next(tables.thresholds, strict))
    return TreeTables(tables.roots, tables.features, thresholds, outcomes, children), strict


def _next(thresholds: np.ndarray, strict: bool) -> np.ndarray:
    """``x <= t`` as ``x < next``, or else ``x < t`` as ``x <= next``."""
    last = thresholds.dtype.type(np.inf if strict else -np.inf)
    following = np.nextafter(thresholds, last)
    least = np.abs([thresholds, following]).min(axis=0, initial=np.inf)
    subnormal = least < np.finfo(thresholds.dtype).tiny  # which kernels may take for zero
    following[subnormal | (thresholds == last)] = np.nan
    return following


def _shapes(tables: TreeTables) -> TreeShapes:
    levels = list(_levels(tables))
    counts = _leaves_below(levels)
    if counts[0].max() > TREE_BITS:
        raise Decline(f"a tree has {counts[0].max()} leaves, and its word {TREE_BITS} bits")
    first_leaves = np.cumsum(counts[0]) - counts[0]
    starts = np.zeros(len(tables.roots), np.int64)
    nodes, leaves, steps, depths = [], [], 0.0, np.zeros(len(tables.roots), np.int64)
    for depth, ((at, trees), below) in enumerate(
        zip(levels, [*counts[1:], np.zeros(0, np.int64)], strict=True)
    ):
        inner = at >= 0
        left = below[0::2]
        nodes.append((at[inner], trees[inner], starts[inner], left))
        leaves.append((first_leaves[trees[~inner]] + starts[~inner], -1 - at[~inner]))
        depths[trees] = depth
        steps += depth * float((~inner).sum()) / 2.0**depth
        starts = np.stack([starts[inner], starts[inner] + left], axis=1).ravel()
    places, numbers = (np.concatenate(each) for each in zip(*leaves, strict=True))
    return TreeShapes(
        *(np.concatenate(each) for each in zip(*nodes, strict=True)),
        leaves=numbers[np.argsort(places)],
        first_leaves=first_leaves,
        expected_steps=steps,
        depths=depths,
    )


def _levels(tables: TreeTables) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Nodes and leaves of each level, as `tree_leaves` numbers them, and their trees; children of
    the nodes of one follow one another in the next."""
    at, trees = tables.roots.astype(np.int64), np.arange(len(tables.roots))
    for _ in range(TREE_BITS):
        yield at, trees
        inner = at >= 0
        if not inner.any():
            return
        if 2 * inner.sum() > TREE_BITS * len(tables.roots):
            break
        at = tables.children[at[inner]].astype(np.int64).ravel()
        trees = np.repeat(trees[inner], 2)
    raise Decline(f"trees have more leaves than a word of {TREE_BITS} bits")


def _leaves_below(levels: list[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    """The leaves below each node, and 1 for each leaf, of each level."""
    counts: list[np.ndarray] = []
    below = np.zeros(0, np.int64)
    for at, _ in reversed(levels):
        count = np.ones(len(at), np.int64)
        count[at >= 0] = below.reshape(-1, 2).sum(axis=1)
        counts.append(count)
        below = count
    return counts[::-1]
