"""Call overhead: the time of a call of a model with almost no computation.

    python -m graphc.benchmarks.call_overhead

The models are chains of small additions, with a varying number of inputs of 8 elements each, and a
static or a symbolic batch. The table has the time of a call from Python, for graphc and ONNX
Runtime in turns on the same arrays, with one and two threads.
"""

import itertools
import statistics
import time
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import graphc

INPUTS = (1, 2, 8)
THREADS = (1, 2)
BATCHES: tuple[int | str, ...] = (1, "n")
ROUNDS = 25
CALLS = 1000
WARM_UP = 100
ELEMENTS = 8


def tiny_model(inputs: int, batch: int | str = 1) -> onnx.ModelProto:
    """A model that sums `inputs` inputs, one addition each, followed by a Relu."""
    shape = [batch, ELEMENTS]
    names = [f"x{i}" for i in range(inputs)]
    sums = [names[0], *(f"s{i}" for i in range(1, inputs))]
    nodes = [
        helper.make_node("Add", [before, name], [after])
        for before, name, after in zip(sums[:-1], names[1:], sums[1:], strict=True)
    ]
    nodes.append(helper.make_node("Relu", [sums[-1]], ["y"]))
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "tiny", infos, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def call_time(call: Callable[[], object]) -> float:
    """The median time of a call, in microseconds."""
    for _ in range(WARM_UP):
        call()
    taken = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1e6


def compare(inputs: int, batch: int | str, threads: int) -> tuple[float, float]:
    """The time of a call in microseconds, for graphc and ONNX Runtime."""
    model = tiny_model(inputs, batch)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feeds = {f"x{i}": np.full((1, ELEMENTS), i, np.float32) for i in range(inputs)}
    ours, theirs = [], []
    with graphc.compile(model, threads=threads) as compiled:
        for _ in range(ROUNDS):
            ours.append(call_time(lambda: compiled.run(None, feeds)))
            theirs.append(call_time(lambda: session.run(None, feeds)))
    return statistics.median(ours), statistics.median(theirs)


def main() -> None:
    print("threads  batch  inputs  graphc us  onnxruntime us  ratio")
    for threads, batch, inputs in itertools.product(THREADS, BATCHES, INPUTS):
        ours, theirs = compare(inputs, batch, threads)
        ratio = ours / theirs
        print(f"{threads:7}{batch:>7}{inputs:8}{ours:11.2f}{theirs:16.2f}{ratio:7.2f}")


if __name__ == "__main__":
    main()
