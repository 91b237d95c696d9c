"""The kernels for reductions and cumulative ops along axes of any place."""

import numpy as np
import pytest
from numerics import build_model, run_onnxruntime
from onnx import helper

import graphc

NUMPY = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
}
SHAPES = [  # names of sizes, sizes, axes
    ((300, 71), (300, 71), [1]),
    ((5, 64, 67), (5, 64, 67), [1]),
    ((133, 131), (133, 131), [0, 1]),
    (("n", "m"), (9, 77), [1]),
    (("n", "m", "k"), (3, 5, 1), [1]),
    ((2, "n", 4100), (2, 6, 4100), [1]),
    ((1000, 17), (1000, 17), [1]),
    ((3, "n", 33), (3, 9, 33), [0, 2]),
]


def _x(sizes, dtype):
    x = np.random.default_rng(sum(sizes)).standard_normal(sizes) * 3
    return x.astype(dtype)


@pytest.mark.parametrize(("names", "sizes", "axes"), SHAPES)
def test_reductions(names, sizes, axes):
    """All ops, as one program: their kernels differ in nothing else."""
    ops = list(NUMPY)
    known = {"axes": np.array(axes)}
    nodes = [
        helper.make_node(op, ["x", "axes"], [op], keepdims=index % 2)
        for index, op in enumerate(ops)
    ]
    model = build_model(nodes, {"x": (np.float32, names)}, ops, known, opset=18)
    x = 1 + _x(sizes, np.float32) / 50
    with graphc.compile(model, threads=2, cache=False) as compiled:
        assert b"reduce_" in compiled._measured[0].contents.tobytes()
        for index, (op, found) in enumerate(zip(ops, compiled(x), strict=True)):
            expected = NUMPY[op](x.astype(float), tuple(axes), keepdims=index % 2 == 1)
            np.testing.assert_allclose(found, expected, rtol=2e-4, err_msg=op)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64])
def test_other_types(dtype):
    names = ["n", "m"]
    nodes = [
        helper.make_node(op, ["x", "axis"], [op + axis])
        for axis in "01"
        for op in ("ReduceSum", "ReduceMax", "ReduceMin")
    ]
    nodes = [
        helper.make_node(node.op_type, ["x", f"axis{node.output[0][-1]}"], node.output, keepdims=0)
        for node in nodes
    ]
    outputs = [node.output[0] for node in nodes]
    known = {"axis0": np.array([0]), "axis1": np.array([1])}
    model = build_model(nodes, {"x": (dtype, names)}, outputs, known, opset=18)
    x = _x((37, 45), dtype)
    with graphc.compile(model, threads=1, cache=False) as compiled:
        for name, found in zip(outputs, compiled(x), strict=True):
            np.testing.assert_allclose(found, NUMPY[name[:-1]](x, int(name[-1])), rtol=1e-12)


def test_nan_is_the_greatest_and_the_least():
    x = _x((300, 70), np.float32)
    x[[7, 250, 299], [3, 64, 69]] = np.nan
    ops = ["ReduceMax", "ReduceMin"]
    nodes = [
        helper.make_node(op, ["x"], [f"{op}{axis}"], axes=[axis], keepdims=0)
        for op in ops
        for axis in (0, 1)
    ]
    outputs = [node.output[0] for node in nodes]
    model = build_model(nodes, {"x": (np.float32, (300, 70))}, outputs, {}, opset=17)
    with graphc.compile(model, threads=1) as compiled:
        for name, found in zip(outputs, compiled(x), strict=True):
            np.testing.assert_array_equal(found, NUMPY[name[:-1]](x, int(name[-1])))


@pytest.mark.parametrize(
    ("names", "sizes", "axis"),
    [((3, 90, 67), (3, 90, 67), 1), (("n", "m"), (17, 259), 0)],
)
def test_cumulative_sums(names, sizes, axis):
    nodes = [
        helper.make_node("CumSum", ["x", "axis"], [f"y{e}{r}"], exclusive=e, reverse=r)
        for e in (0, 1)
        for r in (0, 1)
    ]
    outputs, known = [node.output[0] for node in nodes], {"axis": np.array(axis)}
    model = build_model(nodes, {"x": (np.float32, names)}, outputs, known, opset=14)
    x = _x(sizes, np.float32)
    with graphc.compile(model, threads=2, cache=False) as compiled:
        assert b"scan" in compiled._measured[0].contents.tobytes()
        for found, expected in zip(compiled(x), run_onnxruntime(model, {"x": x}), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_cumulative_sums_of_nothing():
    node = helper.make_node("CumSum", ["x", "axis"], ["y"])
    known = {"axis": np.array(0)}
    model = build_model([node], {"x": (np.int64, ("n", "m"))}, ["y"], known, opset=14)
    with graphc.compile(model, threads=1, cache=False) as compiled:
        for shape in ((0, 7), (7, 0), (2, 3)):
            x = np.arange(np.prod(shape)).reshape(shape)
            np.testing.assert_array_equal(compiled(x), np.cumsum(x, 0))


def test_what_the_backend_fuses_is_left_to_it():
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["a"]),
        helper.make_node("ReduceMax", ["a"], ["y"], axes=[1]),
        helper.make_node("ReduceMax", ["x"], ["b"], axes=[1]),
        helper.make_node("Sqrt", ["b"], ["z"]),
    ]
    model = build_model(nodes, {"x": (np.float32, (300, 300))}, ["y", "z"], {}, opset=17)
    with graphc.compile(model, threads=1, cache=False) as compiled:
        assert b"reduce_" not in compiled._measured[0].contents.tobytes()
