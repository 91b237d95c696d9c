"""Elements narrower than f32 in vectors: values at sizes that are no whole number of vectors."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphc

FIRED = "vectorize-narrow"


def _compile(nodes, inputs, threads=1, **constants):
    """A model of `nodes`, of which the last one computes ``y``, and `inputs`: types and shapes by
    name."""
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
        for name, (dtype, shape) in inputs.items()
    ]
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    outputs = [helper.make_empty_tensor_value_info("y")]
    graph = helper.make_graph(nodes, "narrow", given, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return graphc.compile(model, threads=threads)


def _drawn(dtype, *shape, seed=0):
    random = np.random.default_rng(seed)
    if dtype == np.float16:
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2 if dtype == np.bool_ else 120, shape).astype(dtype)


def _fired(model):
    return model.report.rewrites[FIRED].count


SHAPES = [
    ((512, 1), (1, 768)),
    ((127, 1), (99,)),
    ((65, 131), (65, 131)),
    ((3, 33, 95), (33, 95)),
    ((3, 33, 95), (3, 1, 95)),
    ((20001,), ()),
    ((2, 3, 4, 5, 6, 29), (2, 1, 4, 1, 6, 29)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcast_booleans(shapes):
    node = helper.make_node("Xor", ["a", "b"], ["y"])
    with _compile([node], {n: (np.bool_, s) for n, s in zip("ab", shapes, strict=True)}) as model:
        a, b = (_drawn(np.bool_, *shape, seed=n) for n, shape in enumerate(shapes))
        np.testing.assert_array_equal(model.run(None, {"a": a, "b": b})[0], a ^ b)


@pytest.mark.parametrize(
    ("dtype", "shapes", "threads"),
    [(np.uint8, SHAPES[0], 2), (np.int8, SHAPES[1], 1), (np.int16, SHAPES[2], 1)],
    ids=str,
)
def test_chains_are_one_dispatch(dtype, shapes, threads):
    nodes = [
        helper.make_node("Add", ["a", "b"], ["sum"]),
        helper.make_node("Max", ["sum", "a"], ["most"]),
        helper.make_node("Sub", ["most", "b"], ["y"]),
    ]
    inputs = {n: (dtype, s) for n, s in zip("ab", shapes, strict=True)}
    with _compile(nodes, inputs, threads) as model:
        assert _fired(model) == 1
        a, b = (_drawn(dtype, *shape, seed=n) for n, shape in enumerate(shapes))
        expected = np.maximum(a + b, a) - b
        np.testing.assert_array_equal(model.run(None, {"a": a, "b": b})[0], expected)


def test_halves():
    node = helper.make_node("Mul", ["a", "b"], ["y"])
    with _compile([node], {"a": (np.float16, (77, 263)), "b": (np.float16, (77, 263))}) as model:
        assert _fired(model) == 1
        a, b = _drawn(np.float16, 77, 263), _drawn(np.float16, 77, 263, seed=1)
        np.testing.assert_array_equal(model.run(None, {"a": a, "b": b})[0], a * b)


@pytest.mark.parametrize("shape", [("n", "m"), ("m",), ("n", 1)], ids=str)
def test_named_sizes(shape):
    node = helper.make_node("Or", ["a", "b"], ["y"])
    with _compile([node], {"a": (np.bool_, ("n", "m")), "b": (np.bool_, shape)}) as model:
        assert _fired(model) == 1
        for sizes in [(1, 1), (1, 40), (65, 1), (7, 33), (300, 257), (0, 5)]:
            known = dict(zip("nm", sizes, strict=True))
            shapes = sizes, [known.get(size, size) for size in shape]
            a, b = (_drawn(np.bool_, *each, seed=n) for n, each in enumerate(shapes))
            np.testing.assert_array_equal(model.run(None, {"a": a, "b": b})[0], a | b)


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [(np.uint8, (50, 1000)), (np.float16, (50, 333)), (np.bool_, (9, 50, 129))],
    ids=str,
)
def test_rows_are_looked_up(dtype, shape):
    """Here, or by a kernel."""
    axis = len(shape) - 2
    node = helper.make_node("Gather", ["x", "i"], ["y"], axis=axis)
    with _compile([node], {"x": (dtype, shape), "i": (np.int64, (40,))}) as model:
        x = _drawn(dtype, *shape)
        indices = np.random.default_rng(1).integers(-50, 50, 40)
        found = model.run(None, {"x": x, "i": indices})[0]
        np.testing.assert_array_equal(found, x.take(indices, axis))


@pytest.mark.parametrize("dtype", [np.int8, np.float16])
def test_expansions(dtype):
    """Here, or by a kernel."""
    node = helper.make_node("Expand", ["x", "shape"], ["y"])
    shape = np.array([40, 9, 131])
    with _compile([node], {"x": (dtype, (40, 1, 131))}, shape=shape) as model:
        x = _drawn(dtype, 40, 1, 131)
        np.testing.assert_array_equal(model.run(None, {"x": x})[0], np.broadcast_to(x, shape))


def test_a_value_with_other_readers_stays():
    nodes = [
        helper.make_node("Add", ["x", "x"], ["twice"]),
        helper.make_node("Cast", ["twice"], ["f32"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["f32", "axes"], ["total"], keepdims=1),
        helper.make_node("Cast", ["total"], ["narrow"], to=TensorProto.UINT8),
        helper.make_node("Sub", ["twice", "narrow"], ["y"]),
    ]
    shape = (99, 131)
    with _compile(nodes, {"x": (np.uint8, shape)}, axes=np.array([1])) as model:
        x = np.where(np.random.default_rng(0).random(shape) < 0.3, 1, 0).astype(np.uint8)
        twice = x + x
        expected = twice - twice.sum(1, dtype=np.uint8, keepdims=True)
        np.testing.assert_array_equal(model.run(None, {"x": x})[0], expected)
