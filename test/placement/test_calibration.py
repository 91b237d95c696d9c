"""Calibration of a machine, and the file that keeps it."""

import json

import pytest

from graphc.errors import UsageError
from graphc.placement import calibrate as calibrate_module
from graphc.placement.calibrate import calibrate
from graphc.placement.calibration import Calibration, read_calibration, write_calibration
from graphc.placement.calibration_models import calibration_models
from graphc.placement.cost_model import DeviceCosts, Sample
from graphc.placement.region_graph import Link
from graphc.profiling.machine import this_machine
from graphc.tools import gc_calibrate, gc_place

pytest.importorskip("scipy")
FOUR = (1e-6, 1e-11, 0.0, 1e-10)


def _kept() -> Calibration:
    costs = DeviceCosts(1e-5, 1 << 20, {"matmul": FOUR}, [Sample(1e-3, {"matmul": FOUR}, "m")])
    return Calibration(
        this_machine(), {"a": {"cpu": 1.0}}, {("host", "gpu"): Link(1e-5, 1e-9)}, {"cpu": costs},
        1e-3,
    )  # fmt: skip


def test_a_calibration_file_is_read_back(tmp_path):
    kept = _kept()
    assert Calibration.from_json(kept.to_json(), "text") == kept
    assert "[1e-06, 1e-11, 0.0, 1e-10]" in kept.to_json()  # a line for a list


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["format"], 1, "format 1 is not 2"),
        (["devices"], None, "no calibration file"),
        (["devices", "cpu", "call"], -1, "-1 is no number"),
        (["devices", "cpu", "call"], float("nan"), "nan is no number"),
        (["devices", "cpu", "call"], True, "True is no number"),
        (["devices", "cpu", "near_bytes"], "1", "'1' is no number"),
        (["devices", "cpu", "classes", "matmul"], {"fixed": 1}, "lacks 'per_flop'"),
        (["devices", "cpu", "classes", "tarot"], dict.fromkeys(("fixed", "per_flop",
         "per_near_byte", "per_far_byte"), 0), "'tarot' is no class of operators"),
        (["devices", "cpu", "samples", 0, "features", "matmul"], [1, 2, 3], "not enough values"),
        (["devices", "cpu", "samples", 0, "seconds"], [], "no number"),
        (["links", "host"], [0, 0], "no calibration file"),
        (["regions", "a", "cpu"], 1e300, "no number from 0"),
        (["reference_seconds"], None, "None is no number"),
        (["machine"], 3, "no calibration file"),
    ],
)  # fmt: skip
def test_a_forged_file_is_refused(tmp_path, keys, value, message):
    content = json.loads(_kept().to_json())
    inner = content
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=message) as raised:
        read_calibration(path)
    assert str(path) in str(raised.value)


def test_a_calibration_of_another_machine_is_not_used(tmp_path, caplog):
    path = tmp_path / "machine.json"
    forged = _kept()
    forged.machine = {**this_machine(), "cpu": "z80"}
    path.write_text(forged.to_json())
    found = read_calibration(path)
    assert (found.regions, found.costs) == ({}, {})
    assert "it was measured with other cpu (z80, here " in caplog.text


def test_a_calibration_of_another_machine_is_kept(tmp_path, caplog):
    path, here = tmp_path / "machine.json", _kept()
    other = _kept()
    other.machine = {**this_machine(), "threads": 99}
    write_calibration(other, path)
    write_calibration(here, path)
    assert read_calibration(path) == here
    old = tmp_path / "machine.json.old"
    assert Calibration.from_json(old.read_text(), str(old)) == other
    assert "is now" in caplog.text
    write_calibration(here, path)
    assert Calibration.from_json(old.read_text(), str(old)) == other


def test_models_of_every_class_have_features():
    classes = set()
    for model in list(calibration_models())[::7]:
        classes |= set(calibrate_module.model_features(model, 1 << 20))
    assert len(classes) > 6


@pytest.fixture
def few_models(monkeypatch):
    """Calibration of as few as possible of the models: a matmul and a softmax."""
    models = list(calibration_models())
    chosen = [next(m for m in models if m.graph.node[0].op_type == operator)
              for operator in ("Softmax", "Add", "Transpose")]  # fmt: skip
    monkeypatch.setattr(calibrate_module, "calibration_models", lambda: chosen)
    monkeypatch.setattr(calibrate_module, "COUNT", len(chosen))


def test_the_tool_measures_devices_and_keeps_others(few_models, tmp_path, capsys):
    path = tmp_path / "machine.json"
    path.write_text(_kept().to_json())
    assert gc_calibrate.main(["--devices", "onnxruntime", "-o", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "onnxruntime: " in printed
    assert "softmax: " in printed
    found = read_calibration(path)
    assert set(found.costs) == {"cpu", "onnxruntime"}
    assert found.regions == {"a": {"cpu": 1.0}}
    assert len(found.costs["onnxruntime"].samples) == 3
    assert 0 < found.costs["onnxruntime"].call < 1e-2
    assert found.reference_seconds > 0


def test_what_cannot_be_calibrated_is_said(tmp_path, capsys):
    assert gc_calibrate.main(["--devices", "tpu", "-o", str(tmp_path / "m.json")]) == 2
    assert "tpu" in capsys.readouterr().err
    assert gc_calibrate.main(["-o", str(tmp_path / "none" / "m.json")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_a_device_that_refuses_all_has_its_call_alone(few_models):
    found = calibrate(["host"], 1, models=[])
    assert found.costs["host"].samples == []
    assert found.costs["host"].classes == {}


def test_gc_place_predicts_by_the_file_alone(tmp_path, capsys):
    from onnx import TensorProto, helper, save

    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="r")], "m", [x], [y])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
         tmp_path / "m.onnx")  # fmt: skip
    path = tmp_path / "machine.json"
    path.write_text(_kept().to_json())
    flags = ["--devices", "cpu", "--calibration", str(path), "--predict"]
    assert gc_place.main([str(tmp_path / "m.onnx"), *flags]) == 0
    assert "predicted: " in capsys.readouterr().out
