"""A fast device behind a link that may be slow: used exactly when it pays."""

import numpy as np
import pytest
from devices import needs_vulkan
from onnx import TensorProto, helper, numpy_helper

from graphc import placement
from graphc.benchmarks import measure
from graphc.placement import placer
from graphc.placement.backends import HostBackend
from graphc.placement.region_graph import HOST, Link

pytest.importorskip("scipy")
SLOW, FAST = 0.012, 0.001
"""Seconds that a matmul takes."""


class SimulatedClock:
    """The module `time` of a machine on which nothing but waiting takes time."""

    def __init__(self):
        self._now = 0.0

    def perf_counter(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


class SimulatedDevice:
    """Runs parts on the host, and waits: for each matmul, and for each value that it is sent or
    sends."""

    compiles = False

    def __init__(self, name, memory, matmul, latency, clock):
        self.name, self.memory = name, memory
        self.matmul, self.latency = matmul, latency
        self.clock = clock

    def open(self, part, staying=()):
        runnable = HostBackend().open(part)
        matmuls = sum(node.op_type == "MatMul" for node in part.graph.node)
        values = len(part.graph.input) + len(part.graph.output)
        seconds = matmuls * self.matmul + values * self.latency
        run = runnable.run

        def run_slowly(feeds):
            self.clock.sleep(seconds)
            return run(feeds)

        runnable.run = run_slowly
        return runnable


@pytest.fixture(scope="module")
def sandwich():
    """A matmul between two softmaxes, which no device computes faster than another."""
    nodes = [
        helper.make_node("Softmax", ["x"], ["a"], name="before"),
        helper.make_node("MatMul", ["a", "w"], ["b"], name="matmul"),
        helper.make_node("Softmax", ["b"], ["y"], name="after"),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 8]) for n in "xy")
    weight = numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
    proto = helper.make_graph(nodes, "sandwich", [x], [y], [weight])
    return helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("latency", "used"),
    [(0.0, True), (0.002, True), (0.004, True), (0.007, False), (0.02, False)],
)
def test_a_fast_device_is_used_exactly_when_it_pays(sandwich, monkeypatch, latency, used):
    """Two transfers cost what the device saves, 11 ms, at a latency of 5.5 ms."""
    clock = SimulatedClock()
    monkeypatch.setattr(measure, "time", clock)
    devices = {
        "near": SimulatedDevice("near", HOST, SLOW, 0.0, clock),
        "far": SimulatedDevice("far", "far", FAST, latency, clock),
    }
    link = Link(latency, 0.0)
    links = {(HOST, "far"): link, ("far", HOST): link}
    monkeypatch.setattr(placer, "open_backends", lambda names, threads: devices)
    monkeypatch.setattr(placer, "measure_links", lambda name, threads: links)
    feeds = {"x": np.ones((4, 8), np.float32)}
    plan = placement.place(sandwich, ("near", "far"), feeds)
    assert (plan.device_of["matmul"] == "far") == used
    expected = FAST + 2 * latency if used else SLOW
    assert plan.seconds == pytest.approx(expected, rel=0.01)


@needs_vulkan
def test_a_renderer_on_the_cpu_is_left_alone(sandwich):
    """llvmpipe computes on the same cores as the target ``cpu``, behind copies."""
    feeds = {"x": np.ones((4, 8), np.float32)}
    plan = placement.place(sandwich, ("vulkan", "cpu"), feeds)
    assert set(plan.device_of.values()) == {"cpu"}
