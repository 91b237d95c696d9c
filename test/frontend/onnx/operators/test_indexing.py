"""Gathers, scatters, sorting and positions against ONNX Runtime."""

import ml_dtypes
import numpy as np
import pytest
from numerics import (
    Cases,
    Feed,
    build_model,
    compare,
    compare_with_onnxruntime,
    compile_model,
    const,
    evaluate,
    run_compiled,
)
from onnx.helper import make_node

from graphc.dialects import graph
from graphc.errors import ExecutionError, InvalidModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)


def _normal(*shape: int) -> np.ndarray:
    return np.asarray(_random.standard_normal(shape), np.float32)


def _indices(extent: int, *shape: int) -> np.ndarray:
    return np.asarray(_random.integers(-extent, extent, shape), np.int64)


def test_gather():
    x = _normal(3, 4, 5)
    cases = Cases(opset=13)
    cases.add("Gather", x, _indices(3, 2, 2))
    cases.add("Gather", x, _indices(4, 2, 3), axis=1)
    cases.add("Gather", x, _indices(5, 6).astype(np.int32), axis=-1)
    cases.add("Gather", x, np.array(-1), axis=1)
    cases.add("Gather", x, const([0, -1]), axis=2)
    cases.add("Gather", x, _indices(3, 0))
    cases.add("Gather", _normal(40), _indices(40, 33))
    cases.add("Gather", const(_normal(50, 32)), Feed(_indices(50, 2, 7), ["n", "s"]))
    cases.add("Gather", Feed(x, ["a", "b", "c"]), Feed(_indices(4, 2), ["d"]), axis=1)
    cases.add("Gather", x > 0, _indices(3, 2))
    cases.add("Gather", _indices(9, 3, 40), _indices(3, 2))
    cases.add("Gather", x.astype(np.float16), _indices(3, 2))
    cases.compare_with_onnxruntime()


def test_gather_elements_and_nd():
    x = _normal(3, 4, 5)
    cases = Cases(opset=13)
    cases.add("GatherElements", x, _indices(4, 3, 2, 5), axis=1)
    cases.add("GatherElements", x, _indices(3, 7, 4, 5))
    cases.add("GatherElements", x, _indices(5, 2, 3, 1).astype(np.int32), axis=-1)
    feed = Feed(x, ["a", "b", "c"])
    cases.add("GatherElements", feed, Feed(_indices(4, 3, 2, 5), ["a", "e", "c"]), axis=1)
    cases.add("GatherND", x, _indices(3, 6, 2))
    cases.add("GatherND", x, _indices(3, 2, 6, 3))
    cases.add("GatherND", x, np.array([2, -1]))
    cases.add("GatherND", x, _indices(4, 3, 2, 1), batch_dims=1)
    cases.add("GatherND", x, _indices(5, 3, 4, 1), batch_dims=2)
    cases.add("GatherND", feed, Feed(_indices(4, 3, 2, 1), ["a", 2, 1]), batch_dims=1)
    cases.add("GatherND", x, np.zeros((0, 2), np.int64))
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize("op_type", ["Scatter", "ScatterElements"])
def test_scatter_elements_before_reductions(op_type):
    cases = Cases(opset=9 if op_type == "Scatter" else 11)
    cases.add(op_type, _normal(3, 4), np.array([[1, -1]] * 3), _normal(3, 2), axis=1)
    cases.add(op_type, _normal(3, 4), np.array([[2, 0, -3]]), _normal(1, 3))
    cases.compare_with_onnxruntime()


