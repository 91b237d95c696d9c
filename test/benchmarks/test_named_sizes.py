"""Models with named sizes beside the peers."""

import numpy as np
import onnx
import pytest
from numerics import build_model
from onnx import helper

from graphc.benchmarks import named_sizes
from graphc.benchmarks.measure import MeasurementPlan
from graphc.errors import UsageError


def test_a_model_without_the_names_is_not_timed(tmp_path, monkeypatch):
    path = tmp_path / "relu.onnx"
    node = helper.make_node("Relu", ["x"], ["y"])
    onnx.save(build_model([node], {"x": (np.float32, [1, 8])}, ["y"]), path)
    monkeypatch.setattr(named_sizes, "model_path", lambda name: path)
    case = named_sizes.NamedCase("relu", {}, [{"batch": 1}])
    with pytest.raises(UsageError, match="relu: no axis of an input is named 'batch'"):
        next(named_sizes.measure(case, 1, MeasurementPlan(), tmp_path))
