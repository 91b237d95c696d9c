"""Transfers between the host's memory and a device's, measured."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from ..compiler.compile import compile
from .region_graph import HOST, Link

SMALL, LARGE = 4, 16 << 20
"""Sizes of the transfers that give the latency and the time per byte."""

ROUNDS = 9


def measure_links(target: str, threads: int | None = None) -> dict[tuple[str, str], Link]:
    """The links to and from the memory of graphc's `target`."""
    model = compile(_copy_model(), target, threads=threads)
    try:
        arrays = [np.ones(size // 4, np.float32) for size in (SMALL, LARGE)]
        there = [model.run(None, {"x": array}, on_device=True)[0] for array in arrays]
        up = [_median(lambda array=array: model.to_device(array)) for array in arrays]
        down = [_median(lambda tensor=tensor: np.array(tensor.numpy())) for tensor in there]
    finally:
        model.close()
    return {(HOST, target): _link(up), (target, HOST): _link(down)}


def _median(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _link(seconds: list[float]) -> Link:
    small, large = seconds
    return Link(small, max(0.0, large - small) / (LARGE - SMALL))


def _copy_model() -> bytes:
    """A model whose output is its input plus one, of any length."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])
    one = helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])
    node = helper.make_node("Add", ["x", "one"], ["y"])
    model = helper.make_model(
        helper.make_graph([node], "copy", [x], [y], [one]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    return model.SerializeToString()
