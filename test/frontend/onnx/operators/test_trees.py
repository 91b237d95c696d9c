"""Ensembles of decision trees, against a walk in Python and ONNX Runtime."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numerics import Cases, Feed, compare, evaluate, output_names, run_compiled
from onnx import numpy_helper

from graphc.dialects import graph
from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx
from graphc.frontend.onnx.operators.forest import Forest, _PairIndex

_random = np.random.default_rng(0)
_DOMAIN = "ai.onnx.ml"
_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_COMPARED_WITH_NAN = _MODES[:-1]
"""ONNX Runtime takes the true branch where NaN meets BRANCH_NEQ, whatever the node says."""
_FEATURES = 4


def _cases(opset: int = 3) -> Cases:
    return Cases(opset=18, domains={_DOMAIN: opset})


@dataclass
class Trees:
    """Random trees, as the lists that the attributes ``nodes_*`` are."""

    trees: int
    modes: tuple[str, ...] = _MODES
    missing: bool = True
    nodes: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self):
        for tree in range(self.trees):
            self._grow(tree, depth=int(_random.integers(0, 5)))

    def _grow(self, tree: int, depth: int) -> int:
        node = {"treeids": tree, "nodeids": sum(n["treeids"] == tree for n in self.nodes)}
        self.nodes.append(node)
        is_leaf = depth == 0 or (_random.random() < 0.2 and node["nodeids"] > 0)
        node["modes"] = "LEAF" if is_leaf else str(_random.choice(self.modes))
        node["featureids"] = int(_random.integers(_FEATURES))
        node["values"] = float(_random.integers(-2, 3)) / 2
        node["missing_value_tracks_true"] = int(self.missing and _random.integers(2))
        node["truenodeids"] = 0 if is_leaf else self._grow(tree, depth - 1)
        node["falsenodeids"] = 0 if is_leaf else self._grow(tree, depth - 1)
        return node["nodeids"]

    @property
    def attributes(self) -> dict[str, list]:
        return {f"nodes_{name}": [node[name] for node in self.nodes] for name in self.nodes[0]}

    def says(self, kind: str, targets: int, low: float = -1) -> dict[str, list]:
        """Weights of every leaf for some of the targets."""
        entries = [
            (node, target)
            for node in self.nodes
            if node["modes"] == "LEAF"
            for target in range(targets)
            if targets == 1 or _random.random() < 0.8
        ]
        return {
            f"{kind}_treeids": [node["treeids"] for node, _ in entries],
            f"{kind}_nodeids": [node["nodeids"] for node, _ in entries],
            f"{kind}_ids": [target for _, target in entries],
            f"{kind}_weights": _random.uniform(low, 1, len(entries)).astype(np.float32).tolist(),
        }


def _examples(count: int, missing: bool = True) -> np.ndarray:
    x = (_random.integers(-3, 4, (count, _FEATURES)) / 2).astype(np.float32)
    if missing:
        x[_random.random(x.shape) < 0.1] = np.nan
    return x


def test_regressors():
    cases = _cases()
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        trees = Trees(5, missing=False)
        cases.add(
            "TreeEnsembleRegressor", _examples(30, missing=False), domain=_DOMAIN, n_targets=2,
            aggregate_function=aggregate, base_values=[0.5, -1.0],
            **trees.attributes, **trees.says("target", 2),
        )  # fmt: skip
    for modes in (("BRANCH_LEQ",), ("BRANCH_LT", "BRANCH_GT")):
        trees = Trees(40, modes)
        x = Feed(_examples(30), ["n", _FEATURES])
        cases.add("TreeEnsembleRegressor", x, domain=_DOMAIN, n_targets=1,
                  **trees.attributes, **trees.says("target", 1))  # fmt: skip
    stump = Trees(1)
    stump.nodes = stump.nodes[:1]
    stump.nodes[0] |= {"modes": "LEAF", "truenodeids": 0, "falsenodeids": 0}
    cases.add("TreeEnsembleRegressor", _examples(3), domain=_DOMAIN, n_targets=1,
              **stump.attributes, **stump.says("target", 1))  # fmt: skip
    cases.compare_with_onnxruntime()


def test_a_missing_value_goes_where_the_node_says():
    cases = _cases()
    attributes = Trees(1, ("BRANCH_EQ",)).attributes
    attributes = {name: [values[0]] * 3 for name, values in attributes.items()}
    attributes |= {"nodes_nodeids": [0, 1, 2], "nodes_modes": ["", "LEAF", "LEAF"]}
    attributes |= {"nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0]}
    leaves = {"target_nodeids": [1, 2], "target_treeids": [0, 0], "target_ids": [0, 0]}
    expected = []
    for mode in _MODES:
        for missing in (0, 1):
            attributes["nodes_modes"][0] = mode
            attributes["nodes_missing_value_tracks_true"] = [missing, 0, 0]
            cases.add(
                "TreeEnsembleRegressor", np.full((1, 4), np.nan, np.float32), domain=_DOMAIN,
                n_targets=1, target_weights=[1.0, 2.0], **attributes, **leaves,
            )  # fmt: skip
            expected.append(np.array([[1 if missing else 2]], np.float32))
    model = cases.model()
    compare(evaluate(model, {**cases.feeds}), expected, output_names(model))
    compare(run_compiled(model, {**cases.feeds}), expected, output_names(model))


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
def test_classifiers_of_many_classes(transform):
    cases = _cases()
    trees = Trees(6, _COMPARED_WITH_NAN)
    x = _examples(20)
    for given in (x, Feed(x, ["n", "features"]), (x * 2).astype(np.float64)):
        cases.add(
            "TreeEnsembleClassifier", given, domain=_DOMAIN, outputs=2, tolerance=1e-5,
            classlabels_int64s=[10, 20, 15], base_values=[0.1, 0.2, 0.3],
            post_transform=transform, **trees.attributes, **trees.says("class", 3),
        )  # fmt: skip
    cases.compare_with_onnxruntime()


def test_binary_classifiers():
    """Weights of one class: ONNX Runtime reads them as those of the second."""
    cases = _cases()
    trees = Trees(3, _COMPARED_WITH_NAN)
    for transform, low in (("NONE", -1), ("LOGISTIC", -1), ("NONE", 0), ("LOGISTIC", 0)):
        for base in ({}, {"base_values": [0.25]}):
            cases.add(
                "TreeEnsembleClassifier", _examples(20), domain=_DOMAIN, outputs=2,
                classlabels_int64s=[3, 7], post_transform=transform, tolerance=1e-5, **base,
                **trees.attributes, **trees.says("class", 1, low),
            )  # fmt: skip
    cases.compare_with_onnxruntime()


def test_binary_classifiers_by_the_second_class():
    """Weights of class 1 of two are its scores; the first class has none."""
    cases = _cases()
    trees = Trees(3, _COMPARED_WITH_NAN)
    for transform, low in (("NONE", -1), ("NONE", 0), ("LOGISTIC", -1), ("SOFTMAX", 0)):
        says = trees.says("class", 1, low)
        says["class_ids"] = [1] * len(says["class_ids"])
        cases.add(
            "TreeEnsembleClassifier", _examples(20), domain=_DOMAIN, outputs=2,
            classlabels_int64s=[3, 7], post_transform=transform, tolerance=1e-5,
            **trees.attributes, **says,
        )  # fmt: skip
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize("aggregate", ["SUM", "MIN"])
def test_entries_that_repeat(aggregate):
    """A leaf that says something of the only target twice: the first counts. The operator's text
    is silent; skl2onnx writes such entries and means one, and ONNX Runtime reads one. Of several
    targets, ONNX Runtime and ONNX's evaluator add them.
    """
    cases = _cases()
    trees = Trees(2, _COMPARED_WITH_NAN)
    for targets in (1, 2):
        says = trees.says("target", targets)
        says = {name: [*values, *values] for name, values in says.items()}
        cases.add(
            "TreeEnsembleRegressor", _examples(10), domain=_DOMAIN, n_targets=targets,
            aggregate_function=aggregate, **trees.attributes, **says,
        )  # fmt: skip
    cases.compare_with_onnxruntime()


def _tensor(values: Any, dtype: Any) -> Any:
    return numpy_helper.from_array(np.array(values, dtype))


def _ensemble(dtype: Any, **others: Any) -> dict[str, Any]:
    """One tree: ``x[0] in {1, 3, nan}``, then ``x[1] > 0``; three leaves."""
    return {
        "tree_roots": [0],
        "nodes_featureids": [0, 1],
        "nodes_modes": _tensor([6, 3], np.uint8),
        "nodes_splits": _tensor([0, 0], dtype),
        "nodes_trueleafs": [1, 1],
        "nodes_truenodeids": [0, 1],
        "nodes_falseleafs": [0, 1],
        "nodes_falsenodeids": [1, 2],
        "leaf_targetids": [0, 1, 0],
        "leaf_weights": _tensor([5, 7, 9], dtype),
        "membership_values": _tensor([1, 3, np.nan], dtype),
        "n_targets": 2,
        **others,
    }


def test_ensembles_with_sets_of_members():
    x = np.array([[1, 0], [3, 0], [2, 1], [4, -1], [np.nan, 1]])
    expected = []
    cases = _cases(5)
    for dtype in (np.float32, np.float64, np.float16):
        cases.add("TreeEnsemble", x.astype(dtype), domain=_DOMAIN, **_ensemble(dtype))
        expected.append(np.array([[5, 0], [5, 0], [0, 7], [9, 0], [0, 7]], dtype))
    missing = _ensemble(np.float32, nodes_missing_value_tracks_true=[1, 0], post_transform=2)
    cases.add("TreeEnsemble", x.astype(np.float32), domain=_DOMAIN, **missing)
    scores = np.array([[5, 0], [5, 0], [0, 7], [9, 0], [5, 0]], np.float32)
    expected.append((1 / (1 + np.exp(-scores))).astype(np.float32))
    none = np.zeros((0, 2), np.float32)
    cases.add("TreeEnsemble", none, domain=_DOMAIN, **_ensemble(np.float32))
    expected.append(none)
    model = cases.model()
    compare(evaluate(model, cases.feeds), expected, output_names(model))
    compare(run_compiled(model, cases.feeds), expected, output_names(model))


def _import_ensemble(x: np.ndarray, **attributes: Any) -> None:
    cases = _cases(5)
    cases.add("TreeEnsemble", x, domain=_DOMAIN, **_ensemble(np.float32, **attributes))
    import_onnx(cases.model())


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"nodes_falsenodeids": [0, 2]}, "cycle"),
        ({"nodes_falsenodeids": [2, 2]}, "a node follows that is not there"),
        ({"nodes_falsenodeids": [1, 3]}, "a leaf follows that is not there"),
        ({"nodes_featureids": [0, 2]}, "the trees compare 3 features, but rows have 2"),
        ({"leaf_targetids": [0, 2, 0]}, "a leaf says something of target 2 of 2"),
        ({"nodes_featureids": [0]}, "differ in length"),
        ({"aggregate_function": 4}, "4 is none of AVERAGE"),
        ({"membership_values": _tensor([1], np.float32)}, "0 sets of members for 1 nodes"),
    ],
)
def test_what_is_refused(attributes, reason):
    with pytest.raises(InvalidModelError, match=reason):
        _import_ensemble(np.zeros((1, 2), np.float32), **attributes)


def test_string_labels_are_not_supported():
    cases = _cases()
    trees = Trees(1)
    attributes = trees.attributes | trees.says("class", 2) | {"classlabels_strings": ["a", "b"]}
    cases.add("TreeEnsembleClassifier", _examples(1), domain=_DOMAIN, outputs=2, **attributes)
    with pytest.raises(UnsupportedModelError, match="string labels"):
        import_onnx(cases.model())


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 0, 2, 1]], ids=["sorted", "shuffled"])
def test_positions_of_nodes(order):
    trees, ids = np.array([[4, 4, 7, 7], [0, 2, 0, 1]])[:, order]
    index = _PairIndex(trees, ids)
    assert index.positions(trees, ids).tolist() == [0, 1, 2, 3]
    with pytest.raises(graph.TypeRuleError, match="tree 4 has no node 1"):
        index.positions(np.array([4]), np.array([1]))


def test_depth_of_trees_that_share_nodes():
    """Each node leads to the next one only, twice: no path is longer, but there are many."""
    count = 40
    children = np.repeat(np.append(np.arange(1, count), -1)[:, None], 2, axis=1)
    nothing = np.zeros(count)
    assert Forest(np.array([0]), nothing, nothing, nothing, children)._depth() == count
