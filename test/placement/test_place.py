"""Models placed on graphc's CPU target, ONNX Runtime and the host."""

import base64
import gzip
import json
import re
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from graphc import placement
from graphc.errors import (
    FeedError,
    PlacementError,
    UsageError,
    VerificationError,
)
from graphc.frontend.onnx.structural_digest import structural_digest
from graphc.placement import backends as backends_module
from graphc.placement.calibration import read_calibration
from graphc.placement.measurement import agree
from graphc.placement.plan import make_placement_plan
from graphc.placement.region_graph import DeviceTable, Link, Region, RegionGraph, RegionValue
from graphc.tools import gc_place, gc_view

pytest.importorskip("scipy")
DEVICES = ("cpu", "onnxruntime")


def _model(nodes, inputs, outputs, initializers=()) -> onnx.ModelProto:
    proto = helper.make_graph(nodes, "model", inputs, outputs, initializers)
    return helper.make_model(
        proto,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)],
        ir_version=8,
    )


def _floats(name: str, *shape: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


@pytest.fixture(scope="module")
def residual() -> onnx.ModelProto:
    """Two matmuls with activations, and a sum over both."""
    random = np.random.default_rng(0)
    weights = [
        onnx.numpy_helper.from_array(random.standard_normal((8, 8)).astype(np.float32), name)
        for name in ("w0", "w1")
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["m0"], name="first"),
        helper.make_node("Relu", ["m0"], ["r0"], name="relu"),
        helper.make_node("MatMul", ["r0", "w1"], ["m1"], name="second"),
        helper.make_node("Add", ["m1", "r0"], ["sum"], name="sum"),
        helper.make_node("Softmax", ["sum"], ["y"], name="softmax"),
    ]
    return _model(nodes, [_floats("x", 4, 8)], [_floats("y", 4, 8)], weights)


@pytest.fixture(scope="module")
def words() -> onnx.ModelProto:
    """Labels to numbers, which only the host and ONNX Runtime look up, and a matmul."""
    lookup = helper.make_node(
        "LabelEncoder", ["word"], ["number"], name="lookup", domain="ai.onnx.ml",
        keys_strings=["a", "b"], values_floats=[1.0, 2.0],
    )  # fmt: skip
    weight = onnx.numpy_helper.from_array(np.full((1, 3), 2, np.float32), "w")
    nodes = [lookup, helper.make_node("MatMul", ["number", "w"], ["y"], name="matmul")]
    word = helper.make_tensor_value_info("word", TensorProto.STRING, [2, 1])
    return _model(nodes, [word], [_floats("y", 2, 3)], [weight])


X = np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)
WORDS = np.array([["b"], ["a"]], object)


def _reference(model: onnx.ModelProto, feeds) -> list[np.ndarray]:
    import onnxruntime

    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)


def test_a_placed_model_gives_the_results_of_one_device(residual):
    plan = placement.place(residual, DEVICES, {"x": X})
    assert plan.device_of.keys() == {"first", "relu", "second", "sum", "softmax"}
    assert [region.nodes for region in plan.regions] == [
        ("first", "relu"), ("second", "sum"), ("softmax",),
    ]  # fmt: skip
    assert set(plan.single) == set(DEVICES)
    assert plan.seconds <= min(plan.single.values()) * (1 + 1e-9)
    model = placement.open_placed(residual, plan)
    (expected,) = _reference(residual, {"x": X})
    np.testing.assert_allclose(model.run(None, {"x": X})[0], expected, rtol=1e-5)
    model.close()
    with pytest.raises(UsageError, match="closed"):
        model.run(None, {"x": X})


def test_an_edited_placement_file_is_followed(residual, tmp_path):
    placed = {"first": "cpu", "relu": "cpu", "second": "onnxruntime", "sum": "cpu"}
    path = tmp_path / "place.json"
    content = {"format": 1, "devices": DEVICES, "nodes": {**placed, "softmax": "onnxruntime"}}
    path.write_text(json.dumps(content))
    model = placement.open_placed(residual, path)
    assert [(part.device, part.nodes) for part in model.parts] == [
        ("cpu", ("first", "relu")),
        ("onnxruntime", ("second",)),
        ("cpu", ("sum",)),
        ("onnxruntime", ("softmax",)),
    ]
    (expected,) = _reference(residual, {"x": X})
    np.testing.assert_allclose(model.run(["y"], {"x": X})[0], expected, rtol=1e-5)
    with pytest.raises(FeedError, match="'x' is missing"):
        model.run(None, {"z": X})
    with pytest.raises(FeedError, match="'x'"):
        model.run(None, {"x": X[:2]})


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ({"third": "cpu"}, "the node 'third', which the model lacks"),
        ({"second": None}, "no device for the node 'second'"),
        ({"second": "tpu"}, "no target is named 'tpu'"),
    ],
)
def test_a_placement_file_that_does_not_fit_is_refused(residual, tmp_path, nodes, message):
    placed = dict.fromkeys(("first", "relu", "second", "sum", "softmax"), "cpu") | nodes
    path = tmp_path / "place.json"
    kept = {node: device for node, device in placed.items() if device}
    path.write_text(json.dumps({"format": 1, "nodes": kept}))
    with pytest.raises(UsageError, match=message):
        placement.open_placed(residual, path)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2, "nodes": {}}', '{"format": 1}', "\0"])
