"""The kernel for ensembles of decision trees, against the ops that it replaces, in numpy."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from onnx import helper
from tree_models import ANY, LEQ, check, examples, tree_model

import graphc
from graphc.cpu_model import CpuModel
from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.frontend.onnx import import_onnx
from graphc.passes.cpu import select_tree_kernels
from graphc.passes.kernels import leaf_votes
from graphc.passes.kernels import trees as kernel
from graphc.passes.kernels.trees import TreeVotesShape
from graphc.passes.pipelines import graph_pipeline
from harness.marks import long


@pytest.fixture(autouse=True)
def _walks(monkeypatch):
    monkeypatch.setattr(select_tree_kernels, "cycles_of_scans", lambda _: math.inf)


@pytest.mark.parametrize("modes", [LEQ, ANY], ids=["one comparison", "several"])
@pytest.mark.parametrize(("trees", "targets"), [(1, 1), long(8, 3), long(29, 1), (13, 21)])
def test_sums(modes, trees, targets):
    """Rows and trees that are walked together, and those that are left."""
    check(tree_model(trees, targets, modes, np.float32), np.float32, (0, 1, 8, 67, 200))


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
    model = tree_model(1, 1, LEQ, np.float32)
    del model.graph.node[0].attribute[:]
    for name, values in attributes.items():
        attribute = helper.make_attribute(name, [*map(_plain, values)])
        model.graph.node[0].attribute.append(attribute)
    check(model, np.float32, (1, 3, 17))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("aggregate", ["MIN", "MAX", "AVERAGE"])
def test_aggregates(aggregate):
    model = tree_model(8, 2, ANY, np.float32, aggregate_function=aggregate)
    check(model, np.float32, (3, 16))


def test_rows_of_known_number():
    check(tree_model(8, 2, LEQ, np.float32, rows=2001), np.float32, (2001,))


@pytest.mark.parametrize("reduction", ["SUM", "MIN"])
def test_trees_shared_by_threads(reduction, monkeypatch):
    """Few rows by parts of the trees, of which each is walked in several portions."""
    monkeypatch.setattr(leaf_votes, "LEAST_SHARE", 8)
    monkeypatch.setattr(kernel, "MOST_TREES", 9)
    model = tree_model(59, 7, LEQ, np.float32, aggregate_function=reduction)
    check(model, np.float32, (1, 3, 8, 67, 130), threads=3)
    if reduction == "SUM":
        check(tree_model(43, 1, ANY, np.float64, rows=5), np.float64, (5,), threads=3)


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


@pytest.mark.parametrize("modes", [LEQ, ANY], ids=["one comparison", "several"])
def test_doubles(modes):
    check(tree_model(9, 2, modes, np.float64), np.float64, (1, 9))


def test_packed_offsets():
    numbers = np.array([0, 1, 7, -1, -2, -9])
    offsets = graph.pack_children(numbers)
    assert offsets.tolist() == [0, 4, 28, -4, -8, -36]
    np.testing.assert_array_equal(graph.unpack_children(offsets), numbers)


@pytest.mark.parametrize("mode", [*ANY, "BRANCH_NEQ"])
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
    model = tree_model(1, 1, LEQ, np.float32)
    del model.graph.node[0].attribute[:]
    given = attributes.items()
    model.graph.node[0].attribute.extend(helper.make_attribute(*each) for each in given)
    check(model, np.float32, (40,))


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
    model = tree_model(9, 2, ANY, np.float32)
    with graphc.compile(model, pipeline=pipeline, threads=2) as compiled:
        x, module = examples(131, np.float32), import_onnx(model)
        (function,) = module.body.operations
        np.testing.assert_array_equal(compiled(x), evaluate_function(function, [x])[0])