def test_scatter():
    cases = Cases(opset=18)
    x, targets = _normal(3, 4, 5), np.array([[1, 2], [0, 0], [-1, -1]])
    columns = np.tile(np.array([[[1], [3]]]), (3, 1, 5))
    cases.add("ScatterElements", x, columns, _normal(3, 2, 5), axis=1)
    cases.add("ScatterND", x, targets, _normal(3, 5))
    cases.add("ScatterND", x, np.array([1, 2, 3]), _normal())
    cases.add("ScatterND", x > 0, targets, np.ones((3, 5), np.bool_))
    for reduction in ("add", "mul"):  # which ONNX Runtime takes for "or" and "and"
        some, marks = _indices(4, 3, 6, 5), _normal(9, 5) > 0
        cases.add("ScatterND", x > 0, _indices(3, 9, 2), marks, reduction=reduction)
        cases.add("ScatterElements", x > 0, some, _normal(3, 6, 5) > 0, axis=1, reduction=reduction)
    for reduction in ("add", "mul", "max", "min"):  # to the same targets more than once
        some = _indices(4, 3, 6, 5)
        cases.add("ScatterElements", x, some, _normal(3, 6, 5), axis=1, reduction=reduction)
        cases.add("ScatterND", x, _indices(3, 9, 2), _normal(9, 5), reduction=reduction)
        numbers = _random.integers(-9, 9, (6,))
        cases.add("ScatterND", numbers, _indices(6, 9, 1), numbers[[0] * 9], reduction=reduction)
    feed = Feed(x, ["a", "b", "c"])
    rows = Feed(_normal(3, 5), ["n", "c"])
    cases.add("ScatterND", feed, Feed(targets, ["n", 2]), rows)
    updates = Feed(_normal(3, 2, 5), ["a", "m", "c"])
    cases.add("ScatterElements", feed, Feed(columns, ["a", "m", "c"]), updates, axis=1)
    cases.add("ScatterElements", x, np.zeros((0, 4, 5), np.int64), _normal(0, 4, 5))
    cases.compare_with_onnxruntime()


def test_scatter_of_what_is_computed():
    """Operands that the backend would rather compute within the scatter, on its stack."""
    nodes = [
        make_node("Relu", ["x"], ["x1"]),
        make_node("ConstantOfShape", ["shape"], ["zeros"]),
        make_node("Neg", ["u"], ["u1"]),
        make_node("Abs", ["i"], ["i1"]),
        make_node("ScatterND", ["x1", "i1", "u1"], ["y0"]),
        make_node("ScatterND", ["y0", "j", "zeros"], ["y"]),
        make_node("ScatterND", ["zeros", "i1", "u1"], ["z"], reduction="add"),
    ]
    inputs = {
        "x": (np.float32, [500, 400]),
        "u": (np.float32, ["n", 400]),
        "i": (np.int64, ["n", 1]),
        "j": (np.int64, ["m", 1]),
    }
    model = build_model(nodes, inputs, ["y", "z"], {"shape": [200, 400]}, opset=18)
    feeds = {
        "x": _normal(500, 400),
        "u": _normal(200, 400),
        "i": _random.permutation(200)[:, None],
        "j": 300 + _random.permutation(200)[:, None],
    }
    compare_with_onnxruntime(model, feeds)


def test_places_outside():
    """ONNX forbids them. Reads give 0, writes go to the nearest index; nothing else is touched."""
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    outside = np.array([3, -4, 2**40, -(2**40), 1])
    cases = Cases(opset=18)
    cases.add("Gather", x, outside)
    cases.add("Gather", Feed(x, ["a", "b"]), Feed(outside, ["n"]))
    cases.add("Gather", x, outside.astype(np.int32), axis=1)
    cases.add("GatherElements", x, np.tile(outside[:, None], 4))
    cases.add("GatherND", x, np.stack([outside, outside * 0], 1))
    cases.add("ScatterND", x, outside[:1, None], x[:1] + 100)
    cases.add("ScatterND", x, outside[3:4, None], x[:1] + 100)
    cases.add("ScatterElements", x, np.array([[2**40], [-9], [1]]), x[:, :1] + 100, axis=1)
    cases.compare_compiled_with_evaluation()
    rows = evaluate(cases.model(), cases.feeds)
    compare([rows[0]], [np.stack([x[0] * 0] * 4 + [x[1]])], ["gathered"])
    compare([rows[5][2]], [x[0] + 100], ["scattered"])


