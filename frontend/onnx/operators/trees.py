"""Ensembles of decision trees."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import onnx_op
from .forest import Forest, LeafWeights, NamedNodes, build_forest
from .scores import as_floats, as_matrix, integer_labels, label_by_sign, label_of_largest
from .scores import post_transform as transformed

_DOMAIN = "ai.onnx.ml"
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_NEUTRAL = {"MIN": np.inf, "MAX": -np.inf}


def _votes(x: ir.Value, forest: Forest, weights: np.ndarray, aggregate: str) -> ir.Value:
    """Aggregate the weights of the leaves that `x` reaches, for each target, over all trees.

    `weights` has a row for each leaf and a column for each target, with the neutral element of
    `aggregate` where a leaf has no weight. A target without any weight gets 0.
    """
    if aggregate not in _AGGREGATES:
        raise graph.TypeRuleError(f"aggregate_function '{aggregate}' is unknown")
    table = graph.constant(value=weights)
    said = graph.gather(table, forest.leaves(x), axis=0)
    if aggregate in ("SUM", "AVERAGE"):
        total = graph.reduce_sum(said, axes=[1], keepdims=False)
        if aggregate == "SUM":
            return total
        return graph.div(total, graph.splat_like(len(forest.roots), total))
    reduce = graph.reduce_min if aggregate == "MIN" else graph.reduce_max
    found = reduce(said, axes=[1], keepdims=False)
    neutral = graph.splat_like(_NEUTRAL[aggregate], found)
    return graph.where(graph.equal(found, neutral), graph.splat_like(0, found), found)


def _weights_of_leaves(
    entries: LeafWeights, leaves: int, targets: int, aggregate: str, dtype: Any
) -> np.ndarray:
    """The table for `_votes`."""
    table = np.full((max(leaves, 1), targets), _NEUTRAL.get(aggregate, 0), dtype)
    unknown = (entries.targets < 0) | (entries.targets >= targets)
    if unknown.any():
        target = entries.targets[np.argmax(unknown)]
        raise graph.TypeRuleError(f"a leaf says something of target {target} of {targets}")
    combine = {"MIN": np.minimum, "MAX": np.maximum}.get(aggregate, np.add)
    combine.at(table, (entries.leaves, entries.targets), entries.weights.astype(dtype))
    return table


@onnx_op("TreeEnsemble", since=5, domain=_DOMAIN)
def tree_ensemble(
    x,
    *,
    leaf_targetids,
    leaf_weights,
    nodes_falseleafs,
    nodes_falsenodeids,
    nodes_featureids,
    nodes_modes,
    nodes_splits,
    nodes_trueleafs,
    nodes_truenodeids,
    tree_roots,
    aggregate_function=1,
    membership_values=None,
    n_targets=None,
    nodes_hitrates=None,
    nodes_missing_value_tracks_true=None,
    post_transform=0,
):
    del nodes_hitrates
    x = as_matrix(x)
    sides = ((nodes_truenodeids, nodes_trueleafs), (nodes_falsenodeids, nodes_falseleafs))
    ways = [_ways(ids, are_leaves, len(leaf_weights)) for ids, are_leaves in sides]
    if len(ways[0]) != len(ways[1]) or len(leaf_targetids) != len(leaf_weights):
        raise graph.TypeRuleError("the lists of an ensemble differ in length")
    members = [] if membership_values is None else _sets(membership_values)
    forest = build_forest(
        tree_roots, nodes_featureids, nodes_splits.copy(), nodes_modes.tolist(),
        np.stack(ways, axis=1), nodes_missing_value_tracks_true, members,
    )  # fmt: skip
    aggregate = _named(_AGGREGATES, aggregate_function)
    dtype = graph.type_of(x).dtype
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    targets = max(leaf_targetids, default=0) + 1 if n_targets is None else n_targets
    entries = LeafWeights(
        np.arange(len(leaf_weights)), np.array(leaf_targetids, np.int64), np.array(leaf_weights)
    )
    weights = _weights_of_leaves(entries, len(leaf_weights), targets, aggregate, wide)
    scores = _votes(x, forest, weights, aggregate)
    scores = transformed(scores, _named(_TRANSFORMS, post_transform))
    return scores if dtype == wide else graph.cast(scores, to=dtype)


def _ways(ids: Sequence[int], are_leaves: Sequence[int], leaves: int) -> np.ndarray:
    numbers, is_leaf = np.array(ids, np.int64), np.array(are_leaves) != 0
    if numbers.shape != is_leaf.shape or numbers.min(initial=0) < 0:
        raise graph.TypeRuleError("the lists of an ensemble differ in length")
    if numbers[is_leaf].max(initial=-1) >= leaves:
        raise graph.TypeRuleError("a leaf follows that is not there")
    return np.where(is_leaf, -1 - numbers, numbers)


def _sets(values: np.ndarray) -> list[np.ndarray]:
    """The sets that NaN ends."""
    ends = np.flatnonzero(np.isnan(values.astype(np.float64)))
    return [part[~np.isnan(part)] for part in np.split(values, ends + 1)[: len(ends)]]


def _named(names: Sequence[str], number: int) -> str:
    if not 0 <= number < len(names):
        raise graph.TypeRuleError(f"{number} is none of {', '.join(names)}")
    return names[number]


def _base(base_values: Sequence[float] | None, as_tensor: np.ndarray | None) -> np.ndarray:
    return np.array(base_values or []) if as_tensor is None else as_tensor


def _plus(scores: ir.Value, base: np.ndarray) -> ir.Value:
    if not base.size:
        return scores
    return graph.add(scores, graph.constant(value=base.astype(graph.type_of(scores).dtype)))


def _f32(x: ir.Value) -> ir.Value:
    return x if graph.type_of(x).dtype == np.float32 else graph.cast(x, to=np.float32)


@onnx_op("TreeEnsembleRegressor", domain=_DOMAIN)
def tree_ensemble_regressor(
    x,
    *,
    aggregate_function="SUM",
    base_values=None,
    base_values_as_tensor=None,
    n_targets=1,
    nodes_falsenodeids=None,
    nodes_featureids=None,
    nodes_hitrates=None,
    nodes_hitrates_as_tensor=None,
    nodes_missing_value_tracks_true=None,
    nodes_modes=None,
    nodes_nodeids=None,
    nodes_treeids=None,
    nodes_truenodeids=None,
    nodes_values=None,
    nodes_values_as_tensor=None,
    post_transform="NONE",
    target_ids=None,
    target_nodeids=None,
    target_treeids=None,
    target_weights=None,
    target_weights_as_tensor=None,
):
    del nodes_hitrates, nodes_hitrates_as_tensor
    nodes = NamedNodes(
        modes=nodes_modes, treeids=nodes_treeids, nodeids=nodes_nodeids,
        featureids=nodes_featureids, values=nodes_values, values_as_tensor=nodes_values_as_tensor,
        truenodeids=nodes_truenodeids, falsenodeids=nodes_falsenodeids,
        missing_value_tracks_true=nodes_missing_value_tracks_true,
    )  # fmt: skip
    x = as_floats(as_matrix(x))
    weights = target_weights if target_weights_as_tensor is None else target_weights_as_tensor
    entries = nodes.entries(target_treeids, target_nodeids, target_ids, weights)
    entries = entries.first_of_each_leaf() if n_targets == 1 else entries
    dtype = graph.type_of(x).dtype
    table = _weights_of_leaves(entries, nodes.leaves, n_targets, aggregate_function, dtype)
    scores = _votes(x, nodes.forest(), table, aggregate_function)
    scores = _plus(scores, _base(base_values, base_values_as_tensor))
    return _f32(transformed(scores, post_transform))


@onnx_op("TreeEnsembleClassifier", domain=_DOMAIN)
def tree_ensemble_classifier(
    x,
    *,
    base_values=None,
    base_values_as_tensor=None,
    class_ids=None,
    class_nodeids=None,
    class_treeids=None,
    class_weights=None,
    class_weights_as_tensor=None,
    classlabels_int64s=None,
    classlabels_strings=None,
    nodes_falsenodeids=None,
    nodes_featureids=None,
    nodes_hitrates=None,
    nodes_hitrates_as_tensor=None,
    nodes_missing_value_tracks_true=None,
    nodes_modes=None,
    nodes_nodeids=None,
    nodes_treeids=None,
    nodes_truenodeids=None,
    nodes_values=None,
    nodes_values_as_tensor=None,
    post_transform="NONE",
):
    """Labels and scores. Leaves that say something of one class alone make a binary classifier:
    if that is the first of two, its scores are those of the second, as ONNX Runtime has it, and
    the first gets their complement.
    """
    del nodes_hitrates, nodes_hitrates_as_tensor
    labels = integer_labels(classlabels_int64s, classlabels_strings)
    nodes = NamedNodes(
        modes=nodes_modes, treeids=nodes_treeids, nodeids=nodes_nodeids,
        featureids=nodes_featureids, values=nodes_values, values_as_tensor=nodes_values_as_tensor,
        truenodeids=nodes_truenodeids, falsenodeids=nodes_falsenodeids,
        missing_value_tracks_true=nodes_missing_value_tracks_true,
    )  # fmt: skip
    x = as_floats(as_matrix(x))
    weights = class_weights if class_weights_as_tensor is None else class_weights_as_tensor
    entries = nodes.entries(class_treeids, class_nodeids, class_ids, weights)
    base = _base(base_values, base_values_as_tensor)
    said = set(entries.targets.tolist())
    is_binary = len(labels) <= 2 and len(said) == 1
    one_column = is_binary and said == {0}
    if one_column:
        base = base[:1]
    elif is_binary and len(base) == 1:
        base = base[:0]  # says nothing of two classes
    entries = entries.first_of_each_leaf() if len(labels) == 1 else entries
    targets = 1 if one_column else len(labels)
    table = _weights_of_leaves(entries, nodes.leaves, targets, "SUM", graph.type_of(x).dtype)
    scores = _plus(_votes(x, nodes.forest(), table, "SUM"), base)
    if not is_binary:
        return label_of_largest(scores, labels), _f32(transformed(scores, post_transform))
    positive = entries.weights.min() >= 0
    if one_column:
        return _binary(scores, labels, positive, post_transform)
    rows = graph.type_of(scores).shape[0]
    second = graph.slice_(scores, starts=[0, 1], sizes=[rows, 1], steps=[1, 1])
    label = label_by_sign(second, 0.5 if positive else 0, _pair(labels))
    return label, _f32(transformed(scores, post_transform))


def _pair(labels: np.ndarray) -> tuple[int, int]:
    first, second = (int(label) for label in labels)
    return first, second


def _binary(scores: ir.Value, labels: np.ndarray, positive: bool, kind: str):
    """Labels, and scores of both classes from that of the second; of a single class, its own.

    Weights that are all `positive` are taken for probabilities, others for signed distances.
    """
    if len(labels) == 1:
        return label_by_sign(scores, 0, (0, 1)), _f32(transformed(scores, kind))
    chance = positive and kind in ("NONE", "PROBIT")
    opposite = graph.sub(graph.splat_like(1, scores), scores) if chance else graph.neg(scores)
    pair = graph.concat([opposite, scores], axis=1)
    label = label_by_sign(scores, 0.5 if positive else 0, _pair(labels))
    return label, _f32(transformed(pair, kind))
