"""Reductions, positions of extrema and running sums against ONNX Runtime, or the reference."""

import ml_dtypes
import numpy as np
import pytest
from numerics import (
    Cases,
    Feed,
    build_model,
    compare,
    compare_with_onnxruntime,
    const,
    evaluate,
    output_names,
    run_compiled,
)
from onnx import helper, parser

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)

REDUCTIONS = (
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
)


def _positive(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return (_random.random(shape) * 3 + 1).astype(dtype)


def _normal(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


def test_axes_as_attribute():
    cases = Cases(opset=11)
    for op_type in REDUCTIONS:
        cases.add(op_type, _positive(2, 3, 4), axes=[0, -1])
    cases.add("ReduceMean", Feed(_positive(2, 3, 4), ["a", 3, "b"]), keepdims=0)
    cases.compare_with_onnxruntime()
    cases = Cases(opset=13)
    cases.add("ReduceMean", _positive(2, 3, 4), axes=[1])
    cases.add("ReduceSum", _positive(2, 3, 4), const([1]))
    cases.compare_with_onnxruntime()


def test_axes_as_input():
    cases = Cases(opset=18)
    for op_type in REDUCTIONS:
        cases.add(op_type, _positive(2, 3, 4), const([0, -1]))
        cases.add(op_type, Feed(_positive(2, 3, 4), ["a", "b", 4]), const([1]), keepdims=0)
        cases.add(op_type, _positive(2, 3), keepdims=0)
    cases.compare_with_onnxruntime()


def test_element_types():
    cases = Cases(opset=18)
    for op_type in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"):
        for dtype in (np.float64, np.int32):
            cases.add(op_type, _normal(3, 5, dtype=np.float64).astype(dtype) * 3, const([1]))
    for op_type in ("ReduceSum", "ReduceMax", "ReduceMin"):
        cases.add(op_type, _random.integers(-(2**40), 2**40, (3, 5)), const([0]), keepdims=0)
    for op_type in ("ReduceMax", "ReduceMin"):
        cases.add(op_type, _random.integers(0, 256, (3, 5)).astype(np.uint8), const([0]))
        cases.add(op_type, _random.integers(-128, 128, (3, 5)).astype(np.int8), const([0]))
    cases.compare_with_onnxruntime()


def test_means_of_integers_are_cut_towards_zero():
    cases = Cases(opset=18)
    rows = np.array([[-1, -1, -1, 2], [1, 1, 1, -2], [-5, -5, -5, -4], [7, 0, 0, 0]], np.int32)
    cases.add("ReduceMean", rows, const([1]))
    cases.add("ReduceMean", rows.astype(np.int64), const([0]))
    cases.compare_with_onnxruntime()


def test_booleans_have_any_and_all():
    cases = Cases(opset=20)
    x = np.array([[True, False], [True, True], [False, False]])
    for op_type in ("ReduceMax", "ReduceMin"):
        cases.add(op_type, x, const([1]), keepdims=0)
        cases.add(op_type, x, keepdims=1)
    cases.compare_with_onnxruntime()


def test_no_axes_can_mean_none_or_all():
    """Without axes to reduce, what a composed reduction does to each element is still done."""
    cases = Cases(opset=18)
    x = _positive(2, 3)
    for op_type in ("ReduceSum", "ReduceMean", "ReduceMax"):
        cases.add(op_type, x, noop_with_empty_axes=1)
        cases.add(op_type, x, const([], np.int64), noop_with_empty_axes=1)
        cases.add(op_type, x, const([], np.int64))
    cases.compare_with_onnxruntime()
    composed = Cases(opset=18)
    composed.add("ReduceSumSquare", x, noop_with_empty_axes=1)
    composed.add("ReduceLogSum", x, noop_with_empty_axes=1)
    composed.add("ReduceL1", -x, noop_with_empty_axes=1)
    for results in (
        evaluate(composed.model(), composed.feeds),
        run_compiled(composed.model(), composed.feeds),
    ):
        compare(results, [x * x, np.log(x), x], composed.outputs)


def test_scalars_and_empty_tensors():
    cases = Cases(opset=20)
    cases.add("ReduceSum", np.array(3, np.float32))
    cases.add("ReduceMax", np.array(3, np.float32), keepdims=0)
    empty = np.zeros((2, 0, 3), np.float32)
    for op_type in ("ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"):
        cases.add(op_type, empty, const([1]))
        cases.add(op_type, Feed(empty, [2, "n", 3]), const([1]), keepdims=0)
    for op_type in ("ReduceMax", "ReduceMin"):
        cases.add(op_type, empty, const([1]))
        cases.add(op_type, empty.astype(np.int32), const([1]))
        cases.add(op_type, empty.astype(np.bool_), const([1]), keepdims=0)
    cases.add("ReduceLogSum", empty, const([1]))
    cases.add("ReduceLogSumExp", empty, const([1]))
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_means_of_nothing():
    """0 as for ONNX Runtime, and for PyTorch the mean of an empty bag. Large enough for kernels,
    too."""
    cases = Cases(opset=18)
    for shape in ((2, 0, 3), (2, 0, 20000), (20000, 0)):
        for dtype in (np.float32, np.int32):
            names = [2, "n", shape[-1]] if len(shape) == 3 else ["m", "k"]
            cases.add("ReduceMean", np.zeros(shape, dtype), const([1]))
            cases.add("ReduceMean", Feed(np.zeros(shape, dtype), names), const([1]), keepdims=0)
    cases.compare_with_onnxruntime()
    cases.compare_evaluation_with_onnxruntime()


def test_large_values_do_not_overflow_log_sum_exp():
    cases = Cases(opset=18)
    rows = np.array([[1000, 1001, 999], [-1000, -1001, -2000]], np.float32)
    cases.add("ReduceLogSumExp", rows, const([1]), keepdims=0)
    infinite = np.array([[-np.inf, -np.inf], [np.inf, 0], [np.nan, 0]], np.float32)
    cases.add("ReduceLogSumExp", infinite, const([1]))
    expected = [[1001.40760596, -999.68673831], [[-np.inf], [np.inf], [np.nan]]]
    for run in (evaluate, run_compiled):
        results = run(cases.model(), cases.feeds)
        compare(results, [np.array(e, np.float32) for e in expected], cases.outputs)


def test_not_a_number_wins_and_integers_wrap():
    """ONNX Runtime drops NaN, and sums int64 in f64."""
    cases = Cases(opset=18)
    x = _normal(4, 40)
    x[1, 3] = x[2, 39] = np.nan
    cases.add("ReduceMax", x, const([1]))
    cases.add("ReduceMin", x, const([1]))
    large = np.array([2**62 + 1, 2**62 + 1, 2**62 + 1])
    cases.add("ReduceSum", large, const([0]), keepdims=0)
    expected = [x.max(1, keepdims=True), x.min(1, keepdims=True), large.sum()]
    for run in (evaluate, run_compiled):
        compare(run(cases.model(), cases.feeds), expected, cases.outputs)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_small_floats_are_summed_in_f32(dtype):
    """4096 + 1 + 1 ... is 4096 in 16 bits, whatever the number of ones."""
    x = np.ones((2, 4097), dtype)
    x[:, 0] = 4096
    cases = Cases(opset=18)
    for op_type in ("ReduceSum", "ReduceMean", "ReduceL2", "ReduceSumSquare"):
        cases.add(op_type, (x / 64 if "Square" in op_type else x).astype(dtype), const([1]))
    wide = x.astype(np.float64)
    expected = [
        wide.sum(1),
        wide.mean(1),
        np.sqrt((wide**2).sum(1)),
        ((x / 64).astype(dtype).astype(np.float64) ** 2).sum(1),
    ]
    for run in (evaluate, run_compiled):
        results = run(cases.model(), cases.feeds)
        compare(results, [e[:, None].astype(dtype) for e in expected], cases.outputs)


def test_positions_of_extrema():
    cases = Cases(opset=13)
    for op_type in ("ArgMax", "ArgMin"):
        cases.add(op_type, _normal(3, 20), axis=1)
        cases.add(op_type, _normal(3, 20), keepdims=0)
        cases.add(op_type, Feed(_normal(3, 20, 2), ["a", "b", 2]), axis=-2, keepdims=0)
        ties = _random.integers(0, 3, (5, 40)).astype(np.int32)
        cases.add(op_type, ties, axis=1)
        cases.add(op_type, ties.astype(np.float32), axis=1, select_last_index=1)
        cases.add(op_type, ties.astype(np.uint8), axis=0, select_last_index=1)
        cases.add(op_type, np.full((2, 5), -np.inf, np.float32), axis=1)
        cases.add(op_type, np.full((2, 5), np.inf, np.float32), axis=1, select_last_index=1)
    cases.compare_with_onnxruntime()


def test_positions_of_extrema_are_those_of_the_first_nan():
    x = _normal(4, 30)
    x[0, 7] = x[0, 9] = x[2, 29] = np.nan
    cases = Cases(opset=13)
    cases.add("ArgMax", x, axis=1, keepdims=0)
    cases.add("ArgMin", x, axis=1, keepdims=0)
    cases.add("ArgMax", x, axis=1, keepdims=0, select_last_index=1)
    last = np.argmax(x, 1)
    last[0] = 9
    for run in (evaluate, run_compiled):
        results = run(cases.model(), cases.feeds)
        compare(results, [np.argmax(x, 1), np.argmin(x, 1), last], cases.outputs)


def test_running_sums():
    cases = Cases(opset=14)
    for x in (_normal(3, 7), Feed(_normal(3, 7), ["a", "b"]), _random.integers(-9, 9, (3, 7))):
        for attributes in ({}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}):
            cases.add("CumSum", x, const(1), **attributes)
    cases.add("CumSum", _normal(3, 7, 2), const([-3]))
    cases.add("CumSum", _normal(5), const(0), exclusive=1)
    for axis, dims in ((2, "bc1d"), (2, "bcde"), (0, "bcde")):
        sizes = [int(dim) if dim.isdecimal() else dim for dim in dims]
        cases.add("CumSum", Feed(_normal(2, 3, 1, 4), sizes), const(axis))
    cases.compare_with_onnxruntime()


def test_running_sums_of_nothing_and_of_small_floats():
    cases = Cases(opset=14)
    cases.add("CumSum", np.zeros((0, 3), np.float32), const(0))
    cases.add("CumSum", np.zeros((3, 0), np.float32), const(0))
    cases.add("CumSum", np.ones((1, 5), np.float32), const(0), exclusive=1, reverse=1)
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()
    ones = np.ones(3000, np.float16)
    small = Cases(opset=14)
    small.add("CumSum", ones, const(0))
    for run in (evaluate, run_compiled):
        compare(run(small.model(), small.feeds), [np.arange(1, 3001, dtype=np.float16)], ["sum"])


def test_running_products():
    cases = Cases(opset=26)
    cases.add("CumProd", _normal(3, 7), const(1))
    cases.add("CumProd", _normal(3, 7), const(0), exclusive=1, reverse=1)
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


@pytest.mark.parametrize("op_type", ["ReduceMax", "ReduceMean", "ReduceL2"])
def test_one_reduction_in_two_shapes(op_type):
    nodes = [
        helper.make_node(op_type, ["x", "axes"], ["y"], keepdims=1),
        helper.make_node("Transpose", ["y"], ["z"], perm=[3, 2, 0, 1]),
        helper.make_node("Sub", ["z", "y"], ["differences"]),
    ]
    x = _positive(1, 3, 1, 2)
    inputs, axes = {"x": (x.dtype, x.shape)}, np.asarray([2, 3])
    model = build_model(nodes, inputs, ["differences"], {"axes": axes})
    compare_with_onnxruntime(model, {"x": x})


def test_one_reduction_in_two_orders_by_way_of_others():
    nodes = [
        helper.make_node("ReduceL1", ["x", "axes"], ["y"], keepdims=1),
        helper.make_node("Transpose", ["y"], ["turned"]),
        helper.make_node("Neg", ["turned"], ["z"]),
        helper.make_node("Max", ["y", "z"], ["greatest"]),
        helper.make_node("Mul", ["y", "z"], ["products"]),
        helper.make_node("ReduceSum", ["products", "axes"], ["sums"]),
    ]
    x = _positive(3, 1, 2)
    inputs, axes = {"x": (x.dtype, x.shape)}, np.asarray([2])
    model = build_model(nodes, inputs, ["greatest", "sums"], {"axes": axes})
    compare_with_onnxruntime(model, {"x": x})


OF_A_SCALE = {
    "itself": [helper.make_node("Tile", ["scale", "times"], ["other"])],
    "repeated": [
        helper.make_node("Tile", ["scale", "times"], ["copies"]),
        helper.make_node("ReduceMean", ["copies"], ["mean"]),
        helper.make_node("Sub", ["copies", "mean"], ["other"]),
    ],
    "in a sum": [
        helper.make_node("Mul", ["x", "scale"], ["products"]),
        helper.make_node("ReduceSum", ["products", "axes"], ["other"]),
    ],
}
"""Other uses of a scale beside differences, with sizes of their own."""


@pytest.mark.parametrize("other", OF_A_SCALE)
def test_differences_of_unknown_size(other):
    nodes = [
        helper.make_node("ReduceMax", ["x", "axes"], ["greatest"]),
        helper.make_node("Sigmoid", ["greatest"], ["scale"]),
        *OF_A_SCALE[other],
        helper.make_node("Sub", ["x", "scale"], ["differences"]),
        helper.make_node("Tanh", ["differences"], ["bounded"]),
    ]
    outputs = ["bounded", "other", *(["scale"] if other == "itself" else [])]
    constants = {"axes": np.asarray([0, 1]), "times": np.asarray([3, 1, 1])}
    model = build_model(nodes, {"x": (np.float32, ["n", "m", "k"])}, outputs, constants)
    for shape in ((2, 8, 5), (1, 5, 4), (13, 13, 2)):
        compare_with_onnxruntime(model, {"x": _positive(*shape)})


def test_sum_of_what_canonicalizes_to_a_constant():
    nodes = [
        helper.make_node("Pow", ["x", "zero"], ["ones"]),
        helper.make_node("ReduceSum", ["ones"], ["count"]),
    ]
    x = _positive(1, 3, 2)
    model = build_model(nodes, {"x": (x.dtype, x.shape)}, ["count"], {"zero": np.float32(0)})
    compare_with_onnxruntime(model, {"x": x})


EQUAL_ELEMENTS = """
g (int32[%s, 7] x) => (float[a, 1] count, int32[b, 1] fives, int32[c, 1] chosen, float[1, 1] mean,
                       float[1, 1, d, e] windows)
  <int64[1] axes = {1}, int64[2] front = {0, 1}, int32 zero = {0}, int32 five = {5}> {
  holds = Equal(x, x)
  ones = Cast<to=1>(holds)
  count = ReduceSum(ones, axes)
  product = Mul(x, zero)
  sum = Add(product, five)
  fives = ReduceSum(sum, axes)
  more = Greater(x, five)
  either = Where(more, five, five)
  chosen = ReduceSum(either, axes)
  mean = ReduceMean<axes=[0, 1]>(ones)
  image = Unsqueeze(ones, front)
  windows = AveragePool<kernel_shape=[2, 3]>(image)
}
"""


@pytest.mark.parametrize("rows", ["3", "n"])
def test_sums_of_elements_that_the_backend_knows(rows):
    model = parser.parse_model('<ir_version: 8, opset_import: ["": 13]>' + EQUAL_ELEMENTS % rows)
    compare_with_onnxruntime(model, {"x": np.arange(21, dtype=np.int32).reshape(3, 7)})


@pytest.mark.parametrize(
    ("op_type", "arguments", "attributes", "message"),
    [
        ("ReduceSum", [const([2])], {}, "axis 2 is outside a tensor of rank 2"),
        ("ReduceSum", [const([1, -1])], {}, "name an axis twice"),
        ("ArgMax", [], {"axis": 3}, "axis 3 is outside a tensor of rank 2"),
        ("CumSum", [const(-3)], {}, "axis -3 is outside a tensor of rank 2"),
    ],
)
def test_axes_must_exist(op_type, arguments, attributes, message):
    cases = Cases(opset=18)
    cases.add(op_type, _normal(2, 3), *arguments, **attributes)
    with pytest.raises(InvalidModelError, match=f"node '{op_type}_0'.*{message}"):
        import_onnx(cases.model())


def test_positions_in_an_empty_axis_are_refused():
    cases = Cases(opset=18)
    cases.add("ArgMax", np.zeros((2, 0), np.float32), axis=1)
    with pytest.raises(InvalidModelError, match="no elements to choose from"):
        import_onnx(cases.model())
    assert output_names(cases.model()) == ["ArgMax_0_out0"]