def test_places_far_outside():
    """The extremes of the index types, and what is computed from data that is not to be had."""
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    narrow = np.array([np.iinfo(np.int32).min, np.iinfo(np.int32).max, -3], np.int32)
    cases = Cases(opset=18)
    cases.add("Gather", x, np.array([low, high, -3]))
    cases.add("Gather", x, narrow)
    cases.add("GatherND", x, np.array([[[low]], [[high]], [[-1]]]), batch_dims=1)
    cases.add("GatherElements", x, narrow[:, None], axis=1)
    cases.add("ScatterElements", x, np.array([[low, high]]), x[:1, :2] * 0, reduction="add")
    cases.add("ScatterND", x, np.array([[low, 0], [0, high]]), x[0, :2] * 0, reduction="mul")
    cases.add("OneHot", np.array([low, high, -1, 3, -4]), const(3), const([0.0, 1.0]))
    cases.add("OneHot", np.array([low, high, 0]), np.array(0), const([0.0, 1.0]))
    cases.add("Slice", x, np.array([low]), np.array([high]), const([1]), const([2]))
    cases.add("Slice", x, np.array([high]), np.array([low]), const([1]), np.array([low]))
    cases.add("Trilu", x, np.array(low))
    cases.add("Compress", x, np.array([True, False, True, True, True]), axis=0)
    cases.add("ReverseSequence", x, np.array([9, -9, 2, 0]))
    cases.compare_compiled_with_evaluation()
    results = evaluate(cases.model(), cases.feeds)
    nothing = x[0] * 0
    compare([results[0]], [np.stack([nothing, nothing, x[0]])], ["gathered"])
    compare([results[4]], [x], ["added"])
    compare([results[6][:, 2]], [np.array([0, 0, 1, 0, 0], np.float32)], ["hot"])
    compare([results[8]], [x[:, ::2]], ["sliced"])
    compare([results[11]], [x[[0, 2]]], ["compressed"])  # conditions beyond the axis select nothing


def test_an_empty_axis_has_nothing_to_take():
    cases = Cases(opset=18)
    cases.add("Gather", Feed(np.zeros((0, 4), np.float32), ["n", 4]), np.array([0]))
    model = compile_model(cases.model())
    with pytest.raises(ExecutionError, match="Gather_0: indexes an empty axis"):
        model.run(None, cases.feeds)
    feeds = {name: np.ones((1, 4), np.float32) if "in0" in name else array
             for name, array in cases.feeds.items()}  # fmt: skip
    (result,) = model.run(None, feeds)
    assert result.tolist() == [[1, 1, 1, 1]]


def test_constant_indices_outside_are_refused():
    cases = Cases(opset=18)
    cases.add("Gather", _normal(3, 4), const([0, 3]))
    with pytest.raises(
        InvalidModelError, match=r"'Gather_0'.*indices 0\.\.3 for an axis of size 3"
    ):
        import_onnx(cases.model())


def test_top_k():
    cases = Cases(opset=11)
    x = _normal(3, 40, 5)
    ties = _random.integers(0, 4, (3, 40))
    cases.add("TopK", x, const([2]), axis=1, outputs=2)
    cases.add("TopK", x, const([5]), outputs=2, largest=0)
    cases.add("TopK", ties, const([17]), outputs=2)
    cases.add("TopK", Feed(ties, ["a", "b"]), const([17]), outputs=2, largest=0)
    cases.add("TopK", Feed(ties.astype(np.int32), ["a", "b"]), np.array([3]), outputs=2, axis=0)
    cases.add("TopK", _normal(1, 300).astype(np.float64), const([300]), outputs=2)
    cases.add("TopK", _normal(30), const([1]), outputs=2)
    cases.add("TopK", Feed(_normal(1, 1), [1, "b"]), const([1]), outputs=2)
    cases.add("TopK", Feed(_normal(1, 4, 1), ["a", "b", 1]), const([2]), axis=1, outputs=2)
    zeros = np.array([[0.0, -0.0, 1.0, -0.0, 0.0, -1.0]], np.float32)
    cases.add("TopK", zeros, const([6]), outputs=2)
    cases.add(
        "TopK", np.where(zeros > 0, np.inf, -np.inf).astype(np.float32), const([6]), outputs=2
    )
    cases.add("TopK", x, const([0]), outputs=2)
    cases.compare_with_onnxruntime()
    cases = Cases(opset=24)
    for dtype in (np.uint8, np.int8, np.uint64, np.float16, ml_dtypes.bfloat16):
        cases.add(
            "TopK", (_normal(3, 50) * 100).astype(np.int64).astype(dtype), const([20]), outputs=2
        )
    cases.add(
        "TopK", np.array([1, np.nan, -np.inf, np.nan, np.inf], np.float32), const([5]), outputs=2
    )
    cases.compare_compiled_with_evaluation()


def test_k_is_checked_when_the_model_runs():
    cases = Cases(opset=11)
    cases.add("TopK", _normal(3), np.array([4]), outputs=2)
    with pytest.raises(ExecutionError, match="TopK_0: takes k_0 elements of an axis of 3"):
        run_compiled(cases.model(), cases.feeds)


def test_top_k_as_attribute():
    cases = Cases(opset=9)
    cases.add("TopK", _normal(3, 8), k=3, axis=0, outputs=2)
    cases.compare_with_onnxruntime()


