"""Elementwise ops whose operands are broadcast at run time or repeated, against numpy."""

import numpy as np
import pytest
from numerics import Const, build_model
from onnx import TensorProto, helper, numpy_helper

import graphc
from graphc.errors import GraphcError


def _compiled(nodes, inputs, constants=None, **options):
    """A model of `nodes` on floats of the given sizes; the result of the last one is its output."""
    typed = {name: (np.float32, sizes) for name, sizes in inputs.items()}
    return _typed(nodes, typed, constants, **options)


def _typed(nodes, inputs, constants=None, **options):
    """A model of `nodes` on inputs of the given types and sizes, and its only result."""
    held = {name: Const(array) for name, array in (constants or {}).items()}
    model = build_model(nodes, inputs, [nodes[-1].output[0]], held)
    return graphc.compile(model, **options)


def _node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], **attributes)


def _floats(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _check(model, expected, *inputs):
    (result,) = model.run(None, dict(zip("abc", inputs, strict=False)))
    np.testing.assert_allclose(result, expected(*inputs), rtol=1e-6, atol=1e-6)


def test_any_axis_broadcasts():
    """Each size may be 1 in one operand or in the other, also the length of rows."""
    nodes = [
        _node("Mul", ["a", "b"], "m"),
        _node("Add", ["m", "a"], "s"),
        _node("Relu", ["s"], "y"),
    ]
    model = _compiled(nodes, {"a": ["h", 5, "w"], "b": ["k", 5, "v"]})
    sizes = [(1, 40), (3, 1), (3, 40), (1, 1), (3, 20000)]
    for h, w in sizes:
        for k, v in sizes:
            if (h in (1, k) or k == 1) and (w in (1, v) or v == 1):
                a, b = _floats(h, 5, w), _floats(k, 5, v)
                _check(model, lambda a, b: np.maximum(a * b + a, 0), a, b)
    assert model.report.rewrites["broadcast-kernel"].count == 1


def test_sizes_that_do_not_broadcast():
    model = _compiled([_node("Add", ["a", "b"], "y")], {"a": ["n"], "b": ["m"]})
    with pytest.raises(GraphcError, match="do not broadcast"):
        model.run(None, {"a": _floats(3), "b": _floats(4)})
    (nothing,) = model.run(None, {"a": _floats(0), "b": _floats(1)})
    assert nothing.shape == (0,)


def test_ranks_and_constants():
    """Operands of lower rank, numbers, and one number for each element of a row."""
    nodes = [
        _node("Add", ["a", "b"], "s"),
        _node("Mul", ["s", "two"], "t"),
        _node("Sub", ["t", "row"], "y"),
    ]
    row = _floats(20)
    constants = {"two": np.float32(2), "row": row}
    model = _compiled(nodes, {"a": ["n", "m", 20], "b": ["k", 20]}, constants)
    for n, m, k in ((2, 3, 3), (2, 3, 1), (2, 1, 4)):
        _check(model, lambda a, b: (a + b) * 2 - row, _floats(n, m, 20), _floats(k, 20))


@pytest.mark.parametrize("is_named", [False, True])
def test_feature_pyramid(is_named):
    """Maps of pixels with 24 features, added to one of half as many, and to pixels of one row."""
    scales = np.array([1, 1, 2, 2], np.float32)
    weights = np.eye(24, dtype=np.float32)[:, :, None, None] * 2
    nodes = [
        _node("Conv", ["a", "w"], "lateral"),
        _node("Sigmoid", ["c"], "gate"),
        _node("Mul", ["lateral", "gate"], "gated"),
        _node("Resize", ["b", "", "scales"], "up", mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        _node("Add", ["gated", "up"], "s"),
        _node("Conv", ["s", "w"], "y"),
    ]  # fmt: skip
    inputs = {"a": [1, 24, "h", "w"], "b": [1, 24, "i", "j"], "c": [1, 24, 1, 1]}
    constants = {"scales": scales, "w": weights}
    shapes = ((6, 10, 3, 5), (1, 10, 3, 5), (1, 1, 1, 1), (6, 1, 3, 40))
    options = {"dims": {"h": 6, "w": 10, "i": 3, "j": 5}}
    model = _compiled(nodes, inputs, constants, **({} if is_named else options))

    def expected(a, b, c):
        up = b.repeat(2, 2).repeat(2, 3)
        return 2 * (2 * a / (1 + np.exp(-c)) + up)

    for h, w, i, j in shapes if is_named else shapes[:1]:
        a, b, c = _floats(1, 24, h, w), _floats(1, 24, i, j), _floats(1, 24, 1, 1)
        _check(model, expected, a, b, c)
    assert model.report.rewrites["broadcast-kernel"].count == 1
    if is_named:
        with pytest.raises(GraphcError, match="do not broadcast"):
            model.run(None, {"a": _floats(1, 24, 6, 9), "b": b[:, :, :3, :5], "c": c})


@pytest.mark.parametrize("repeats", [2, 16])
def test_repeated_elements_of_rows(repeats):
    """Rows of named sizes and of others, beside rows as long or of one element."""
    scales = {"scales": np.array([1, 1, 2, repeats], np.float32)}
    resize = [
        _node("Resize", [x, "", "scales"], f"up_{x}", mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        for x in "ac"
    ]  # fmt: skip
    nodes = [*resize, _node("Add", ["up_a", "b"], "s"), _node("Mul", ["s", "up_c"], "y")]
    inputs = {"a": [1, "n", "h", "w"], "b": [1, "n", "k", "v"], "c": [2, 3, 2, 5]}
    model = _compiled(nodes, inputs, scales)

    def repeated(x):
        return x.repeat(2, 2).repeat(repeats, 3)

    for v in (5 * repeats, 1):
        a, b, c = _floats(1, 3, 2, 5), _floats(1, 3, 4, v), _floats(2, 3, 2, 5)
        _check(model, lambda a, b, c: (repeated(a) + b) * repeated(c), a, b, c)
    assert model.report.rewrites["broadcast-kernel"].count == 2
    assert not model.report.rewrites["broadcast-kernel"].declined


def test_declined():
    """Elements of rows that are repeated thrice, and ops without a rule for vectors."""
    nodes = [
        _node("Resize", ["b", "", "scales"], "up", mode="nearest"),
        _node("Add", ["a", "up"], "s"),
        _node("Add", ["s", "c"], "t"),
        _node("Sin", ["t"], "y"),
    ]
    constants = {"scales": np.array([1, 3], np.float32)}
    model = _compiled(nodes, {"a": [2, "w"], "b": [2, "j"], "c": ["k", "v"]}, constants)
    for w, j, k, v in ((12, 4, 2, 12), (1, 4, 1, 1), (12, 4, 1, 12)):
        _check(
            model,
            lambda a, b, c: np.sin(a + b.repeat(3, 1) + c),
            _floats(2, w), _floats(2, j), _floats(k, v),
        )  # fmt: skip
    rewrites = model.report.rewrites
    assert list(rewrites["fuse-broadcasts"].declined) == [
        "the elements of rows are not repeated as often as divides a vector"
    ]
    assert list(rewrites["broadcast-kernel"].declined) == ["it computes in scalars of f64"]


@pytest.mark.parametrize("kind", ["FLOAT", "BOOL", "FLOAT16", "INT64", "FLOAT8E5M2"])
def test_expansion(kind):
    """Elements of any type, to sizes that are 1 or not; also of no elements."""
    element = getattr(TensorProto, kind)
    dtype = helper.tensor_dtype_to_np_dtype(element)
    inputs = [
        helper.make_tensor_value_info("x", element, ["a", "b", 3, "c"]),
        helper.make_tensor_value_info("like", TensorProto.FLOAT, ["d", "e", 3, "f"]),
    ]
    nodes = [_node("Shape", ["like"], "sizes"), _node("Expand", ["x", "sizes"], "y")]
    outputs = [helper.make_empty_tensor_value_info("y")]
    made = helper.make_graph(nodes, "g", inputs, outputs)
    opset = [helper.make_opsetid("", 21)]
    model = graphc.compile(helper.make_model(made, opset_imports=opset, ir_version=10))
    sizes = [
        ((2, 1, 3, 17), (2, 5, 3, 1)),
        ((1, 4, 3, 1), (2, 4, 3, 40)),
        ((2, 0, 3, 4), (1, 1, 3, 4)),
    ]
    for shape, like in sizes:
        x = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
        expected = np.broadcast_to(x, np.broadcast_shapes(shape, like))
        (y,) = model.run(None, {"x": x, "like": _floats(*like)})
        assert y.dtype == dtype
        np.testing.assert_array_equal(y.astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64])
def test_rows_that_are_repeated(dtype):
    """Rows of no whole vectors, along named and unit axes, and of the least length."""
    random = np.random.default_rng(0)
    shapes = {(7, 1, 19): (7, 5, 19), (1, 16): (40, 16), (2, 1, 3, 1, 33): (2, 4, 3, 2, 33)}
    for shape, wanted in shapes.items():
        x = random.integers(0, 100, shape).astype(dtype)
        rows, repeats = (1, wanted[0]) if shape[0] == 1 else ("n", 1)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        graph = helper.make_graph(
            [helper.make_node("Expand", ["x", "shape"], ["y"])],
            "rows",
            [helper.make_tensor_value_info("x", kind, [rows, *shape[1:]])],
            [helper.make_empty_tensor_value_info("y")],
            [numpy_helper.from_array(np.array([repeats, *wanted[1:]]), "shape")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        with graphc.compile(model) as compiled:
            found = compiled.run(None, {"x": x})[0]
            np.testing.assert_array_equal(found, np.broadcast_to(x, wanted))


def _random(dtype, *shape):
    random = np.random.default_rng(sum(shape))
    if np.dtype(dtype).kind == "f":
        return random.standard_normal(shape).astype(dtype)
    high = 2 if dtype is np.bool_ else 100
    return random.integers(0, high, shape).astype(dtype)


PAIRS = [
    ((3, 5), (3, 5)),  # one row of 15
    ((3, 5), (1, 5)),
    ((3, 1), (1, 200)),
    ((4, 130), (4, 1)),
    ((1, 1), (2, 7)),
    ((2, 16400), (1, 16400)),
    ((0, 5), (1, 5)),
]
"""Sizes of two operands, with rows of single elements, short and whole vectors, and segments."""


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, np.int64, np.float64])
def test_types(dtype):
    """Arithmetic, comparison and choice by a mask; with a constant that needs all bits."""
    most = np.finfo(dtype).max if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
    nodes = [
        _node("Less", ["a", "b"], "less"),
        _node("Add", ["a", "b"], "sum"),
        _node("Where", ["less", "sum", "most"], "y"),
    ]
    inputs = {"a": (dtype, ["h", "w"]), "b": (dtype, ["k", "v"])}
    model = _typed(nodes, inputs, {"most": np.array(most, dtype)})
    for first, second in PAIRS:
        a, b = _random(dtype, *first), _random(dtype, *second)
        (y,) = model.run(None, {"a": a, "b": b})
        np.testing.assert_array_equal(y, np.where(a < b, a + b, np.array(most, dtype)))
    assert model.report.rewrites["broadcast-kernel"].count == 1


def test_booleans():
    """Also with a mask of fewer axes, and a cast of the result."""
    nodes = [
        _node("And", ["a", "b"], "and"),
        _node("Xor", ["and", "c"], "xor"),
        _node("Cast", ["xor"], "y", to=TensorProto.INT32),
    ]
    sizes = {"a": ["h", "w"], "b": ["k", "v"], "c": ["u"]}
    model = _typed(nodes, {name: (np.bool_, shape) for name, shape in sizes.items()})
    for first, second in PAIRS:
        length = np.broadcast_shapes(first, second)[-1]
        a, b = _random(np.bool_, *first), _random(np.bool_, *second)
        for c in (_random(np.bool_, length), np.array([True])):
            (y,) = model.run(None, {"a": a, "b": b, "c": c})
            np.testing.assert_array_equal(y, ((a & b) ^ c).astype(np.int32))
    assert model.report.rewrites["broadcast-kernel"].count == 2


def test_signs_in_one_model():
    """Kernels on the same bytes, with and without a sign, are not the same."""
    nodes = [
        _node("Max", ["a", "b"], "bytes"),
        _node("Max", ["c", "d"], "signed"),
        _node("Cast", ["bytes"], "wide_bytes", to=TensorProto.INT16),
        _node("Cast", ["signed"], "wide_signed", to=TensorProto.INT16),
        _node("Concat", ["wide_bytes", "wide_signed"], "y", axis=0),
    ]
    kinds = {"a": np.uint8, "b": np.uint8, "c": np.int8, "d": np.int8}
    inputs = {name: (dtype, [f"n{name}", 50]) for name, dtype in kinds.items()}
    model = _typed(nodes, inputs)
    feed = {name: _random(np.uint8, 3, 50) * 2 for name in "abcd"}
    feed = {name: array.view(kinds[name]) for name, array in feed.items()}
    feed["b"], feed["d"] = feed["b"][:1], feed["d"][1:2]
    (y,) = model.run(None, feed)
    expected = [np.maximum(feed["a"], feed["b"]), np.maximum(feed["c"], feed["d"])]
    np.testing.assert_array_equal(y, np.concatenate([x.astype(np.int16) for x in expected]))


@pytest.mark.parametrize("op", ["Mod", "Pow", "Sigmoid"])
def test_expanded_before(op):
    """Operands of ops without a rule for vectors are expanded first."""
    nodes = [_node("Add", ["a", "b"], "s"), _node(op, ["s"], "y")]
    if op == "Mod":
        nodes = [_node("Mod", ["a", "b"], "y", fmod=1)]
    if op == "Pow":
        nodes = [_node("Pow", ["a", "b"], "y")]
    model = _typed(nodes, {"a": (np.float64, ["h", 1, "w"]), "b": (np.float64, ["k", "v"])})
    for first, second in PAIRS[:4]:
        a, b = np.abs(_random(np.float64, first[0], 1, first[1])), _random(np.float64, *second)
        expected = {
            "Mod": np.fmod,
            "Pow": np.power,
            "Sigmoid": lambda a, b: 1 / (1 + np.exp(-(a + b))),
        }[op](a, b)
        (y,) = model.run(None, {"a": a, "b": b})
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-7)
    assert model.report.rewrites["broadcast-kernel"].declined


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_repeated_elements_of_other_types(dtype):
    """Rows that end between two vectors, repeated beside a mask."""
    constants = {"scales": np.array([2, 4], np.float32)}
    nodes = [
        _node("Resize", ["a", "", "scales"], "up", mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        _node("Where", ["m", "up", "b"], "y"),
    ]  # fmt: skip
    inputs = {"a": (dtype, ["h", "w"]), "m": (np.bool_, ["k", "v"]), "b": (dtype, [1])}
    model = _typed(nodes, inputs, constants)
    for width in (1, 3, 17, 40):
        a, b = _random(dtype, 3, width), np.array([7], dtype)
        for shape in ((6, 4 * width), (1, 4 * width), (6, 1)):
            m = _random(np.bool_, *shape)
            (y,) = model.run(None, {"a": a, "m": m, "b": b})
            np.testing.assert_array_equal(y, np.where(m, a.repeat(2, 0).repeat(4, 1), b))
    assert model.report.rewrites["broadcast-kernel"].count == 1
