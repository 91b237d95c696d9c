"""Selection and sorting by the kernel, against the op's meaning in numpy."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import graphc
from graphc.dialects.graph import TopKOp

_random = np.random.default_rng(0)
_FEW, _MANY = (0, 1, 5, 32, 33), (129, 2000, 30_000)


def _model(rank: int, axis: int, largest: int, dtype: type):
    """TopK of named sizes, of which `k` is an input."""
    sizes, found = [f"n{i}" for i in range(rank)], [f"m{i}" for i in range(rank)]
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs = [("x", element, sizes), ("k", TensorProto.INT64, [1])]
    outputs = [("values", element, found), ("indices", TensorProto.INT64, found)]
    node = helper.make_node("TopK", ["x", "k"], ["values", "indices"], axis=axis, largest=largest)
    values = [[helper.make_tensor_value_info(*each) for each in part] for part in (inputs, outputs)]
    graph = helper.make_graph([node], "g", *values)
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _elements(shape: tuple[int, ...], axis: int, kind: str, dtype: type) -> np.ndarray:
    x = _random.standard_normal(shape) * 50
    if kind == "close" and np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).max - _random.integers(0, 200, shape).astype(dtype)
    if kind == "close":
        x = 1 + x * np.finfo(dtype).eps
    elif kind == "ties":
        x = np.round(x / 30)
    elif kind != "random":
        x = np.sort(x, axis)
    if kind == "falling":
        x = np.flip(x, axis)
    if np.issubdtype(dtype, np.floating):
        special = _random.choice([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
        return np.where(_random.random(shape) < 0.1, special, x).astype(dtype)
    return np.abs(x).astype(dtype) if np.issubdtype(dtype, np.unsignedinteger) else x.astype(dtype)


@pytest.mark.parametrize(
    ("rank", "axis", "largest", "dtype"),
    [
        (1, 0, 1, np.float32),
        (2, 0, 0, np.float32),
        (3, 1, 1, np.float64),
        (2, 1, 1, np.float16),
        (2, 1, 0, np.int64),
        (1, 0, 1, np.uint8),
        (1, 0, 0, np.uint64),
    ],
)
def test_the_first_elements(rank, axis, largest, dtype):
    compiled = graphc.compile(_model(rank, axis, largest, dtype), target="cpu:host", cache=False)
    for count in (*_FEW, *_MANY):
        for kind in ("random", "close", "ties", "rising", "falling"):
            shape = [3] * rank
            shape[axis] = count
            x = _elements(tuple(shape), axis, kind, dtype)
            for k in {0, *(min(count, k) for k in (1, 5, 16, 17, 300)), count // 3, count}:
                values, indices = compiled.run(None, {"x": x, "k": np.array([k])})
                wanted = TopKOp.evaluate(x, k=k, axis=axis, largest=bool(largest), sorted=True)
                np.testing.assert_array_equal(indices, wanted[1])
                np.testing.assert_array_equal(values, wanted[0])
