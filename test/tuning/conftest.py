"""A model to tune, and a machine whose times are made up, so that the outcome is known."""

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphc
from graphc.benchmarks.measure import Timing
from graphc.tuning import trials

SHAPE = (1, 16, 12, 12)
ROOT = Path(graphc.__file__).resolve().parent
# As in test/distributed: Dask's package `distributed` is not ours.
sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() != ROOT]


@pytest.fixture(scope="session")
def convolution() -> onnx.ModelProto:
    weights = np.random.default_rng(1).standard_normal((16, 16, 3, 3)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4, strides=[2, 2])
    shapes = {"x": SHAPE, "y": (1, 16, 6, 6)}
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
    graph = helper.make_graph(
        [node], "convolution", infos[:1], infos[1:], [onnx.numpy_helper.from_array(weights, "w")]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def machine(monkeypatch):
    """A machine that is faster where a pipeline lacks a pass: a ratio for each text in it."""
    ratios: dict[str, float] = {}

    def time_programs(programs, contest, plan):
        return {
            name: Timing(((_milliseconds(program.pipeline, ratios),),) * plan.rounds)
            for name, program in programs.items()
        }

    monkeypatch.setattr(trials, "time_programs", time_programs)
    return ratios


def _milliseconds(pipeline: str, ratios) -> float:
    return 10 * float(np.prod([ratio for name, ratio in ratios.items() if name not in pipeline]))