def test_files_of_another_kind_are_refused(residual, tmp_path, text):
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"file.json' is no placement file"):
        placement.open_placed(residual, path)
    with pytest.raises(UsageError, match=r"file.json' is no calibration file"):
        placement.place(residual, DEVICES, {"x": X}, calibration=path)


def test_text_runs_on_onnxruntime_and_numbers_anywhere(words):
    plan = placement.place(words, DEVICES, {"word": WORDS})
    assert plan.device_of["lookup"] == "onnxruntime"
    assert set(plan.single) == {"onnxruntime"}
    model = placement.open_placed(words, plan)
    np.testing.assert_array_equal(model.run(None, {"word": WORDS})[0], [[4] * 3, [2] * 3])


def test_equal_regions_that_one_device_refuses_are_measured_once():
    nodes = [
        helper.make_node("LabelEncoder", ["word"], ["other"], name="there", domain="ai.onnx.ml",
                         keys_strings=["a", "b"], values_strings=["b", "a"]),
        helper.make_node("LabelEncoder", ["other"], ["y"], name="back", domain="ai.onnx.ml",
                         keys_strings=["a", "b"], values_strings=["b", "a"]),
    ]  # fmt: skip
    ends = [helper.make_tensor_value_info(n, TensorProto.STRING, [2, 1]) for n in ("word", "y")]
    plan = placement.place(_model(nodes, ends[:1], ends[1:]), DEVICES, {"word": WORDS})
    assert set(plan.device_of.values()) == {"onnxruntime"}


def test_the_host_is_a_device(words):
    plan = placement.place(words, ("cpu", "host"), {"word": WORDS})
    assert plan.device_of["lookup"] == "host"
    model = placement.open_placed(words, plan)
    np.testing.assert_array_equal(model.run(None, {"word": WORDS})[0], [[4] * 3, [2] * 3])


def test_a_region_that_runs_nowhere_is_named(words):
    with pytest.raises(PlacementError, match="region of lookup runs nowhere: cpu: "):
        placement.place(words, ("cpu",), {"word": WORDS})


def test_devices_that_disagree_are_an_error(residual, monkeypatch):
    run = backends_module._OnnxRuntimePart.run
    wrong = {"sum"}

    def run_wrong(self, feeds):
        results = run(self, feeds)
        return {n: v + 1 if n in wrong else v for n, v in results.items()}

    monkeypatch.setattr(backends_module._OnnxRuntimePart, "run", run_wrong)
    with pytest.raises(VerificationError, match=r"value 'sum' of nodes second, sum: 'onnxruntime'"):
        placement.place(residual, DEVICES, {"x": X})


@pytest.mark.parametrize(
    ("first", "second", "quantized", "same"),
    [
        (np.float32([1, 2]), np.float32([1, 2.0001]), False, True),
        (np.float32([1, 2]), np.float32([1, 2.002]), False, False),
        (np.float32([1, 2]), np.float32([1, 2.002]), True, True),
        (np.float16([1, 2]), np.float16([1, 2.01]), False, True),
        (np.float32([np.nan, 2]), np.float32([np.nan, 2]), False, True),
        (np.float32([np.nan, 2]), np.float32([0, 2]), False, False),
        (np.array([3]), np.array([4]), True, False),  # an index
        (np.uint8([3]), np.uint8([4]), True, True),
        (np.uint8([3]), np.uint8([5]), True, False),
        (np.uint8([3]), np.uint8([4]), False, False),
        (np.array([True]), np.array([False]), True, False),
        (np.array(["a"], object), np.array(["a"], object), False, True),
        (np.array(["a"], object), np.array(["b"], object), False, False),
        (np.zeros((2, 1)), np.zeros((1, 2)), False, False),
        ([np.float32(1)], [np.float32(1)], False, True),
    ],
)
def test_agreement_of_results(first, second, quantized, same):
    assert agree(first, second, quantized) == same


def test_times_are_kept_for_regions_alike(residual, tmp_path, monkeypatch):
    path = tmp_path / "machine.json"
    placement.place(residual, DEVICES, {"x": X}, calibration=path)
    kept = read_calibration(path)
    assert all(set(seconds) == set(DEVICES) for seconds in kept.regions.values())
    for each in kept.regions.values():
        each["onnxruntime"], each["cpu"] = 1e-6, 1.0
    path.write_text(kept.to_json())
    plan = placement.place(residual, DEVICES, {"x": X}, calibration=path)
    assert set(plan.device_of.values()) == {"onnxruntime"}