def test_range():
    cases = Cases(opset=11)
    for start, limit, delta in ((3, 11, 3), (10, 4, -2), (4, 4, 1), (5, 1, 1), (0.5, 3.25, 0.5)):
        numbers = [
            np.asarray(v, np.float32 if start == 0.5 else None) for v in (start, limit, delta)
        ]
        cases.add("Range", *map(const, numbers))
        cases.add("Range", *numbers)
    cases.add("Range", *(np.array(v, np.int32) for v in (7, -8, -4)))
    cases.compare_with_onnxruntime()


def test_range_up_to_a_size():
    """The usual way to positions: no size has to be computed where the limit is a known one."""
    nodes = [
        make_node("Shape", ["x"], ["shape"]),
        make_node("Gather", ["shape", "one"], ["width"]),
        make_node("Range", ["zero", "width", "one"], ["targets"]),
        make_node("Cast", ["width"], ["limit"], to=1),
        make_node("Range", ["start", "limit", "step"], ["every_other"]),
    ]
    scalars = {"zero": 0, "one": 1, "start": 1.0, "step": 2.0}
    outputs = ["targets", "every_other"]
    model = build_model(nodes, {"x": (np.float32, ["n", "w"])}, outputs, scalars)
    module = import_onnx(model)
    with module.context:
        (function,) = module.body.operations
        *_, returned = function.entry_block.operations
        types = [str(graph.type_of(value)) for value in returned.operation.operands]
    assert types == ["wxi64", "floordiv(w, 2)xf32"]
    compare_with_onnxruntime(model, {"x": _normal(2, 7)})


def test_one_hot_and_eye():
    cases = Cases(opset=11)
    cases.add("OneHot", _indices(8, 2, 3), const(6), _normal(2))
    cases.add("OneHot", _indices(6, 2, 3), const([6]), np.array([3, 7]), axis=0)
    cases.add("OneHot", Feed(_indices(6, 2, 3), ["a", "b"]), np.array(6), _normal(2), axis=1)
    whole = np.trunc(_normal(2, 3) * 4)
    cases.add("OneHot", whole, const(6.0), _normal(2))
    cases.add("EyeLike", _normal(3, 5), k=1)
    cases.add("EyeLike", Feed(_normal(5, 3), ["a", "b"]), k=-2, dtype=7)
    cases.compare_with_onnxruntime()
    cases = Cases(opset=9)  # negative indices were outside then
    cases.add("OneHot", np.array([[-1, 2]]), const(3), const([5.0, 6.0]))
    (result,) = evaluate(cases.model(), cases.feeds)
    assert result.tolist() == [[[5, 5, 5], [5, 5, 6]]]


def test_tensor_scatter():
    cases = Cases(opset=24)
    cache, targets = _normal(2, 3, 5, 4), np.array([1, 3])
    cases.add("TensorScatter", cache, _normal(2, 3, 2, 4), targets)
    cases.add("TensorScatter", cache, _normal(2, 3, 4, 4), targets, mode="circular")
    cases.add("TensorScatter", cache, _normal(2, 3, 5, 4))
    cases.add("TensorScatter", cache, _normal(2, 1, 5, 4), targets - 1, axis=1)
    cases.add("TensorScatter", cache, _normal(2, 3, 5, 1), targets, axis=-1)
    fed = Feed(cache, ["b", 3, "s", 4]), Feed(_normal(2, 3, 3, 4), ["b", 3, "t", 4])
    cases.add("TensorScatter", *fed, Feed(targets, ["b"]), mode="circular")
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_tensor_scatter_has_room():
    cases = Cases(opset=24)
    cases.add("TensorScatter", _normal(2, 5, 4), _normal(2, 3, 4), np.array([0, 3]))
    with pytest.raises(ExecutionError, match="TensorScatter_0: writes outside of an axis of 5"):
        run_compiled(cases.model(), cases.feeds)


def test_trilu_and_reverse_sequence():
    x = _normal(2, 3, 4)
    cases = Cases(opset=14)
    cases.add("Trilu", x)
    cases.add("Trilu", x, const(-1), upper=0)
    cases.add("Trilu", Feed(x, ["a", "b", "c"]), np.array(1))
    cases.add("Trilu", _indices(9, 4, 4), const(5))
    cases.add("ReverseSequence", _normal(4, 3, 2), np.array([1, 4, 2]))
    feed = Feed(_normal(4, 3, 2), ["b", "t", 2])
    cases.add("ReverseSequence", feed, np.array([1, 3, 2, 1]), batch_axis=0, time_axis=1)
    cases.compare_with_onnxruntime()


