"""Predicted times of parts beside those of a profile."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphc.frontend.onnx.node_work import OpClass
from graphc.placement.calibration import Calibration, read_calibration, write_calibration
from graphc.placement.cost_model import DeviceCosts
from graphc.placement.profile_comparison import compare_profile, repeated
from graphc.profiling.machine import this_machine
from graphc.profiling.rows import Measurements, ProfileRow
from graphc.tools import gc_profile

pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def chain() -> onnx.ModelProto:
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.standard_normal((32, 32)).astype(np.float32), name)
        for name in ("w0", "w1")
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Softmax", ["b"], ["c"], name="softmax"),
        helper.make_node("MatMul", ["c", "w1"], ["y"], name="second"),
    ]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["rows", 32]) for n in "xy"]
    proto = helper.make_graph(nodes, "chain", infos[:1], infos[1:], weights)
    return helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _measured(*rows: tuple[str, float]) -> Measurements:
    """A profile with a kernel for each pair of node names and seconds."""
    made = [ProfileRow("k", tuple(n.split()), (), s, 1.0, 1.0, 1, None, None) for n, s in rows]
    return Measurements("chain", 1, 1, 1.0, 1.0, 1, tuple(made), ())


def _costs(**flops: float) -> DeviceCosts:
    return DeviceCosts(0.0, 1 << 20, {name: (0.0, each, 0.0, 0.0) for name, each in flops.items()})


FEEDS = {"x": np.ones((64, 32), np.float32)}
FLOPS = 2 * 64 * 32 * 32


def test_kernels_belong_to_the_regions_of_their_nodes(chain):
    costs = _costs(matmul=1e-9, elementwise=0.0, softmax=1e-9)
    profile = _measured(("first relu", 4e-5), ("first", 2e-5), ("softmax", 1e-6), ("second", 1e-3))
    found = compare_profile(profile, chain, None, FEEDS, costs, slowdown=0.5)
    assert [part.nodes for part in found.parts] == [("second",), ("first", "relu"), ("softmax",)]
    assert [part.measured for part in found.parts] == pytest.approx([2e-3, 1.2e-4, 2e-6])
    assert found.parts[1].predicted == pytest.approx(FLOPS * 1e-9)
    assert found.parts[1].error == pytest.approx(FLOPS * 1e-9 / 1.2e-4 - 1)
    assert found.within == pytest.approx(1 / 2)  # the softmax is negligible
    assert "2.000 ms" in str(found)


def test_regions_that_share_a_kernel_are_one_part(chain):
    profile = _measured(("first relu softmax", 3e-5), ("second", 1e-5), ("unknown", 1.0))
    found = compare_profile(profile, chain, None, FEEDS, _costs(matmul=1e-9))
    assert found.parts[0].nodes == ("first", "relu", "softmax")
    assert found.parts[0].classes == ("matmul", "softmax")
    assert len(found.parts) == 2


def test_recalibrated_costs_predict_what_was_measured(chain):
    costs = DeviceCosts(0.0, 1 << 20)
    profile = _measured(("first relu", 4e-4), ("softmax", 2e-4), ("second", 4e-4))
    found = compare_profile(profile, chain, None, FEEDS, costs)
    assert found.within == 0.0
    costs.record(found.samples(costs.near_bytes, "chain.onnx"), "chain.onnx")
    assert repeated(found, costs).within == 1.0
    assert repeated(found, costs).time_within == 1.0


@pytest.fixture
def files(chain, tmp_path):
    model, machine = tmp_path / "chain.onnx", tmp_path / "machine.json"
    onnx.save(chain, model)
    costs = {"cpu": _costs(**dict.fromkeys((each.value for each in OpClass), 1e-9))}
    write_calibration(Calibration(this_machine(1), costs=costs, reference_seconds=1e-3), machine)
    return str(model), str(machine)


def test_the_tool_compares_and_recalibrates(files, tmp_path, capsys):
    model, machine = files
    flags = ["--threads", "1", "--dim", "rows=64", "--runs", "3", "--calibration", machine]
    out = tmp_path / "profile.json"
    assert gc_profile.main([model, *flags, "--json", str(out), "--recalibrate"]) == 0
    printed = capsys.readouterr().out
    assert "of the time within 15%" in printed
    assert "recalibrated: " in printed
    nodes = {n for part in json.loads(out.read_text())["predicted"]["parts"] for n in part["nodes"]}
    assert nodes >= {"first", "softmax", "second"}
    origins = {
        each.origin for each in read_calibration(tmp_path / "machine.json", 1).costs["cpu"].samples
    }
    assert origins == {"chain.onnx"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--recalibrate"], "--recalibrate needs --calibration"),
        (["--calibration", "none.json"], "gc-calibrate -o none.json"),
    ],
)
def test_what_the_tool_lacks_is_said(files, flags, message, capsys):
    assert gc_profile.main([files[0], *flags]) == 2
    assert message in capsys.readouterr().err
