"""The trees of a node as tables: see `graph.tree_leaves`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.graph.trees import EQUAL, GREATER, LESS, UNORDERED
from ....mlir import ir

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_MODE_NUMBERS = {mode: number for number, mode in enumerate(MODES)}
_LEAF = "LEAF"
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
        reached, depth = self.roots[self.roots >= 0], 0
        while reached.size:
            if depth == len(self.features):
                raise graph.TypeRuleError("the nodes of a tree form a cycle")
            below = self.children[reached].ravel()
            reached, depth = below[below >= 0], depth + 1
            if reached.size > len(self.features):  # in trees, no node is reached twice
                reached = np.unique(reached)
        return depth


def build_forest(
    roots: Sequence[int],
    features: Sequence[int] | np.ndarray,
    thresholds: np.ndarray,
    modes: Sequence[int] | np.ndarray,
    children: np.ndarray,
    missing_is_true: Sequence[int] | np.ndarray | None,
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
    modes = np.asarray(modes)
    if np.min(features) < 0 or modes.max() > len(MODES) or modes.min() < 0:
        raise graph.TypeRuleError("a node has no such feature or mode")
    if not _are_numbers(roots, count) or not _are_numbers(children, count):
        raise graph.TypeRuleError("a node follows that is not there")
    codes = np.array([*_OUTCOMES, EQUAL])[modes]
    outcomes = np.where(missing != 0, codes | UNORDERED, codes)
    forest = Forest(np.array(roots), np.array(features), thresholds, outcomes, np.array(children))
    asks_members = np.flatnonzero(modes == len(MODES)).tolist()
    if len(asks_members) != len(members):
        raise graph.TypeRuleError(
            f"{len(members)} sets of members for {len(asks_members)} nodes that ask for them"
        )
    for node, values in zip(asks_members, members, strict=True):
        forest = _with_members(forest, node, values)
    return forest


def _are_numbers(values: Sequence[int] | np.ndarray, count: int) -> bool:
    return int(np.max(values, initial=-1)) < count


@dataclass(frozen=True)
class LeafWeights:
    """Entries of leaves: the number of a leaf, a target, and the weight of the leaf for it."""

    leaves: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    def first_of_each_leaf(self) -> "LeafWeights":
        """Without entries of leaves that have one before.

        ONNX Runtime reads no others for a single target, and skl2onnx writes the number of a leaf
        (``decision_leaf``) once for each class. With several targets, repeated entries are added.
        """
        _, first = np.unique(self.leaves, return_index=True)
        return LeafWeights(self.leaves[first], self.targets[first], self.weights[first])


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
        modes = attributes["modes"] or []
        unknown = set(modes) - {*_MODE_NUMBERS, _LEAF}
        if unknown:
            raise graph.TypeRuleError(f"nodes_modes holds {', '.join(sorted(unknown))}")
        numbers = _MODE_NUMBERS | {_LEAF: len(MODES)}
        self.modes = np.fromiter(map(numbers.__getitem__, modes), np.int8, len(modes))
        trees, ids = (np.array(attributes[name] or [], np.int64) for name in ("treeids", "nodeids"))
        if not len(trees) == len(ids) == len(self.modes):
            raise graph.TypeRuleError("the lists of a tree's nodes differ in length")
        self._index = _PairIndex(trees, ids)
        is_leaf = self.modes == len(MODES)
        inner, leaves = np.cumsum(~is_leaf) - 1, np.cumsum(is_leaf)
        self.leaves = int(is_leaf.sum())
        self.numbers = np.where(is_leaf, -leaves, inner)
        """The number of each node, as `graph.tree_leaves` numbers nodes and leaves."""
        self.inner = np.flatnonzero(~is_leaf)
        self.trees = trees
        _, first = np.unique(trees, return_index=True)
        self.roots = self.numbers[np.sort(first)].tolist()

    def forest(self) -> Forest:
        sides = [self._following(self._given[name]) for name in ("truenodeids", "falsenodeids")]
        values = self._given["values_as_tensor"]
        values = np.array(self._given["values"] or [], np.float32) if values is None else values
        missing = self._given["missing_value_tracks_true"]
        return build_forest(
            self.roots,
            self._of_inner(self._given["featureids"]),
            values[self.inner],
            self.modes[self.inner],
            np.stack(sides, axis=1) if len(self.inner) else np.zeros((0, 2)),
            self._of_inner(missing) if missing else None,
        )

    def entries(
        self,
        trees: Sequence[int] | None,
        nodes: Sequence[int] | None,
        targets: Sequence[int] | None,
        weights: Sequence[float] | np.ndarray | None,
    ) -> LeafWeights:
        """The entries of leaves; those of inner nodes are ignored."""
        columns = (trees, np.int64), (nodes, np.int64), (targets, np.int64), (weights, np.float64)
        arrays = [np.array([] if given is None else given, dtype) for given, dtype in columns]
        if len({len(array) for array in arrays}) > 1:
            raise graph.TypeRuleError("the lists of what leaves say differ in length")
        numbers = self.numbers[self._index.positions(*arrays[:2])]
        of_leaves = numbers < 0
        return LeafWeights(-1 - numbers[of_leaves], *(array[of_leaves] for array in arrays[2:]))

    def _of_inner(self, values: Sequence[int] | None) -> np.ndarray:
        return np.array(values or [], np.int64)[self.inner]

    def _following(self, ids: Sequence[int] | None) -> np.ndarray:
        below = np.array(ids or [], np.int64)
        if len(below) != len(self.trees):
            raise graph.TypeRuleError("the lists of a tree's nodes differ in length")
        return self.numbers[self._index.positions(self.trees[self.inner], below[self.inner])]


class _PairIndex:
    """The positions of nodes, by tree and number in the tree; the last one of equal pairs."""

    def __init__(self, trees: np.ndarray, ids: np.ndarray):
        self._trees, tree = np.unique(trees, return_inverse=True)
        self._ids, number = np.unique(ids, return_inverse=True)
        keys = tree * len(self._ids) + number
        are_sorted = bool((keys[1:] > keys[:-1]).all())  # as most exporters write them
        self._order = np.arange(len(keys)) if are_sorted else np.argsort(keys, kind="stable")
        self._keys = keys if are_sorted else keys[self._order]

    def positions(self, trees: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The position of each pair. TypeRuleError if there is none."""
        if not len(trees):
            return np.zeros(0, np.int64)
        tree, number = np.searchsorted(self._trees, trees), np.searchsorted(self._ids, ids)
        keys = tree * len(self._ids) + number
        at = np.searchsorted(self._keys, keys, side="right") - 1
        found = (
            (np.append(self._trees, 0)[tree] == trees) & (np.append(self._ids, 0)[number] == ids)
            & (np.append(self._keys, -1)[at] == keys) & (tree < len(self._trees))
            & (number < len(self._ids))
        )  # fmt: skip
        if not found.all():
            missing = int(np.argmin(found))
            raise graph.TypeRuleError(f"tree {trees[missing]} has no node {ids[missing]}")
        return self._order[at]
