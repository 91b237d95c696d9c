"""The kernel that slices along several axes and backwards, against numpy."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphc

FLOAT = TensorProto.FLOAT
SLICES = {
    "rows-backwards": ("x", (-1,), (-1000,), (1,), (-1,)),
    "every-third": ("x", (1,), (1000,), (1,), (3,)),
    "inner": ("x", (1, 2, 3), (-1, -2, 60), (0, 1, 2), (1, 1, 1)),
    "all-backwards": ("x", (-1, -2, 3), (-1000, 0, 60), (0, 1, 2), (-1, -2, 1)),
    "one-of-each": ("x", (1, 2), (2, 3), (0, 1), (1, 1)),
    "bytes": ("image", (3, 5), (-2, 30), (1, 2), (1, 1)),
    "bytes-backwards": ("image", (-1, 5), (-1000, 30), (1, 2), (-2, 1)),
    "of flags": ("flags", (-1, 2), (-1000, 30), (0, 1), (-1, 1)),
}


def _model():
    nodes, known = [], []
    for name, (x, *values) in SLICES.items():
        inputs = [x, *(f"{name} {part}" for part in ("starts", "ends", "axes", "steps"))]
        known += [
            numpy_helper.from_array(np.array(v), n) for n, v in zip(inputs[1:], values, strict=True)
        ]
        nodes.append(helper.make_node("Slice", inputs, [name], name=name))
    inputs = [
        helper.make_tensor_value_info("x", FLOAT, ["n", "m", 70]),
        helper.make_tensor_value_info("image", TensorProto.UINT8, [1, 40, 50, 3]),
        helper.make_tensor_value_info("flags", TensorProto.BOOL, [20, 40]),
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in SLICES]
    graph = helper.make_graph(nodes, "slices", inputs, outputs, known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_slices():
    random = np.random.default_rng(0)
    with graphc.compile(_model()) as compiled:
        for n, m in ((3, 7), (40, 30), (2, 9)):
            feeds = {
                "x": random.standard_normal((n, m, 70), np.float32),
                "image": random.integers(0, 256, (1, 40, 50, 3)).astype(np.uint8),
                "flags": random.random((20, 40)) < 0.5,
            }
            results = compiled.run(None, feeds)
            for (x, *values), result in zip(SLICES.values(), results, strict=True):
                where = [slice(None)] * feeds[x].ndim
                for start, end, axis, step in zip(*values, strict=True):
                    where[axis] = slice(start, end if end > -1000 else None, step)
                np.testing.assert_array_equal(result, feeds[x][tuple(where)])
    found = compiled.report.rewrites["slice-kernel"]
    assert set(SLICES) - set(found.nodes) == {"one-of-each", "of flags"}
    assert [*found.declined] == ["its elements are no whole bytes, or more than 8"]


ROWS = {3: (1, 2), 4: (0, 3), 16: (0, 2), 17: (0, 4), 33: (0, 2), 40: (3, 3), 65: (2, 4)}
"""A start and a step, by the number of elements that they leave of a row."""


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float16, np.uint8])
def test_every_second_to_fourth_element(dtype):
    """Rows of less than a vector, of one, and of more, up to the last element of all."""
    nodes, known, expected = [], [], {}
    size = 4 * max(ROWS)
    x = np.random.default_rng(0).integers(0, 200, (3, 5, size)).astype(dtype)
    for count, (start, step) in ROWS.items():
        values = {"s": [start], "e": [start + (count - 1) * step + 1], "a": [2], "t": [step]}
        inputs = ["x", *(f"{key}{count}" for key in values)]
        known += [
            numpy_helper.from_array(np.array(value), name)
            for name, value in zip(inputs[1:], values.values(), strict=True)
        ]
        nodes.append(helper.make_node("Slice", inputs, [f"y{count}"], name=f"y{count}"))
        expected[f"y{count}"] = x[..., start : values["e"][0] : step]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    outputs = [helper.make_empty_tensor_value_info(name) for name in expected]
    given = [helper.make_tensor_value_info("x", kind, ["n", "m", size])]
    graph = helper.make_graph(nodes, "steps", given, outputs, known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with graphc.compile(model) as compiled:
        for result, (name, wanted) in zip(
            compiled.run(None, {"x": x}), expected.items(), strict=True
        ):
            np.testing.assert_array_equal(result, wanted, err_msg=name)
        fired = set(compiled.report.rewrites["slice-kernel"].nodes)
    assert {f"y{count}" for count in ROWS if count >= 16} <= fired
