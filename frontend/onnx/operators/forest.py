"""The trees of a node as tables: see `graph.tree_leaves`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.graph.trees import EQUAL, GREATER, LESS, UNORDERED
from ....mlir import ir

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_OUTCOMES = (LESS | EQUAL, LESS, GREATER | EQUAL, GREATER, EQUAL, LESS | GREATER)


@dataclass(frozen=True)
class Forest:
    """Nodes as `graph.tree_leaves` has them; the numbers of `children` and `roots` likewise."""

    roots: np.ndarray
    features: np.ndarray
    thresholds: np.ndarray
    outcomes: np.ndarray
    children: np.ndarray

    def leaves(self, x: ir.Value) -> ir.Value:
        """The leaf that each row of `x` reaches in each tree."""
        dtype = graph.type_of(x).dtype
        tables = (
            self.roots.astype(np.int32),
            self.features.astype(np.int32),
            self.thresholds.astype(dtype),
            self.outcomes.astype(np.uint8),
            self.children.astype(np.int32),
        )
        operands = [graph.constant(value=table) for table in tables]
        width = int(self.features.max(initial=0)) + 1
        return graph.tree_leaves(x, *operands, depth=self._depth(), width=width)

    def _depth(self) -> int:
        """The number of nodes on the longest path. TypeRuleError for a cycle."""
        reached, depth = np.unique(self.roots[self.roots >= 0]), 0
        while reached.size:
            if depth == len(self.features):
                raise graph.TypeRuleError("the nodes of a tree form a cycle")
            below = self.children[reached].ravel()
            reached, depth = np.unique(below[below >= 0]), depth + 1
        return depth


def build_forest(
    roots: Sequence[int],
    features: Sequence[int],
    thresholds: np.ndarray,
    modes: Sequence[int],
    children: np.ndarray,
    missing_is_true: Sequence[int] | None,
    members: Sequence[np.ndarray] = (),
) -> Forest:
    """A forest from lists with an entry for each node; `modes` are positions in `MODES`.

    The mode after them asks for membership of the next of `members`: that becomes a chain of
    nodes, one for each, which ask for equality. TypeRuleError for lists that do not fit.
    """
    count = len(features)
    missing = np.zeros(count, np.int64) if missing_is_true is None else np.array(missing_is_true)
    if not len(thresholds) == len(modes) == len(children) == len(missing) == count:
        raise graph.TypeRuleError("the lists of a tree's nodes differ in length")
    if count == 0:  # a table has one node at least
        return Forest(np.array(roots), np.zeros(1), np.zeros(1), np.zeros(1), -np.ones((1, 2)))
    if min(features) < 0 or max(modes) > len(MODES) or min(modes) < 0:
        raise graph.TypeRuleError("a node has no such feature or mode")
    if not _are_numbers(roots, count) or not _are_numbers(children, count):
        raise graph.TypeRuleError("a node follows that is not there")
    codes = np.array([*_OUTCOMES, EQUAL])[np.array(modes)]
    outcomes = np.where(missing != 0, codes | UNORDERED, codes)
    forest = Forest(np.array(roots), np.array(features), thresholds, outcomes, np.array(children))
    asks_members = [node for node, mode in enumerate(modes) if mode == len(MODES)]
    if len(asks_members) != len(members):
        raise graph.TypeRuleError(
            f"{len(members)} sets of members for {len(asks_members)} nodes that ask for them"
        )
    for node, values in zip(asks_members, members, strict=True):
        forest = _with_members(forest, node, values)
    return forest


def _are_numbers(values: Sequence[int] | np.ndarray, count: int) -> bool:
    return all(int(value) < count for value in np.ravel(values))


def _with_members(forest: Forest, node: int, values: np.ndarray) -> Forest:
    """`forest` in which `node` asks whether its feature is one of `values`."""
    first, rest = (values[:1], values[1:]) if values.size else (np.array([np.nan]), values)
    forest.thresholds[node] = first[0]  # NaN is equal to nothing
    count, before = len(rest), len(forest.features)
    chain = [node, *range(before, before + count)]
    hit, missed = forest.children[node].copy()
    children = np.concatenate([forest.children, np.full((count, 2), hit)])
    children[chain, 1] = [*chain[1:], missed]
    return Forest(
        forest.roots,
        np.append(forest.features, np.repeat(forest.features[node], count)),
        np.append(forest.thresholds, rest),
        np.append(forest.outcomes, np.repeat(forest.outcomes[node], count)),
        children,
    )


class NamedNodes:
    """The attributes ``nodes_*`` of the operators that name the kind of their result."""

    def __init__(self, **attributes: Any):
        self._given = attributes
        self.modes = attributes["modes"] or []
        trees, ids = attributes["treeids"] or [], attributes["nodeids"] or []
        self.by_node = {key: i for i, key in enumerate(zip(trees, ids, strict=True))}
        is_leaf = np.array([mode == "LEAF" for mode in self.modes], bool)
        inner, leaves = np.cumsum(~is_leaf) - 1, np.cumsum(is_leaf)
        self.leaves = int(is_leaf.sum())
        self.numbers = np.where(is_leaf, -leaves, inner)
        """The number of each node, as `graph.tree_leaves` numbers nodes and leaves."""
        self.inner = np.flatnonzero(~is_leaf)
        first = {tree: i for i, tree in reversed(list(enumerate(trees)))}
        self.trees = trees
        self.roots = [int(self.numbers[i]) for i in first.values()]

    def forest(self) -> Forest:
        unknown = {mode for mode in self.modes if mode not in (*MODES, "LEAF")}
        if unknown:
            raise graph.TypeRuleError(f"nodes_modes holds {', '.join(sorted(unknown))}")
        sides = [self._following(self._given[name]) for name in ("truenodeids", "falsenodeids")]
        values = self._given["values_as_tensor"]
        values = np.array(self._given["values"] or [], np.float32) if values is None else values
        missing = self._given["missing_value_tracks_true"]
        return build_forest(
            self.roots,
            self._of_inner(self._given["featureids"]),
            values[self.inner],
            [MODES.index(self.modes[i]) for i in self.inner],
            np.stack(sides, axis=1) if len(self.inner) else np.zeros((0, 2)),
            self._of_inner(missing) if missing else None,
        )

    def entries(
        self,
        trees: Sequence[int] | None,
        nodes: Sequence[int] | None,
        targets: Sequence[int] | None,
        weights: Sequence[float] | np.ndarray | None,
    ) -> list[tuple[int, int, float]]:
        """The entries of leaves, as leaf, target and weight; entries of inner nodes are ignored."""
        found = []
        given = [[] if column is None else column for column in (trees, nodes, targets, weights)]
        for tree, node, target, weight in zip(*given, strict=True):
            number = self.numbers[self._position(tree, node)]
            if number < 0:
                found.append((-1 - number, target, float(weight)))
        return found

    def _position(self, tree: int, node: int) -> int:
        if (tree, node) not in self.by_node:
            raise graph.TypeRuleError(f"tree {tree} has no node {node}")
        return self.by_node[tree, node]

    def _of_inner(self, values: Sequence[int] | None) -> list[int]:
        return np.array(values or [], np.int64)[self.inner].tolist()

    def _following(self, ids: Sequence[int] | None) -> np.ndarray:
        pairs = list(zip(self.trees, ids or [], strict=True))
        below = [self._position(*pairs[i]) for i in self.inner.tolist()]
        return self.numbers[np.array(below, np.int64)]
