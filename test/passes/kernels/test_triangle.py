"""The kernels that write triangles and diagonals of matrices, against numpy."""

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.passes.pipelines import graph_pipeline
from harness.marks import long

_SIZES = ((5, 70), (70, 5), (33, 33), (1, 1), (3, 0), (0, 3))


def _compiled(nodes, inputs, outputs, constants=None, vector_bits=512):
    model = build_model(nodes, inputs, outputs, constants)
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    return graphc.compile(model, pipeline=pipeline, threads=2, cache=False)


@pytest.mark.parametrize("vector_bits", [long(128), long(256), 512])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.int64, np.bool_])
def test_triangles(dtype, vector_bits):
    diagonals = (-40, -1, 0, 2, 90)
    nodes = [
        helper.make_node("Trilu", ["x", f"k{k}"], [f"{name}{k}"], upper=upper)
        for k in diagonals
        for upper, name in enumerate("lu")
    ]
    outputs = [node.output[0] for node in nodes]
    constants = {f"k{k}": np.int64(k) for k in diagonals}
    inputs = {"x": (dtype, ["n", "r", "c"])}
    with _compiled(nodes, inputs, outputs, constants, vector_bits) as compiled:
        for rows, columns in _SIZES:
            x = np.random.default_rng(0).integers(1, 100, (2, rows, columns)).astype(dtype)
            expected = [each(x, k) for k in diagonals for each in (np.tril, np.triu)]
            for found, wanted in zip(compiled.run(None, {"x": x}), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("named", [False, True])
def test_diagonals(named):
    diagonals, types = (-3, 0, 4), {"f": 1, "i": 7, "b": 9, "h": 10}
    nodes = [
        helper.make_node("EyeLike", ["x"], [f"{name}{k}"], k=k, dtype=dtype)
        for k in diagonals
        for name, dtype in types.items()
    ]
    outputs = [node.output[0] for node in nodes]
    for rows, columns in _SIZES[: 3 if named else 1]:
        shape = ["r", "c"] if named else [rows, columns]
        with _compiled(nodes, {"x": (np.float32, shape)}, outputs) as compiled:
            found = compiled.run(None, {"x": np.zeros((rows, columns), np.float32)})
        for index, each in enumerate(found):
            wanted = np.eye(rows, columns, diagonals[index // len(types)])
            np.testing.assert_array_equal(each, wanted.astype(each.dtype))
