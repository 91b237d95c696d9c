"""The ONNX Backend interface, as ONNX's own test runner uses it."""

import unittest
from importlib import import_module

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.backend.test import runner
from onnx.backend.test.case import node as node_cases

import graphc.onnx_backend
from graphc.errors import FeedError

FILES = "relu softmax add matmul gather concat globalmaxpool"
NAMES = "relu softmax_axis_1 add_bcast matmul_3d gather_0 concat_2d_axis_0 globalmaxpool"
CASES = rf"^test_({'|'.join(NAMES.split())})_cpu$"


@pytest.fixture
def few_files(monkeypatch):
    """Cases are made as their files are imported. All of them take seconds."""
    for name in FILES.split():
        import_module(f"{node_cases.__name__}.{name}")
    cases = {"node": node_cases._NodeTestCases}
    monkeypatch.setattr(runner, "load_model_tests", lambda kind: cases.get(kind, []))


@pytest.mark.usefixtures("few_files")
def test_the_suite_of_onnx_runs_us():
    result = unittest.TestResult()
    runner.Runner(graphc.onnx_backend).include(CASES).test_suite.run(result)
    ran = result.testsRun - len(result.skipped)
    assert (ran, result.failures, result.errors) == (7, [], [])


def test_devices():
    assert graphc.onnx_backend.supports_device("CPU")
    assert graphc.onnx_backend.supports_device("CPU:0")
    assert not graphc.onnx_backend.supports_device("TPU")


def test_single_nodes():
    node = helper.make_node("Clip", ["x", "", "high"], ["y"])
    x = np.array([1, 5], np.float32)
    (result,) = graphc.onnx_backend.run_node(node, [x, np.array(3, np.float32)])
    np.testing.assert_array_equal(result, [1, 3])


def test_outputs_have_names():
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "relu",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [onnx.ValueInfoProto(name="y")],
    )
    prepared = graphc.onnx_backend.prepare(helper.make_model(graph))
    x = np.array([-1, 2], np.float32)
    for inputs in (x, [x], {"x": x}):
        np.testing.assert_array_equal(prepared.run(inputs).y, [0, 2])
    with pytest.raises((ValueError, FeedError)):
        prepared.run([x, x])
