"""The kernel that takes short rows apart, against numpy."""

import numpy as np
import pytest
from onnx import helper, numpy_helper

import graphc

PARTS = {
    "float32": (1, 2, 1),
    "uint8": (1, 4),
    "int64": (3, 5),
    "float16": (4, 1, 80),
    "float64": (1, 1),
}
"""Lengths of the parts of a row by element type: of those that vectors are shuffled to, and not."""


@pytest.fixture(scope="module")
def splits():
    """Rows of several element types, split into parts of which all but the last are outputs."""
    nodes, inputs, outputs, sizes = [], [], [], []
    for dtype, lengths in PARTS.items():
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        inputs.append(helper.make_tensor_value_info(dtype, element, ["n", "m", sum(lengths)]))
        names = [f"{dtype}_{number}" for number in range(len(lengths))]
        nodes.append(helper.make_node("Split", [dtype, f"{dtype} sizes"], names, axis=2))
        sizes.append(numpy_helper.from_array(np.array(lengths), f"{dtype} sizes"))
        outputs += [helper.make_tensor_value_info(name, element, None) for name in names]
    graph = helper.make_graph(nodes, "splits", inputs, outputs, sizes)
    opsets = [helper.make_opsetid("", 17)]
    return graphc.compile(helper.make_model(graph, opset_imports=opsets, ir_version=8))


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 41)])
def test_parts(splits, shape):
    random = np.random.default_rng(0)
    feeds = {
        dtype: (50 * random.random((*shape, sum(lengths)))).astype(dtype)
        for dtype, lengths in PARTS.items()
    }
    results = iter(splits.run(None, feeds))
    for dtype, lengths in PARTS.items():
        for part in np.split(feeds[dtype], np.cumsum(lengths)[:-1], axis=2):
            np.testing.assert_array_equal(next(results), part)
    taken = splits.report.rewrites["split-kernel"].nodes
    assert set(taken) == {f"Split_{number}" for number in range(len(PARTS))}
    assert len(taken) == sum(map(len, PARTS.values()))
