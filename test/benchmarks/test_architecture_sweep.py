"""The sweep over architectures, on small files in place of exports."""

import json

import onnx
import pytest
from onnx import TensorProto, helper

from graphc.benchmarks import architecture_sweep
from graphc.benchmarks.architecture_sweep import SweepRow, cases_of, main, measure, named_sizes
from graphc.benchmarks.measure import MeasurementPlan
from graphc.benchmarks.peers import PeerError

ROW = SweepRow("timm", "small", "torchscript")
SIZES = {"n": {"b": 2}, "length": {"s": 6}}


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    plan = MeasurementPlan(rounds=1, burst_seconds=0.0, burst_runs=1, warmup_runs=0)
    monkeypatch.setattr(architecture_sweep, "PLAN", plan)


def _file(folder, *nodes):
    tensors = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["b", "s"]) for n in "xy"]
    graph = helper.make_graph(nodes, "small", tensors[:1], tensors[1:])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("none", 1)],
        ir_version=8,
    )  # fmt: skip
    onnx.save(model, folder / "small.onnx")
    return folder / "small.onnx"


def test_all_sizes_of_a_model_are_compared(tmp_path):
    row = measure(ROW, _file(tmp_path, helper.make_node("Tanh", ["x"], ["y"])), cases_of(SIZES))
    assert row.sizes == ({"b": 2, "s": 6}, {"b": 1, "s": 6}, {"b": 1, "s": 3})
    assert (row.failed_in, row.nodes, row.host_nodes) == ("", 1, 0)
    assert row.is_good
    assert row.ratio
    assert row.difference < 1e-6


def test_named_axes_of_a_file_have_sizes(tmp_path):
    path = _file(tmp_path, helper.make_node("Tanh", ["x"], ["y"]))
    assert named_sizes(path, {}) == {"n": {"b": 2}, "length": {"s": 64}}
    assert named_sizes(path, {"s": 5, "b": 3}) == {"n": {"b": 3}, "length": {"s": 5}}


def test_files_are_swept(tmp_path, capsys):
    path = _file(tmp_path, helper.make_node("Tanh", ["x"], ["y"]))
    lines = tmp_path / "lines.jsonl"
    assert main(["files", str(path), "--size", "s=6", "--lines", str(lines)]) == 0
    assert "small" in capsys.readouterr().out
    assert json.loads(lines.read_text())["sizes"][0] == {"b": 2, "s": 6}


def test_equal_cases_are_one():
    assert cases_of({"n": {"b": 2}, "length": {}}) == [{"b": 2}, {"b": 1}]


def test_a_model_that_onnxruntime_refuses_is_not_held_against_graphc(tmp_path):
    unknown = helper.make_node("Nothing", ["x"], ["y"], domain="none")
    row = measure(ROW, _file(tmp_path, unknown), cases_of(SIZES))
    assert (row.failed_in, row.is_good, row.ratio) == ("onnxruntime", True, None)


def test_a_model_that_graphc_refuses_is_a_fault(tmp_path, monkeypatch):
    def refuse(*_):
        raise PeerError("no such operator")

    monkeypatch.setattr(architecture_sweep, "load_graphc", refuse)
    row = measure(ROW, _file(tmp_path, helper.make_node("Tanh", ["x"], ["y"])), cases_of(SIZES))
    assert (row.failed_in, row.is_good) == ("graphc", False)
    assert "no such operator" in row.fault


def test_differences_are_judged_beside_those_of_onnxruntime():
    good = SweepRow("timm", "x", "dynamo", difference=5e-4, their_difference=6e-5)
    bad = SweepRow("timm", "x", "dynamo", difference=5e-4, their_difference=4e-5)
    assert good.is_good
    assert not bad.is_good
