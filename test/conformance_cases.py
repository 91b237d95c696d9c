"""A few cases in the form of ONNX's test suite for backends."""

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import helper

from conformance.cases import SuiteCase

# Pebble's pool forks while its own threads run.
forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def case(op_type, wanted):
    """One node on [-1, 2], and what shall come out."""
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy")
    node = helper.make_node(op_type, ["x"], ["y"])
    model = helper.make_model(helper.make_graph([node], "g", [x], [y]))
    data = [([np.array([-1, 2], np.float32)], [np.array(wanted, np.float32)])]
    source = SimpleNamespace(model=model, data_sets=data)
    return SuiteCase(f"test_{op_type.lower()}", "node", 1e-3, 1e-7, source)


CASES = [case("Relu", [0, 2]), case("Neg", [1, -2]), case("Abs", [1, 7])]
