"""The kernel that concatenates and slices rows, against numpy."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphc

ELEMENT_TYPES = ("float32", "int8", "float16", "int64", "bool")
WIDTHS = (70, 3, 1, 9000)


def compile_model(nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(
        nodes,
        "rows",
        [helper.make_tensor_value_info(name, *each) for name, each in inputs.items()],
        [helper.make_tensor_value_info(name, element, None) for name, element in outputs.items()],
        [numpy_helper.from_array(np.array(v), name) for name, v in initializers],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return graphc.compile(model)


def drawn(rng, shape, dtype):
    return (50 * rng.standard_normal(shape)).astype(dtype)


@pytest.fixture(scope="module")
def concatenations():
    """Parts of four widths, short and longer than a segment, for each element type."""
    nodes, inputs, outputs = [], {}, {}
    for dtype in ELEMENT_TYPES:
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        names = [f"{dtype}{number}" for number in range(len(WIDTHS))]
        inputs |= {n: (element, ("n", w)) for n, w in zip(names, WIDTHS, strict=True)}
        outputs[f"{dtype}_y"] = element
        nodes.append(helper.make_node("Concat", names, [f"{dtype}_y"], axis=1))
    return compile_model(nodes, inputs, outputs)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_parts_of_all_types(concatenations, rows):
    rng = np.random.default_rng(rows)
    types = {spec.name: spec.dtype for spec in concatenations.inputs}
    shapes = {spec.name: (rows, spec.shape[1]) for spec in concatenations.inputs}
    feeds = {name: drawn(rng, shapes[name], dtype) for name, dtype in types.items()}
    for dtype, result in zip(ELEMENT_TYPES, concatenations.run(None, feeds), strict=True):
        parts = [feeds[f"{dtype}{number}"] for number in range(len(WIDTHS))]
        np.testing.assert_array_equal(result, np.concatenate(parts, axis=1))
    found = concatenations.report.rewrites["concat-kernel"]
    assert len(set(found.nodes)) == len(ELEMENT_TYPES) - 1
    assert found.declined  # bits are left to the backend


def test_many_parts():
    """Up to 16 tensors are joined by one kernel; of those that something else reads, too, what is
    joined already."""
    names = [f"x{number}" for number in range(37)]
    nodes = [
        helper.make_node("Concat", names[:16], ["a"], axis=1),
        helper.make_node("Concat", names, ["b"], axis=1),
        helper.make_node("Concat", ["x0", "x1"], ["pair"], axis=1),
        helper.make_node("Concat", ["pair", "x2", "x3"], ["c"], axis=1),
        helper.make_node("Concat", ["x4", "x5"], ["inner"], axis=1),
        helper.make_node("Concat", ["inner", "inner", "x6"], ["d"], axis=1),
        helper.make_node("Concat", ["x7", "x8"], ["one"], axis=1),
        helper.make_node("Slice", ["x9", "from", "to", "from"], ["part"]),
        helper.make_node("Concat", ["x10", "one", "part", "x0"], ["e"], axis=1),
    ]
    widths = [1 + 7 * number % 11 for number in range(37)]
    compiled = compile_model(
        nodes,
        {n: (TensorProto.FLOAT, ("n", w)) for n, w in zip(names, widths, strict=True)},
        dict.fromkeys(("a", "b", "pair", "c", "d", "e"), TensorProto.FLOAT),
        [("from", [1]), ("to", [3])],
    )
    rng = np.random.default_rng(0)
    x = [drawn(rng, (6, width), "float32") for width in widths]
    a, b, pair, c, d, e = compiled.run(None, dict(zip(names, x, strict=True)))
    np.testing.assert_array_equal(a, np.concatenate(x[:16], axis=1))
    np.testing.assert_array_equal(b, np.concatenate(x, axis=1))
    np.testing.assert_array_equal(pair, np.concatenate(x[:2], axis=1))
    np.testing.assert_array_equal(c, np.concatenate(x[:4], axis=1))
    np.testing.assert_array_equal(d, np.concatenate([*x[4:6], *x[4:7]], axis=1))
    joined = [x[10], x[7], x[8], x[9][:, 1:3], x[0]]
    np.testing.assert_array_equal(e, np.concatenate(joined, axis=1))


@pytest.fixture(scope="module")
def slices():
    """Parts of a tensor that are outputs, and such that a concatenation reads in place."""
    nodes = [
        helper.make_node("Split", ["x", "sizes"], ["a", "b", "c"], axis=2),
        helper.make_node("Slice", ["x", "one", "last", "one"], ["inner"]),
        helper.make_node("Concat", ["c", "x", "a"], ["y"], axis=2),
        helper.make_node("Concat", ["inner", "inner"], ["z"], axis=1),
    ]
    return compile_model(
        nodes,
        {"x": (TensorProto.FLOAT, ("n", "m", 24))},
        dict.fromkeys(("b", "y", "inner", "z"), TensorProto.FLOAT),
        [("sizes", [4, 17, 3]), ("one", [1]), ("last", [-1])],
    )


@pytest.mark.parametrize("shape", [(1, 1, 24), (3, 5, 24), (4, 40, 24)])
def test_parts_of_one_tensor(slices, shape):
    x = drawn(np.random.default_rng(0), shape, "float32")
    b, y, inner, z = slices.run(None, {"x": x})
    np.testing.assert_array_equal(b, x[..., 4:21])
    np.testing.assert_array_equal(y, np.concatenate([x[..., 21:], x, x[..., :4]], axis=2))
    np.testing.assert_array_equal(inner, x[:, 1:-1])
    np.testing.assert_array_equal(z, np.concatenate([x[:, 1:-1]] * 2, axis=1))
    copied = set(slices.report.rewrites["concat-kernel"].nodes)
    assert copied == {"Slice_1", "Concat_2", "Concat_3"}
    assert set(slices.report.rewrites["split-kernel"].nodes) == {"Split_0"}
