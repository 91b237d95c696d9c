"""Random ensembles of decision trees, and their values."""

from typing import Any

import numpy as np
from onnx import TensorProto, helper

import graphc
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)
LEQ = ("BRANCH_LEQ",)
ORDERED = (*LEQ, "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")
ANY = (*ORDERED, "BRANCH_EQ")
_FEATURES = 5


def _grow(tree: int, depth: int, modes: tuple[str, ...], nodes: list[dict[str, Any]]) -> int:
    """Add a random tree to `nodes`; the number of its root."""
    number = sum(node["treeids"] == tree for node in nodes)
    is_leaf = depth == 0 or (number > 0 and _random.random() < 0.2)
    node = {"treeids": tree, "nodeids": number, "featureids": int(_random.integers(_FEATURES))}
    nodes.append(node)
    node["values"] = float(_random.integers(-2, 3))
    node["modes"] = "LEAF" if is_leaf else str(_random.choice(modes))
    node["missing_value_tracks_true"] = int(len(modes) > 1 and _random.integers(2))
    for side in ("truenodeids", "falsenodeids"):
        node[side] = 0 if is_leaf else _grow(tree, depth - 1, modes, nodes)
    return number


def tree_model(
    count: int, targets: int, modes: tuple[str, ...], dtype: Any, rows: int | str = "n",
    **others: Any,
):  # fmt: skip
    nodes: list[dict[str, Any]] = []
    for tree in range(count):
        _grow(tree, int(_random.integers(0, 7)), modes, nodes)
    says = [
        (node, target) for node in nodes if node["modes"] == "LEAF" for target in range(targets)
    ]
    attributes = {f"nodes_{name}": [node[name] for node in nodes] for name in nodes[0]}
    attributes["target_treeids"] = [node["treeids"] for node, _ in says]
    attributes["target_nodeids"] = [node["nodeids"] for node, _ in says]
    attributes["target_ids"] = [target for _, target in says]
    attributes["target_weights"] = _random.integers(-9, 9, len(says)).astype(float).tolist()
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=targets,
        **attributes, **others,
    )  # fmt: skip
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = helper.make_tensor_value_info("x", element, [rows, _FEATURES])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, targets])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    body = helper.make_graph([node], "g", [x], [y])
    return helper.make_model(body, opset_imports=opsets, ir_version=9)


def examples(rows: int, dtype: Any) -> np.ndarray:
    x = _random.integers(-3, 4, (rows, _FEATURES)).astype(dtype)
    special = _random.choice([np.nan, np.inf, -np.inf, -0.0], x.shape)
    return np.where(_random.random(x.shape) < 0.1, special, x).astype(dtype)


def check(
    model: Any, dtype: Any, rows: tuple[int, ...], kernel: str = "tree-votes", **options: Any
) -> None:
    """Compare for several numbers of `rows`. The weights are integers, whose sums are exact."""
    compiled = graphc.compile(model, cache=False, **options)
    assert f"x {kernel}" in str(compiled.report)
    module = import_onnx(model)
    (function,) = module.body.operations
    for count in rows:
        x = examples(count, dtype)
        (wanted,) = evaluate_function(function, [x])
        np.testing.assert_array_equal(compiled(x), wanted)
