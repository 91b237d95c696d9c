"""Matmuls by weights that 16 bits hold exactly."""

import ml_dtypes
import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc

SIZES = [(1, 300, 130), (7, 171, 100), ("n", 40, 64), ("m", 1100, 1000)]
"""Rows, K and columns: one block of K and several, full panels and others, named rows."""


def _model(dtype):
    """relu(x w) + r for each of the sizes, and the results in float64."""
    random = np.random.default_rng(1)
    nodes, inputs, constants, feeds, truths = [], {}, {}, {}, []
    for i, (rows, k, columns) in enumerate(SIZES):
        count = rows if isinstance(rows, int) else 13
        w = random.standard_normal((k, columns)).astype(dtype)
        constants[f"w{i}"] = w.astype(np.float32)
        x = feeds[f"x{i}"] = random.standard_normal((count, k), np.float32)
        r = feeds[f"r{i}"] = random.standard_normal((count, columns), np.float32)
        inputs |= {f"x{i}": (np.float32, (rows, k)), f"r{i}": (np.float32, (rows, columns))}
        nodes += [
            helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"]),
            helper.make_node("Relu", [f"m{i}"], [f"a{i}"]),
            helper.make_node("Add", [f"a{i}", f"r{i}"], [f"y{i}"]),
        ]
        truths.append(np.maximum(x.astype(np.float64) @ w.astype(np.float64), 0) + r)
    outputs = [f"y{i}" for i in range(len(SIZES))]
    return build_model(nodes, inputs, outputs, constants, opset=17), feeds, truths


@pytest.mark.parametrize("vector_bits", [256, 512])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["f16", "bf16"])
def test_compiled(dtype, vector_bits):
    """Results are those of sums of f32, in which the weights lose nothing."""
    model, feeds, truths = _model(dtype)
    form = f"cpu-select-matmul-kernels{{vector-bits={vector_bits} l2-bytes=0}}"
    with graphc.compile(model, pipeline=f"{form},graph-fuse-epilogue", threads=2) as compiled:
        assert compiled.report.rewrites["fuse-epilogue"].count == len(SIZES)
        results = compiled.run(None, feeds)
    for result, truth in zip(results, truths, strict=True):
        assert abs(result - truth).max() <= 1e-5 * abs(truth).max()
