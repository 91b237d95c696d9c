"""Costs fitted to samples, and placements by predicted times."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphc import placement
from graphc.errors import PlacementError, UsageError
from graphc.frontend.onnx.node_work import OpClass, RegionWork
from graphc.placement.backends import OnnxRuntimeBackend, TargetBackend
from graphc.placement.calibration import Calibration, write_calibration
from graphc.placement.cost_model import DeviceCosts, Sample, features, fit
from graphc.placement.model_parts import plan_model
from graphc.placement.regions import RegionPartitioner
from graphc.profiling.machine import this_machine

pytest.importorskip("scipy")
NEAR = 1 << 20


def _matmul(flops: float, size: float, **others: float) -> RegionWork:
    extra = {OpClass(name): value for name, value in others.items()}
    return RegionWork(OpClass.MATMUL, {OpClass.MATMUL: flops, **extra}, size)


def test_coefficients_are_found_in_spite_of_outliers():
    random = np.random.default_rng(0)
    true = DeviceCosts(0.0, NEAR, {"matmul": (5e-6, 1e-11, 2e-11, 1e-10),
                                   "elementwise": (1e-6, 2e-10, 3e-11, 1e-10)})  # fmt: skip
    samples = []
    for number in range(60):
        size = float(10 ** random.uniform(3, 8))
        if number % 2:
            work = _matmul(float(10 ** random.uniform(5, 9)), size, elementwise=size / 10)
        else:
            flops = float(10 ** random.uniform(3, 8))
            work = RegionWork(OpClass.ELEMENTWISE, {OpClass.ELEMENTWISE: flops}, size)
        disturbed = 3.0 if number % 15 == 7 else 1.0
        samples.append(Sample(true.seconds([work]) * disturbed, features([work], NEAR)))
    found = DeviceCosts(0.0, NEAR, fit(samples))
    for work in (_matmul(1e8, 1e5), _matmul(1e6, 5e7, elementwise=1e6)):
        assert found.seconds([work]) == pytest.approx(true.seconds([work]), rel=0.03)


def test_time_that_samples_do_not_tell_apart_belongs_to_the_work():
    work = _matmul(1e8, 1e6)
    costs = DeviceCosts(0.0, NEAR, fit([Sample(1e-2, features([work], NEAR))] * 2))
    assert costs.seconds([work]) == pytest.approx(1e-2, rel=0.02)
    assert costs.seconds([_matmul(1e7, 1e5)]) == pytest.approx(1e-3, rel=0.05)


def test_a_class_without_samples_is_like_the_nearest():
    costs = DeviceCosts(0.0, NEAR, {"matmul": (0.0, 1e-11, 0.0, 0.0)})
    work = RegionWork(OpClass.BATCH_MATMUL, {OpClass.BATCH_MATMUL: 1e9}, 0.0)
    assert costs.seconds([work]) == pytest.approx(1e-2)
    int8 = RegionWork(OpClass.MATMUL, {OpClass.MATMUL: 1e9}, 0.0, int8=True)
    assert costs.seconds([int8]) == pytest.approx(1e-2)
    assert DeviceCosts().seconds([work]) == 0.0


def test_recalibration_replaces_what_the_same_model_gave():
    costs = DeviceCosts(0.0, NEAR)
    work = _matmul(1e9, 1000.0)
    for seconds in (1e-2, 2e-2):
        costs.record([Sample(seconds, features([work], NEAR), "m.onnx")], "m.onnx")
        assert len(costs.samples) == 1
        assert costs.seconds([work]) == pytest.approx(seconds, rel=0.01)


@pytest.fixture(scope="module")
def layers():
    """Two matmuls, of which the first one has many more operations than its value has bytes."""
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
        for name, shape in (("w0", (512, 512)), ("w1", (512, 4)))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"], name="large"),
        helper.make_node("Softmax", ["a"], ["b"], name="softmax"),
        helper.make_node("MatMul", ["b", "w1"], ["y"], name="small"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 512])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])
    proto = helper.make_graph(nodes, "layers", [x], [y], weights)
    return helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _costs(call=1e-6, matmul=1e-11, others=1e-10):
    classes = {each.value: (0.0, others, 0.0, 0.0) for each in OpClass}
    return DeviceCosts(call, NEAR, classes | {"matmul": (0.0, matmul, 0.0, 0.0)})


@pytest.mark.parametrize(
    ("cpu", "ort", "expected"),
    [
        (_costs(), _costs(matmul=1e-10), ["cpu"] * 3),
        (_costs(), _costs(matmul=1e-12), ["onnxruntime"] * 3),
        (_costs(), _costs(matmul=1e-12, others=1e-8), ["onnxruntime", "cpu", "onnxruntime"]),
        (_costs(call=1e-2), _costs(matmul=1e-12, others=1e-8), ["cpu"] * 3),  # calls cost more
    ],
)
def test_a_placement_by_predicted_times_runs_nothing(
    layers, tmp_path, monkeypatch, cpu, ort, expected
):
    path = tmp_path / "machine.json"
    costs = {"cpu": cpu, "onnxruntime": ort}
    write_calibration(Calibration(this_machine(), costs=costs), path)

    def fail(self, part, staying=()):
        raise AssertionError("a part was opened")

    for backend in (TargetBackend, OnnxRuntimeBackend):
        monkeypatch.setattr(backend, "open", fail)
    plan = placement.place(
        layers, ("cpu", "onnxruntime"), {"x": np.ones((64, 512), np.float32)},
        calibration=path, measure=False,
    )  # fmt: skip
    assert list(plan.device_of.values()) == expected
    assert plan.regions[0].seconds["cpu"] == pytest.approx(2 * 64 * 512 * 512 * 1e-11)


def test_devices_must_be_calibrated(layers, tmp_path):
    feeds = {"x": np.ones((1, 512), np.float32)}
    with pytest.raises(UsageError, match="needs the file of gc-calibrate"):
        placement.place(layers, ("cpu",), feeds, measure=False)
    path = tmp_path / "machine.json"
    with pytest.raises(UsageError, match="'cpu' was not calibrated: gc-calibrate --devices cpu"):
        placement.place(layers, ("cpu",), feeds, measure=False, calibration=path)


def test_a_node_that_the_only_device_does_not_compile_is_named(tmp_path):
    node = helper.make_node(
        "LabelEncoder", ["w"], ["y"], name="lookup", domain="ai.onnx.ml",
        keys_strings=["a"], values_floats=[1.0],
    )  # fmt: skip
    word = helper.make_tensor_value_info("w", TensorProto.STRING, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(helper.make_graph([node], "words", [word], [y]),
                              opset_imports=opsets, ir_version=8)  # fmt: skip
    path = tmp_path / "machine.json"
    write_calibration(Calibration(this_machine(), costs={"cpu": _costs()}), path)
    feeds = {"w": np.array(["a", "a"], object)}
    with pytest.raises(PlacementError, match="region of lookup runs nowhere: cpu: "):
        placement.place(model, ("cpu",), feeds, measure=False, calibration=path)


def test_what_a_small_value_is_spread_over_is_a_region_of_its_own():
    """A gate of the channels, as in squeeze and excitation."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["mean"], name="mean"),
        helper.make_node("Sigmoid", ["mean"], ["gate"], name="gate"),
        helper.make_node("Mul", ["x", "gate"], ["y"], name="gated"),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4, 8, 8]) for n in "xy")
    proto = helper.make_graph(nodes, "gate", [x], [y])
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    regions = RegionPartitioner(plan_model(model).placement).regions()
    assert [each.home for each in regions] == [(0, 1), (2,)]


@pytest.mark.parametrize(
    ("steps", "regions"),
    [
        (["Sigmoid:a", "Mul:a,0"], 1),  # x * sigmoid(x)
        (["Tanh:a", "Exp:0", "Mul:a,1"], 1),
        (["Sigmoid:a", "Softmax:0", "Mul:a,1"], 3),  # a softmax is no part of an epilogue
        (["Sigmoid:a", "Softmax:a", "Mul:0,1"], 3),
    ],
)
def test_what_all_reads_of_a_value_compute_joins_its_region(steps, regions):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="matmul")]
    for number, step in enumerate(steps):
        operator, _, names = step.partition(":")
        nodes.append(helper.make_node(operator, names.split(","), [str(number)], name=str(number)))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])
    y = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, [4, 8])
    weight = numpy_helper.from_array(np.ones((8, 8), np.float32), "w")
    proto = helper.make_graph(nodes, "model", [x], [y], [weight])
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert len(RegionPartitioner(plan_model(model).placement).regions()) == regions
