"""The ONNX Backend interface, as ONNX's own test runner uses it."""

import unittest

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.backend.test.runner import Runner

import graphc.backend
from graphc.errors import FeedError

NAMES = "relu softmax_axis_1 add_bcast matmul_3d gather_0 concat_2d_axis_0 maxpool_2d_default"
CASES = rf"^test_({'|'.join(NAMES.split())})_cpu$"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the suite casts what does not fit
def test_the_suite_of_onnx_runs_us():
    runner = Runner(graphc.backend).include(CASES)
    result = unittest.TestResult()
    runner.test_suite.run(result)
    ran = result.testsRun - len(result.skipped)
    assert (ran, result.failures, result.errors) == (7, [], [])


def test_devices():
    assert graphc.backend.supports_device("CPU")
    assert graphc.backend.supports_device("CPU:0")
    assert not graphc.backend.supports_device("TPU")


def test_single_nodes():
    node = helper.make_node("Clip", ["x", "", "high"], ["y"])
    x = np.array([1, 5], np.float32)
    (result,) = graphc.backend.run_node(node, [x, np.array(3, np.float32)])
    np.testing.assert_array_equal(result, [1, 3])


def test_outputs_have_names():
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "relu",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [onnx.ValueInfoProto(name="y")],
    )
    prepared = graphc.backend.prepare(helper.make_model(graph))
    x = np.array([-1, 2], np.float32)
    for inputs in (x, [x], {"x": x}):
        np.testing.assert_array_equal(prepared.run(inputs).y, [0, 2])
    with pytest.raises((ValueError, FeedError)):
        prepared.run([x, x])