def test_trilu_by_a_size():
    """Causal masks start at the diagonal of past tokens: a size, or one less another."""
    nodes = [
        make_node("Shape", ["x"], ["rows"], start=0, end=1),
        make_node("Shape", ["x"], ["columns"], start=1, end=2),
        make_node("Sub", ["columns", "rows"], ["past"]),
        make_node("Sub", ["rows", "columns"], ["negative"]),
        make_node("Trilu", ["x", "rows"], ["a"]),
        make_node("Trilu", ["x", "past"], ["b"], upper=0),
        make_node("Trilu", ["x", "negative"], ["c"]),
        make_node("Trilu", ["x", "negative"], ["d"], upper=0),
    ]
    model = build_model(nodes, {"x": (np.float32, ["t", "s"])}, ["a", "b", "c", "d"])
    compare_with_onnxruntime(model, {"x": _normal(3, 5)}, [{"x": _normal(6, 4)}])


def test_sizes_from_data():
    sparse = np.where(_random.random((4, 5, 3)) < 0.3, _normal(4, 5, 3), 0).astype(np.float32)
    cases = Cases(opset=13)
    cases.add("NonZero", sparse)
    cases.add("NonZero", sparse[0, 0] > 5)
    cases.add("NonZero", Feed(sparse.astype(np.int64), ["a", 5, "c"]))
    cases.add("NonZero", const(sparse))
    cases.add("NonZero", const(np.ones(5, np.int64)))
    cases.add("NonZero", np.zeros((0, 3), np.float32))
    cases.add("Compress", sparse, np.array([True, False, True]), axis=1)
    cases.add("Compress", sparse, Feed(sparse[0, 0] > 0, ["n"]))
    cases.add("Compress", Feed(sparse, ["a", "b", "c"]), np.array([False] * 4), axis=0)
    longer = np.arange(9) % 3 > 0  # ONNX Runtime ignores what lies beyond the axis
    cases.add("Compress", sparse, longer, axis=1)
    cases.add("Compress", Feed(sparse, ["a", "b", "c"]), Feed(longer, ["n"]), axis=2)
    cases.compare_with_onnxruntime()


def test_best_of_those_above_a_threshold():
    """The boxes of a class, as PyTorch exports detectors: the mask is counted once, and how many
    are kept, the less of that and five, is a size."""
    nodes = [
        make_node("Greater", ["scores", "threshold"], ["mask"]),
        make_node("NonZero", ["mask"], ["at"]),
        make_node("Transpose", ["at"], ["rows"], perm=[1, 0]),
        make_node("GatherND", ["scores", "rows"], ["above"]),
        make_node("NonZero", ["mask"], ["at_again"]),
        make_node("Transpose", ["at_again"], ["rows_again"], perm=[1, 0]),
        make_node("GatherND", ["boxes", "rows_again"], ["candidates"]),
        make_node("Shape", ["above"], ["count"]),
        make_node("Concat", ["five", "count"], ["both"], axis=0),
        make_node("ReduceMin", ["both"], ["least"], keepdims=0),
        make_node("Reshape", ["least", "one"], ["k"]),
        make_node("TopK", ["above", "k"], ["best", "best_at"]),
        make_node("Gather", ["candidates", "best_at"], ["kept"], axis=0),
        make_node("Compress", ["boxes", "mask"], ["all"], axis=0),
    ]
    inputs = {"scores": (np.float32, ["n"]), "boxes": (np.float32, ["n", 4])}
    known = {"threshold": np.float32(0.5), "five": [5], "one": [1]}
    model = build_model(nodes, inputs, ["kept", "best", "all"], known, 17)
    assert str(import_onnx(model)).count("graph.bind_sizes") == 1
    for rows in (40, 6, 1):
        feeds = {"scores": _normal(rows), "boxes": _normal(rows, 4)}
        compare_with_onnxruntime(model, feeds)


def test_two_that_count_positions():
    """Positions depend on no input: the backend counts them once, for both."""
    nodes = [
        make_node("NonZero", ["x"], ["y"]),
        make_node("ReverseSequence", ["s", "lengths"], ["r"], batch_axis=0, time_axis=1),
    ]
    inputs = {"x": (np.bool_, [1, 3]), "s": (np.float32, [3, 1, 1])}
    model = build_model(nodes, inputs, ["y", "r"], {"lengths": np.array([1, 1, 1])}, opset=17)
    feeds = {"x": np.array([[False, False, True]]), "s": _normal(3, 1, 1)}
    y, r = run_compiled(model, feeds)
    assert np.array_equal(y, [[0], [2]])
    assert np.array_equal(r, feeds["s"])


