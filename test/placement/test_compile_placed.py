"""`graphc.compile` with `place`: models in parts on several devices."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphc
from graphc import placement
from graphc.errors import FeedError, UsageError

pytest.importorskip("scipy")
pytest.importorskip("onnxruntime")
TARGET = ["cpu", "onnxruntime"]
X = np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)


@pytest.fixture(scope="module")
def dense() -> onnx.ModelProto:
    weights = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="matmul"),
        helper.make_node("Softmax", ["m"], ["y"], name="softmax"),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 8]) for n in "xy")
    graph = helper.make_graph(
        nodes, "dense", [x], [y], [onnx.numpy_helper.from_array(weights, "w")]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "place.json"
    nodes = {"matmul": "cpu", "softmax": "onnxruntime"}
    path.write_text(json.dumps({"format": 1, "devices": TARGET, "nodes": nodes}))
    return path


def _expected(model):
    with graphc.compile(model, "interpret") as interpreted:
        return interpreted.run(None, {"x": X})[0]


@pytest.mark.parametrize("feeds", [None, {"x": X}, lambda inputs: {inputs[0].name: X}])
def test_a_model_is_placed_by_measurement(dense, feeds):
    dims = {"n": 4}
    with graphc.compile(dense, TARGET, place="auto", feeds=feeds, dims=dims, threads=1) as model:
        np.testing.assert_allclose(model(X), _expected(dense), rtol=1e-5)
        assert [spec.shape for spec in model.inputs] == [(4, 8)]
        assert {node for part in model.parts for node in part.nodes} == {"matmul", "softmax"}
        assert str(model.report).startswith("predicted: ")


def test_a_model_is_placed_by_a_file(dense, file, tmp_path):
    model = graphc.compile(dense, TARGET, place=file)
    assert [part.device for part in model.parts] == TARGET
    np.testing.assert_allclose(model.run(["y"], {"x": X})[0], _expected(dense), rtol=1e-5)
    assert model.report.chosen == f"placement: {file}"
    with pytest.raises(UsageError, match="'dense' runs in parts on several devices, for which the"):
        model.save(tmp_path / "m.gcm")
    model.close()
    with pytest.raises(UsageError, match="closed"):
        model(X)


def test_a_model_is_placed_by_a_plan(dense):
    plan = placement.place(dense, TARGET, {"x": X})
    with graphc.compile(dense, TARGET, place=plan) as model:
        np.testing.assert_allclose(model(X), _expected(dense), rtol=1e-5)
        assert model.report.chosen == str(plan)
        assert model.report.to_dict()["parts"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "cpu"}, "among two or more targets, not from 'cpu'"),
        ({"target": ["cpu"]}, "two or more targets"),
        ({"target": ["cpu", "cpu"]}, "different ones"),
        ({"target": ["cpu", "host"]}, "names onnxruntime, the target"),
        ({"precision": "strict"}, "does not take precision"),
        ({"outputs": ["y"]}, "does not take outputs"),
        ({"cache": False}, "does not take cache"),
        ({"feeds": {"x": X}}, "feeds are for tune"),
        ({"place": "fast"}, "'fast' is no placement file"),
        ({"tuning_database": "x"}, "placed or tuned, not both"),
    ],
)
def test_contradictions_are_errors(dense, file, arguments, message):
    given = {"target": TARGET, "place": file, **arguments}
    if given["target"] == ["cpu", "cpu"]:
        given["place"] = "auto"
    with pytest.raises(UsageError, match=message):
        graphc.compile(dense, **given)


def test_text_is_not_random():
    word = helper.make_tensor_value_info("word", TensorProto.STRING, [1])
    node = helper.make_node("Identity", ["word"], ["same"], name="same")
    same = helper.make_tensor_value_info("same", TensorProto.STRING, [1])
    model = helper.make_model(helper.make_graph([node], "text", [word], [same]), ir_version=8)
    with pytest.raises(FeedError, match="give feeds for word"):
        graphc.compile(model, ["onnxruntime", "host"], place="auto")
