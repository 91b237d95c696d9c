"""The kernels that gather whole rows, and elements along an axis, against numpy."""

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc

EXTENT = 11


def _compile(operator, x, indices, **attributes):
    """A model of one gather, from inputs given as types and shapes."""
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
        for name, (dtype, shape) in {"x": x, "i": indices}.items()
    ]
    node = helper.make_node(operator, ["x", "i"], ["y"], name="gather", **attributes)
    graph = helper.make_graph([node], "rows", inputs, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    compiled = graphc.compile(model)
    assert compiled.report.rewrites["gather-kernel"].count == 1
    return compiled


def _drawn(dtype, *shape):
    return np.random.default_rng(0).integers(0, 120, shape).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "index", "shape", "axis"),
    [
        (np.float32, np.int64, (EXTENT, 33), 0),
        (np.float16, np.int32, (2, EXTENT, 67), 1),
        (np.int64, np.int64, (3, EXTENT, 5, 3), 1),
        (np.uint8, np.int32, (EXTENT, 131), 0),
    ],
    ids=str,
)
def test_rows(dtype, index, shape, axis):
    with _compile("Gather", (dtype, shape), (index, (4, 7)), axis=axis) as model:
        x = _drawn(dtype, *shape)
        indices = np.random.default_rng(1).integers(-EXTENT, EXTENT, (4, 7)).astype(index)
        found = model.run(None, {"x": x, "i": indices})[0]
        np.testing.assert_array_equal(found, x.take(indices, axis))


def test_named_sizes():
    with _compile("Gather", (np.float32, ("n", "m", 20)), (np.int64, ("k",)), axis=1) as model:
        for n, m, k in ((1, 1, 1), (3, 7, 0), (2, 5, 300), (0, 4, 2)):
            x = _drawn(np.float32, n, m, 20)
            indices = np.random.default_rng(1).integers(-m, m, k)
            found = model.run(None, {"x": x, "i": indices})[0]
            np.testing.assert_array_equal(found, x.take(indices, 1))


@pytest.mark.parametrize("batch", [0, 1])
def test_rows_at_several_positions(batch):
    x, shape = _drawn(np.float32, 3, 5, 7, 17), (3, 40, 2)
    random = np.random.default_rng(1)
    highest = x.shape[batch : batch + 2]
    indices = np.stack([random.integers(-size, size, shape[:-1]) for size in highest], -1)
    attributes = {"batch_dims": batch}
    with _compile("GatherND", (x.dtype, x.shape), (np.int64, shape), **attributes) as model:
        a, b = np.moveaxis(indices, -1, 0)
        expected = x[a, b] if batch == 0 else x[np.arange(3)[:, None], a, b]
        np.testing.assert_array_equal(model.run(None, {"x": x, "i": indices})[0], expected)


@pytest.mark.parametrize(
    ("dtype", "index", "shape", "axis"),
    [
        (np.float32, np.int64, (3, EXTENT), 1),
        (np.float16, np.int32, (5, EXTENT, 7), 1),
        (np.uint8, np.int64, (EXTENT, 13), 0),
        (np.int64, np.int32, (2, 3, EXTENT), 2),
    ],
    ids=str,
)
def test_elements(dtype, index, shape, axis):
    x = _drawn(dtype, *shape)
    taken = [23 if n == axis else size for n, size in enumerate(shape)]
    indices = np.random.default_rng(1).integers(-EXTENT, EXTENT, taken).astype(index)
    with _compile("GatherElements", (dtype, shape), (index, taken), axis=axis) as model:
        found = model.run(None, {"x": x, "i": indices})[0]
        np.testing.assert_array_equal(found, np.take_along_axis(x, indices % EXTENT, axis))


@pytest.mark.parametrize("axis", [1, 2])
def test_elements_along_named_axes(axis):
    names = ["n", "m", "p"]
    taken = [*names[:axis], "k", *names[axis + 1 :]]
    inputs = (np.float32, names), (np.int64, taken)
    with _compile("GatherElements", *inputs, axis=axis) as model:
        for n, m, p, k in ((1, 1, 1, 1), (2, 3, 5, 7), (3, 2, 4, 0), (0, 3, 2, 4), (4, 9, 6, 3)):
            x = _drawn(np.float32, n, m, p)
            sizes = [n, m, p]
            extent, sizes[axis] = sizes[axis], k
            indices = np.random.default_rng(1).integers(-extent, extent, sizes)
            found = model.run(None, {"x": x, "i": indices})[0]
            np.testing.assert_array_equal(found, np.take_along_axis(x, indices % extent, axis))


@pytest.mark.parametrize(("length", "is_kernel"), [("m", True), (6, False)])
def test_elements_that_the_backend_reads(length, is_kernel):
    """With named sizes, the kernel gathers them, too; else they are fused with what reads them."""
    types = {"x": (np.float32, [4, "m"]), "i": (np.int64, [4, length]), "b": (np.float32, [4, 1])}
    nodes = [
        helper.make_node("GatherElements", ["x", "i"], ["taken"], axis=1),
        helper.make_node("Add", ["taken", "b"], ["y"]),
    ]
    x, i, b = _drawn(np.float32, 4, 6), _drawn(np.int64, 4, 6) % 6, _drawn(np.float32, 4, 1)
    with graphc.compile(build_model(nodes, types, ["y"])) as compiled:
        assert ("gather-kernel" in compiled.report.rewrites) == is_kernel
        found = compiled.run(None, {"x": x, "i": i, "b": b})[0]
    np.testing.assert_array_equal(found, np.take_along_axis(x, i, 1) + b)
