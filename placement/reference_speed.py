"""A matmul as a unit of time, on a machine whose speed varies with what else runs on it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ..benchmarks.measure import MeasurementPlan, in_turns
from .backends import PartBackend

SIZE = 384
PLAN = MeasurementPlan(rounds=6, burst_seconds=0.015, warmup_runs=1)

_REFERENCE = "\0reference"


class ReferenceSpeed:
    """A matmul that is timed in turns with others, whose times are ratios to its own."""

    def __init__(self, backend: PartBackend):
        self._part = backend.open(_matmul())
        self._call = partial(self._part.run, {"x": np.ones((SIZE, SIZE), np.float32)})
        self.best = float("inf")
        """Seconds of the fastest matmul so far."""

    def ratios(
        self, calls: Mapping[str, Callable[[], Any]], plan: MeasurementPlan = PLAN
    ) -> dict[str, float]:
        """Times of `calls` over that of the matmul: the best ones, which others disturb least."""
        timings = in_turns({_REFERENCE: self._call, **calls}, plan)
        reference = timings.pop(_REFERENCE).best / 1e3
        self.best = min(self.best, reference)
        return {name: timing.best / 1e3 / reference for name, timing in timings.items()}

    def seconds(self, plan: MeasurementPlan = PLAN) -> float:
        """Seconds of the matmul now."""
        return in_turns({_REFERENCE: self._call}, plan)[_REFERENCE].best / 1e3

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._part.close()


def _matmul() -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [SIZE, SIZE]) for n in "xy")
    weight = numpy_helper.from_array(np.full((SIZE, SIZE), 1 / SIZE, np.float32), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "reference", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
