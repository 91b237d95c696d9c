"""Tests of kernels that run in one dispatch: each waits for what it reads, on any threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphc
from graphc.passes.graph_to_linalg import recurrent_dispatch
from graphc.runtime import resolve_target
from graphc.runtime.execution import inline_execution

WIDTH, LAYERS = 512, 3


@pytest.fixture(scope="module")
def model():
    """Layers of a normalization and two matmuls, the second of which adds to the input of the
    layer: each kernel reads what several workgroups have written."""
    random = np.random.default_rng(0)
    nodes, constants = [], []

    def constant(name, *shape):
        array = random.standard_normal(shape, np.float32) / np.sqrt(shape[0])
        constants.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def node(operator, inputs, output, **attributes):
        nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))
        return output

    x = "x"
    for n in range(LAYERS):
        scale = constant(f"scale{n}", WIDTH)
        norm = node("LayerNormalization", [x, scale], f"norm{n}", axis=-1)
        wide = node("MatMul", [norm, constant(f"up{n}", WIDTH, WIDTH)], f"wide{n}")
        back = node("MatMul", [wide, constant(f"down{n}", WIDTH, WIDTH)], f"back{n}")
        x = node("Add", [x, back], f"y{n}")
    shape = [1, WIDTH]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", x)]
    graph = helper.make_graph(nodes, "layers", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _feeds(count):
    random = np.random.default_rng(1)
    return [{"x": random.standard_normal((1, WIDTH), np.float32)} for _ in range(count)]


def test_one_thread_runs_kernels_in_order(model):
    session = ort.InferenceSession(model.SerializeToString())
    with graphc.compile(model, threads=1) as alone:
        assert alone.report.rewrites["merge-dispatches"].count == 3 * LAYERS
        for feed in _feeds(3):
            (expected,) = session.run(None, feed)
            np.testing.assert_allclose(alone.run(None, feed)[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(not resolve_target("cpu").knows_its_core, reason="needs x86-64")
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_wait_for_what_they_read(model, threads, monkeypatch):
    monkeypatch.setattr(inline_execution, "SHORT", 0)  # calls stay on the workers
    with graphc.compile(model, threads=1) as alone:
        cases = [(feed, alone.run(None, feed)[0]) for feed in _feeds(5)]

    def run(case):
        feed, expected = case
        np.testing.assert_array_equal(shared.run(None, feed)[0], expected)

    with graphc.compile(model, threads=threads) as shared:
        assert shared.report.rewrites["merge-dispatches"].count == 3 * LAYERS
        for case in cases * 20:
            run(case)
        with ThreadPoolExecutor(3) as callers:  # each call has counters of its own
            list(callers.map(run, cases * 20))


def test_operands_are_no_more_than_the_runtime_takes():
    """The runtime binds 32 buffers: each input and each result is one."""
    count = 20
    random = np.random.default_rng(2)
    names = [(f"x{n}", f"w{n}", f"y{n}") for n in range(count)]
    nodes = [helper.make_node("MatMul", [x, w], [y], y) for x, w, y in names]
    weights = [
        numpy_helper.from_array(random.standard_normal((64, 16 * n + 16), np.float32), w)
        for n, (_, w, _) in enumerate(names)
    ]  # different kernels
    infos = [
        [helper.make_tensor_value_info(each[at], TensorProto.FLOAT, [1, size]) for each in names]
        for at, size in ((0, 64), (2, None))
    ]
    graph = helper.make_graph(nodes, "many", *infos, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    feeds = {x: random.standard_normal((1, 64), np.float32) for x, _, _ in names}
    expected = ort.InferenceSession(model.SerializeToString()).run(None, feeds)
    with graphc.compile(model, threads=1) as compiled:
        assert compiled.report.rewrites["merge-dispatches"].count == count
        for ours, theirs in zip(compiled.run(None, feeds), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("operator", ["LSTM", "GRU"])
def test_teams_with_counters_stay_apart(operator, monkeypatch):
    """The threads of both directions of a recurrence meet on counters, which begin at zero."""
    monkeypatch.setattr(recurrent_dispatch, "TEAM_BYTES", 0)
    random, gates, size = np.random.default_rng(0), {"LSTM": 4, "GRU": 3}[operator], 96
    weights = [
        numpy_helper.from_array(random.standard_normal((2, gates * size, n), np.float32) / 8, name)
        for name, n in (("w", 40), ("r", size))
    ]
    node = helper.make_node(
        operator, ["x", "w", "r"], ["y"], hidden_size=size, direction="bidirectional"
    )
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, "batch", 40])
    y = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], "both", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = ort.InferenceSession(model.SerializeToString())
    with graphc.compile(model, threads=2) as compiled:
        reason = "its workgroups meet on counters of their own"
        assert reason in compiled.report.rewrites["merge-dispatches"].declined
        for batch in (2, 1, 30):
            feed = {"x": random.standard_normal((3, batch, 40), np.float32)}
            (expected,) = session.run(None, feed)
            np.testing.assert_allclose(compiled.run(None, feed)[0], expected, rtol=0, atol=1e-5)
