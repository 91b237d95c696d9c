"""Tests of work items that threads claim: each is done once, by any thread."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from onnx import TensorProto, helper

import graphc
from graphc.runtime import resolve_target
from graphc.runtime.execution import inline_execution

ROWS = (1, 130, 576, 960)
"""Row counts of softmaxes in kernels; the last ones have several work items."""


@pytest.fixture(scope="module")
def model():
    """Softmaxes, two by two one after the other."""
    nodes, inputs, outputs = [], [], []
    for rows in ROWS:
        nodes += [
            helper.make_node("Softmax", [f"x{rows}"], [f"a{rows}"]),
            helper.make_node("Softmax", [f"a{rows}"], [f"b{rows}"]),
        ]
        inputs.append(helper.make_tensor_value_info(f"x{rows}", TensorProto.FLOAT, [rows, 197]))
        outputs += [helper.make_empty_tensor_value_info(f"{name}{rows}") for name in "ab"]
    graph = helper.make_graph(nodes, "softmaxes", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.fixture(scope="module")
def expected(model):
    """The results of one thread, which claims nothing, for some inputs."""
    random = np.random.default_rng(0)
    with graphc.compile(model, threads=1) as alone:
        feeds = [
            {f"x{rows}": random.standard_normal((rows, 197), np.float32) for rows in ROWS}
            for _ in range(5)
        ]
        return [(feed, alone.run(None, feed)) for feed in feeds]


@pytest.mark.skipif(not resolve_target("cpu").knows_its_core, reason="needs x86-64")
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_every_piece_is_done(model, expected, threads, monkeypatch):
    monkeypatch.setattr(inline_execution, "SHORT", 0)  # calls stay on the workers

    def run(case):
        feed, results = case
        for ours, result in zip(shared.run(None, feed), results, strict=True):
            np.testing.assert_array_equal(ours, result)

    with graphc.compile(model, threads=threads) as shared:
        assert shared.report is not None
        assert shared.report.rewrites["share"].count >= 4
        for case in expected * 10:
            run(case)
        with ThreadPoolExecutor(3) as callers:  # each call has counters of its own
            list(callers.map(run, expected * 10))
