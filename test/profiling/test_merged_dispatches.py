"""Profiles of models whose kernels run in one dispatch."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphc

WIDTH = 64


@pytest.fixture(scope="module")
def model():
    """A normalization and a matmul, of one row."""
    values = {"scale": np.ones(WIDTH, np.float32), "w": np.eye(WIDTH, dtype=np.float32)}
    nodes = [
        helper.make_node("LayerNormalization", ["x", "scale"], ["h"], "norm", axis=-1),
        helper.make_node("MatMul", ["h", "w"], ["y"], "product"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, WIDTH]) for name in "xy"]
    constants = [numpy_helper.from_array(value, name) for name, value in values.items()]
    graph = helper.make_graph(nodes, "merged", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def profile(model, **options):
    feeds = {"x": np.ones((1, WIDTH), np.float32)}
    return graphc.profile(model, feeds, runs=2, threads=1, **options)


def test_a_merged_dispatch_names_all_nodes(model):
    found = profile(model)
    (row,) = found.rows
    assert set(row.nodes) == {"norm", "product"}
    assert found.table().endswith("several kernels: 1 (--by-node shows these kernels)")


def test_kernels_by_node(model):
    found = profile(model, by_node=True)
    assert sorted(row.nodes for row in found.rows) == [("norm",), ("product",)]
    assert "--by-node" not in found.table()