@pytest.mark.parametrize("rows", ["n", 100_002])
def test_scatter_to_views(rows):
    """A column, every other element, widened elements: cloned into the dispatch, they would be
    computed on its stack. Whoever else reads them finds them as they were."""
    nodes = [
        make_node("Slice", ["x", "two", "three", "one"], ["column"]),
        make_node("ScatterND", ["column", "targets", "updates"], ["y0"]),
        make_node("Slice", ["x", "one", "six", "one", "two"], ["some"]),
        make_node("ScatterND", ["some", "targets", "triples"], ["y1"], reduction="add"),
        make_node("Cast", ["bytes"], ["wide"], to=1),
        make_node("ScatterElements", ["wide", "targets", "updates"], ["y2"], reduction="max"),
    ]
    known = {"one": [1], "two": [2], "three": [3], "six": [6]}
    inputs = {
        "x": (np.float32, [rows, 6]),
        "bytes": (np.uint8, [rows, 1]),
        "targets": (np.int64, ["k", 1]),
        "updates": (np.float32, ["k", 1]),
        "triples": (np.float32, ["k", 3]),
    }
    n = 50 if rows == "n" else rows
    feeds = {
        "x": _normal(n, 6),
        "bytes": np.asarray(_random.integers(0, 9, (n, 1)), np.uint8),
        "targets": np.array([[7], [1], [3]]),
        "updates": _normal(3, 1),
        "triples": _normal(3, 3),
    }
    outputs = ["y0", "y1", "y2", "column", "some", "wide"]
    compare_with_onnxruntime(build_model(nodes, inputs, outputs, known, 18), feeds)


def test_scatter_of_updates_whose_sizes_are_better_known():
    cases = Cases()
    x, targets = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([[1, 0, 1]])
    updates = np.array([[7, 8, 9]], np.float32)
    cases.add("ScatterElements", Feed(x, ["a", "b"]), Feed(targets, ["m", 3]), updates, axis=0)
    rows = np.array([[1]])
    cases.add("ScatterND", Feed(x, ["a", 3]), Feed(rows, ["m", 1]), updates, reduction="add")
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(("stated", "rows"), [("n", 8), (600, 600)])
def test_scatter_of_rows_that_are_updates(stated, rows):
    """Reads what was there before, in however many rows."""
    nodes = [make_node("ScatterND", ["x", "targets", "x"], ["y"])]
    inputs = {"x": (np.float32, [stated, 256]), "targets": (np.int64, [rows, 1])}
    feeds = {"x": _normal(rows, 256), "targets": np.roll(np.arange(rows), -1)[:, None]}
    compare_with_onnxruntime(build_model(nodes, inputs, ["y"], opset=18), feeds)


@pytest.mark.parametrize("sizes", [[7, 6], ["m", "n"]])
def test_every_other_element_read_at_computed_places(sizes):
    nodes = [
        make_node("Slice", ["x", "begin", "end", "axis", "step"], ["some"]),
        make_node("Gather", ["some", "targets"], ["y"], axis=1),
    ]
    known = {"begin": [0], "end": [100], "axis": [1], "step": [3]}
    inputs = {"x": (np.float32, sizes), "targets": (np.int64, ["k"])}
    model = build_model(nodes, inputs, ["y"], known, opset=18)
    compare_with_onnxruntime(model, {"x": _normal(7, 6), "targets": np.array([1, 0, 1])})


def test_every_other_element_of_what_may_broadcast():
    nodes = [
        make_node("Slice", ["x", "begin", "end", "axis", "step"], ["some"]),
        make_node("Min", ["some", "some"], ["same"]),  # vanishes
        make_node("Sub", ["a", "same"], ["y"]),
    ]
    known = {"begin": [-2], "end": [-1], "axis": [1], "step": [2]}
    inputs = {"x": (np.float32, ["m", "n"]), "a": (np.float32, ["k", "l"])}
    model = build_model(nodes, inputs, ["y"], known, opset=18)
    compare_with_onnxruntime(model, {"x": _normal(3, 6), "a": _normal(1, 5)})