def test_known_times_of_other_devices_do_not_disturb(residual, tmp_path):
    path = tmp_path / "machine.json"
    placement.place(residual, ("onnxruntime",), {"x": X}, calibration=path)
    plan = placement.place(residual, ("host",), {"x": X}, calibration=path)
    assert set(plan.device_of.values()) == {"host"}
    again = placement.place(residual, ("onnxruntime",), {"x": X}, calibration=path)
    assert set(again.device_of.values()) == {"onnxruntime"}


def test_an_output_may_be_a_constant(residual):
    model = onnx.ModelProto.FromString(residual.SerializeToString())
    model.graph.output.append(_floats("w0", 8, 8))
    plan = placement.place(model, DEVICES, {"x": X})
    placed = dict.fromkeys(plan.device_of, "onnxruntime") | {"first": "cpu", "relu": "cpu"}
    opened = placement.open_placed(model, replace(plan, regions=_regions(placed)))
    _, weights = opened.run(None, {"x": X})
    np.testing.assert_array_equal(weights, onnx.numpy_helper.to_array(model.graph.initializer[0]))


def _regions(device_of):
    return tuple(placement.PlacedRegion((node,), device) for node, device in device_of.items())


def test_digests_of_regions_ignore_names_and_weights_only(residual):
    digest = structural_digest(residual)
    renamed = onnx.ModelProto.FromString(residual.SerializeToString())
    for node in renamed.graph.node:
        node.name += "_"
        node.input[:] = [n if n in ("x", "w0", "w1") else n + "_" for n in node.input]
        node.output[:] = [n if n == "y" else n + "_" for n in node.output]
    assert structural_digest(renamed) == digest
    renamed.graph.node[1].op_type = "Sigmoid"
    assert structural_digest(renamed) != digest


def test_the_tool_writes_a_placement_file(residual, tmp_path, capsys):
    onnx.save(residual, tmp_path / "m.onnx")
    out = tmp_path / "place.json"
    assert gc_place.main([str(tmp_path / "m.onnx"), "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "predicted: " in printed
    assert "all on onnxruntime: " in printed
    assert placement.open_placed(residual, out).run(None, {"x": X})
    assert gc_place.main([str(tmp_path / "m.onnx"), "--devices", "cpu,cpu"]) == 2
    assert "different ones" in capsys.readouterr().err


def test_a_placement_is_explained_and_drawn(residual, tmp_path, capsys):
    onnx.save(residual, tmp_path / "m.onnx")
    out, page = tmp_path / "place.json", tmp_path / "page.html"
    flags = [str(tmp_path / "m.onnx"), "-o", str(out), "--html", str(page), "--explain"]
    assert gc_place.main(flags) == 0
    printed = capsys.readouterr().out
    assert "region 1 on " in printed
    assert re.search(r"moving it to \w+ costs [+-]\d+\.\d+ ms a call: .* for its values", printed)
    why = json.loads(out.read_text())["why"]
    assert why["regions"][0]["nodes"] == ["first", "relu"]
    assert {value["name"] for value in why["values"]} == {"x", "r0", "sum", "y"}
    assert len(_data_of(page)["placement"]["regions"]) == 3
    shown = tmp_path / "view.html"
    assert gc_view.main([flags[0], "--placement", str(out), "-o", str(shown)]) == 0
    assert _data_of(shown) == _data_of(page)
    with pytest.raises(SystemExit):
        gc_place.main(["--explain", "GC001x", flags[0]])
    assert "--explain without a code goes to the end" in capsys.readouterr().err


def _data_of(page):
    """The data of a page of gc-view, without the times of passes."""
    packed = re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1]
    data = json.loads(gzip.decompress(base64.b64decode(packed)))
    return {name: data[name] for name in ("placement", "programs")}


def test_costs_of_moving_are_those_of_a_placement_with_the_region_there():
    seconds = ({"cpu": 1e-3, "gpu": 1e-4}, {"cpu": 1e-4, "gpu": 1e-3})
    regions = [Region(str(n), (f"n{n}",), each) for n, each in enumerate(seconds)]
    values = [
        RegionValue("x", 1000, None, (0,)),
        RegionValue("a", 1000, 0, (1,)),
        RegionValue("y", 1000, 1, (), is_output=True),
    ]
    link = Link(1e-4, 0.0)
    pairs = [("host", "gpu"), ("gpu", "host"), ("cpu", "gpu"), ("gpu", "cpu")]
    table = DeviceTable(("cpu", "gpu"), dict.fromkeys(pairs, link))
    plan = make_placement_plan(RegionGraph(regions, values), ["gpu", "cpu"], table)
    assert plan.seconds == pytest.approx(4e-4)
    moving = [region["moving"] for region in plan.reasons()["regions"]]
    assert moving == [{"cpu": pytest.approx(7e-4)}, {"gpu": pytest.approx(9e-4)}]
    assert [dict(value.crossings) for value in plan.values] == [{"gpu": 1e-4}, {"cpu": 1e-4}, {}]
    text = plan.explanation()
    assert "takes 'a', 1000 bytes, in 0.100 ms" in text
    assert "gives 'a' to cpu, 1000 bytes, in 0.100 ms" in text
    assert "moving it to gpu costs +0.900 ms a call: +0.900 ms for itself" in text
