"""The kernel for ensembles of decision trees, against the ops that it replaces, in numpy."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.frontend.onnx import import_onnx
from graphc.passes.kernels import leaf_votes
from graphc.passes.kernels import trees as kernel
from graphc.passes.kernels.trees import TreeVotesShape
from graphc.passes.pipelines import graph_pipeline
from harness.marks import long

_random = np.random.default_rng(0)
_LEQ, _ANY = ("BRANCH_LEQ",), ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ")
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


def _model(
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


def _examples(rows: int, dtype: Any) -> np.ndarray:
    x = _random.integers(-3, 4, (rows, _FEATURES)).astype(dtype)
    special = _random.choice([np.nan, np.inf, -np.inf, -0.0], x.shape)
    return np.where(_random.random(x.shape) < 0.1, special, x).astype(dtype)


def _check(model: Any, dtype: Any, rows: tuple[int, ...], **options: Any) -> None:
    """Compare for several numbers of `rows`. The weights are integers, whose sums are exact."""
    compiled = graphc.compile(model, cache=False, **options)
    assert "tree-votes" in str(compiled.report)
    module = import_onnx(model)
    (function,) = module.body.operations
    for count in rows:
        x = _examples(count, dtype)
        (wanted,) = evaluate_function(function, [x])
        np.testing.assert_array_equal(compiled(x), wanted)


@pytest.mark.parametrize("modes", [_LEQ, _ANY], ids=["one comparison", "several"])
@pytest.mark.parametrize(("trees", "targets"), [(1, 1), long(8, 3), long(29, 1), (13, 21)])
def test_sums(modes, trees, targets):
    """Rows and trees that are walked together, and those that are left."""
    _check(_model(trees, targets, modes, np.float32), np.float32, (0, 1, 8, 67, 200))


@pytest.mark.parametrize("count", [1, 9])
def test_trees_of_one_leaf(count):
    nodes = np.arange(count)
    attributes = {
        "nodes_treeids": nodes, "nodes_nodeids": nodes * 0, "nodes_featureids": nodes * 0,
        "nodes_values": nodes * 0.0, "nodes_modes": ["LEAF"] * count,
        "nodes_truenodeids": nodes * 0, "nodes_falsenodeids": nodes * 0,
        "target_treeids": nodes, "target_nodeids": nodes * 0, "target_ids": nodes * 0,
        "target_weights": nodes + 2.0,
    }  # fmt: skip
    model = _model(1, 1, _LEQ, np.float32)
    del model.graph.node[0].attribute[:]
    for name, values in attributes.items():
        attribute = helper.make_attribute(name, [*map(_plain, values)])
        model.graph.node[0].attribute.append(attribute)
    _check(model, np.float32, (1, 3, 17))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("aggregate", ["MIN", "MAX", "AVERAGE"])
def test_aggregates(aggregate):
    model = _model(8, 2, _ANY, np.float32, aggregate_function=aggregate)
    _check(model, np.float32, (3, 16))


def test_rows_of_known_number():
    _check(_model(8, 2, _LEQ, np.float32, rows=2001), np.float32, (2001,))


@pytest.mark.parametrize("reduction", ["SUM", "MIN"])
def test_trees_shared_by_threads(reduction, monkeypatch):
    """Few rows by parts of the trees, of which each is walked in several portions."""
    monkeypatch.setattr(leaf_votes, "LEAST_SHARE", 8)
    monkeypatch.setattr(kernel, "MOST_TREES", 9)
    model = _model(59, 7, _LEQ, np.float32, aggregate_function=reduction)
    _check(model, np.float32, (1, 3, 8, 67, 130), threads=3)
    if reduction == "SUM":
        _check(_model(43, 1, _ANY, np.float64, rows=5), np.float64, (5,), threads=3)


@pytest.mark.parametrize(("rows", "parts"), [(1, 2), (8, 16), (16, 8), (64, 2), (65, 1), (4000, 1)])
def test_parts_of_trees(rows, parts):
    """All threads have work, but not less than what starting them costs."""
    shape = TreeVotesShape(
        rows=rows, columns=5, trees=1000, leaves=9, targets=1, depth=5, outcomes=3,
        varying=0, reduction="sum", lanes=8, is_cached=True, threads=16,
    )  # fmt: skip
    assert (shape.parts(rows), shape.partial_rows) == (parts, rows * parts)
    assert shape.workgroups == -(-rows // 8) * parts


@pytest.mark.parametrize(
    ("table", "to"), [("children", 9), ("children", -9), ("features", 5), ("roots", 7)]
)
def test_tables_that_lead_outside(table, to):
    """The kernel trusts its tables."""
    tables = {
        "roots": np.array([0]),
        "features": np.array([1, 2]),
        "children": np.array([[1, -1], [-2, -2]]),
    }
    assert not graph.lead_outside(**tables, leaves=2, width=3)
    tables[table].flat[0] = to
    assert graph.lead_outside(**tables, leaves=2, width=3)


@pytest.mark.parametrize("modes", [_LEQ, _ANY], ids=["one comparison", "several"])
def test_doubles(modes):
    _check(_model(9, 2, modes, np.float64), np.float64, (1, 9))


def test_packed_offsets():
    numbers = np.array([0, 1, 7, -1, -2, -9])
    offsets = graph.pack_children(numbers)
    assert offsets.tolist() == [0, 4, 28, -4, -8, -36]
    np.testing.assert_array_equal(graph.unpack_children(offsets), numbers)


@pytest.mark.parametrize("mode", [*_ANY, "BRANCH_NEQ"])
@pytest.mark.parametrize("missing", [0, long(1)])
def test_each_comparison(mode, missing):
    """One node for all; its outcomes are not in the table."""
    attributes = {
        "nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0],
        "nodes_values": [1.0, 0.0, 0.0], "nodes_modes": [mode, "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "nodes_missing_value_tracks_true": [missing, 0, 0], "target_treeids": [0, 0],
        "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [3.0, 4.0],
    }  # fmt: skip
    model = _model(1, 1, _LEQ, np.float32)
    del model.graph.node[0].attribute[:]
    given = attributes.items()
    model.graph.node[0].attribute.extend(helper.make_attribute(*each) for each in given)
    _check(model, np.float32, (40,))


@pytest.mark.parametrize(("trees", "is_cached", "rows"), [
    (1, True, 64), (300, True, 8), (300, False, 64),
])  # fmt: skip
def test_rows_of_a_workgroup(trees, is_cached, rows):
    """Enough to pay for the call; more where each workgroup reads all trees from memory."""
    shape = TreeVotesShape(
        rows=1000, columns=5, trees=trees, leaves=9, targets=1, depth=12, outcomes=3,
        varying=0, reduction="sum", lanes=8, is_cached=is_cached,
    )  # fmt: skip
    assert shape.block == rows


def test_trees_beyond_the_cache():
    cpu = dataclasses.replace(CpuModel(256), l3_bytes=1 << 10)
    pipeline = graph_pipeline("cpu", cpu, int8_unit="avx2", threads=2)
    model = _model(9, 2, _ANY, np.float32)
    with graphc.compile(model, pipeline=pipeline, threads=2) as compiled:
        x, module = _examples(131, np.float32), import_onnx(model)
        (function,) = module.body.operations
        np.testing.assert_array_equal(compiled(x), evaluate_function(function, [x])[0])
