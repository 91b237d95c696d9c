"""Values between the parts of a placed model, and the bytes that are copied for them."""

import numpy as np
import pytest
from devices import needs_vulkan
from onnx import TensorProto, helper

from graphc import placement
from graphc.placement import PlacedRegion, PlacementPlan
from graphc.runtime.device import host_visible
from graphc.runtime.device.host_visible import LocalInput, LocalOutput
from graphc.runtime.device.memory import span
from graphc.runtime.host.onnxruntime_session import OnnxRuntimeSession

ROWS = 256
BYTES = ROWS * ROWS * 4


def _chain(*operators: str):
    """A chain of elementwise nodes, named by number."""
    nodes = [
        helper.make_node(operator, [f"v{n}"], [f"v{n + 1}"], name=str(n))
        for n, operator in enumerate(operators)
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, ROWS])
        for name in ("v0", f"v{len(operators)}")
    ]
    proto = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    return helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _open(model, *devices: str):
    regions = tuple(PlacedRegion((str(n),), device) for n, device in enumerate(devices))
    return placement.open_placed(model, PlacementPlan(tuple(set(devices)), regions), threads=1)


@pytest.fixture
def copied(monkeypatch):
    """Bytes that compiled parts copy of their inputs and outputs, and the addresses of these and of
    what ONNX Runtime is given and returns."""
    counts = {"inputs": 0, "outputs": 0, "placed": [], "taken": [], "given": [], "returned": []}
    place, take, small = LocalInput.place, LocalOutput.take, LocalOutput.take_small
    run = OnnxRuntimeSession.run

    def counted_place(self, value):
        view, borrowed = place(self, value)
        counts["placed"].append(value.ctypes.data)
        counts["inputs"] += value.nbytes if borrowed != span(value) else 0
        return view, borrowed

    def counted_take(self, view, memory):
        array = take(self, view, memory)
        counts["taken"].append(array.ctypes.data)
        mapped = host_visible.map_array(view, self._dtype)
        counts["outputs"] += 0 if np.shares_memory(array, mapped) else array.nbytes
        return array

    def counted_small(self, view):
        array = small(self, view)
        counts["outputs"] += 0 if array is None else array.nbytes
        return array

    def noted_run(self, feeds):
        counts["given"] += [value.ctypes.data for value in feeds.values()]
        results = run(self, feeds)
        counts["returned"] += [value.ctypes.data for value in results.values()]
        return results

    monkeypatch.setattr(LocalInput, "place", counted_place)
    monkeypatch.setattr(LocalOutput, "take", counted_take)
    monkeypatch.setattr(LocalOutput, "take_small", counted_small)
    monkeypatch.setattr(OnnxRuntimeSession, "run", noted_run)
    return counts


@pytest.mark.parametrize(
    "devices",
    [("cpu", "onnxruntime", "cpu"), ("onnxruntime", "cpu", "onnxruntime"), ("cpu", "host", "host"),
     ("onnxruntime", "host", "onnxruntime"), ("cpu", "onnxruntime", "host")],
)  # fmt: skip
def test_parts_on_the_cpu_share_memory(copied, devices):
    model = _open(_chain("Relu", "Exp", "Neg"), *devices)
    x = host_visible.aligned_empty((ROWS, ROWS), np.float32)
    x[...] = np.random.default_rng(0).standard_normal(x.shape)
    (result,) = model.run(None, {"v0": x})
    np.testing.assert_allclose(result, -np.exp(np.maximum(x, 0)), rtol=1e-5)
    assert (copied["inputs"], copied["outputs"]) == (0, 0)
    model.close()


def test_onnxruntime_gets_the_memory_that_the_part_before_wrote(copied):
    model = _open(_chain("Relu", "Exp", "Neg"), "cpu", "onnxruntime", "cpu")
    model.run(None, {"v0": np.ones((ROWS, ROWS), np.float32)})
    assert copied["given"] == copied["taken"][:1]
    assert copied["returned"] == copied["placed"][1:]


@pytest.mark.parametrize(("start", "copies"), [(16, 0), (4, 1)])
def test_compiled_code_copies_what_is_not_aligned(copied, start, copies):
    """It takes arrays as numpy aligns them, at multiples of 16 bytes."""
    model = _open(_chain("Relu", "Exp", "Neg"), "cpu", "host", "host")
    raw = np.ones(BYTES + 128, np.uint8)
    begin = -raw.ctypes.data % 64 + start
    model.run(None, {"v0": raw[begin : begin + BYTES].view(np.float32).reshape(ROWS, ROWS)})
    assert (copied["inputs"], copied["outputs"]) == (copies * BYTES, 0)


@needs_vulkan
def test_a_value_stays_on_its_device_for_a_later_part(monkeypatch):
    """The first part's `kept` is read by the last part, on the same device; `sent` by the host."""
    nodes = [
        helper.make_node("Relu", ["x"], ["sent"], name="first"),
        helper.make_node("Sigmoid", ["x"], ["kept"], name="kept"),
        helper.make_node("Exp", ["sent"], ["back"], name="middle"),
        helper.make_node("Add", ["back", "kept"], ["y"], name="last"),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [ROWS, ROWS]) for n in "xy"]
    proto = helper.make_graph(nodes, "kept", ends[:1], ends[1:])
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    where = {"first": "vulkan", "kept": "vulkan", "middle": "host", "last": "vulkan"}
    regions = tuple(PlacedRegion((node,), device) for node, device in where.items())
    opened = placement.open_placed(model, PlacementPlan(("vulkan", "host"), regions))
    x = np.random.default_rng(0).standard_normal((ROWS, ROWS)).astype(np.float32)
    ran = opened._session._parts[-1][1]._model
    bound = []
    bind = ran._binder.bind
    monkeypatch.setattr(ran._binder, "bind", lambda feeds: bound.append(feeds) or bind(feeds))
    (y,) = opened.run(None, {"x": x})
    np.testing.assert_allclose(y, np.exp(np.maximum(x, 0)) + 1 / (1 + np.exp(-x)), rtol=1e-5)
    types = {name: type(value).__name__ for name, value in bound[0].items()}
    assert types == {"back": "ndarray", "kept": "DeviceTensor"}
