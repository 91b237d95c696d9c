"""Pools against ONNX Runtime."""

import ml_dtypes
import numpy as np
import pytest
from numerics import (
    Cases,
    Feed,
    build_model,
    compare,
    compare_with_onnxruntime,
    evaluate,
    run_onnxruntime,
)
from onnx import helper

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx
from harness.marks import long

_random = np.random.default_rng(0)


def _floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


X = _floats(2, 5, 9, 10)
NAMED = Feed(X, ["batch", 5, "height", "width"])


def _max_cases() -> tuple[Cases, Cases]:
    cases, more = Cases(opset=12), Cases(opset=12)
    cases.add("MaxPool", X, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    cases.add("MaxPool", X, kernel_shape=[2, 3], dilations=[2, 3], strides=[1, 2])
    cases.add("MaxPool", NAMED, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    cases.add("MaxPool", NAMED, kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_UPPER")
    cases.add("MaxPool", _floats(2, 3, 20), kernel_shape=[3], strides=[2], pads=[1, 0])
    cases.add("MaxPool", _floats(1, 3, 5, 6, 7), kernel_shape=[2, 3, 2], pads=[1, 1, 0, 0, 1, 1])
    cases.add("MaxPool", X[:, :4], kernel_shape=[2, 4], strides=[2, 1], pads=[0, 1, 0, 1])
    for dtype in (np.int8, np.uint8):
        info = np.iinfo(dtype)
        whole = _random.integers(info.min, info.max + 1, (1, 3, 6, 6)).astype(dtype)
        cases.add("MaxPool", whole, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    more.add("MaxPool", X, kernel_shape=[2, 2])
    more.add("MaxPool", X, kernel_shape=[4, 3], strides=[3, 2], auto_pad="SAME_LOWER")
    more.add("MaxPool", X, kernel_shape=[4, 3], strides=[3, 2], auto_pad="VALID")
    more.add("MaxPool", NAMED, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    for kernel, stride, pad in ((3, 2, 0), (3, 2, 1), (2, 3, 0), (2, 3, 1), (1, 4, 0), (5, 3, 2)):
        more.add(
            "MaxPool", X, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4,
            ceil_mode=1,
        )  # fmt: skip
    return cases, more


def _index_cases() -> tuple[Cases, Cases]:
    cases, more = Cases(opset=12), Cases(opset=12)
    ties = np.round(X)
    cases.add("MaxPool", ties, outputs=2, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    cases.add("MaxPool", NAMED, outputs=2, kernel_shape=[2, 3], storage_order=1)
    cases.add(
        "MaxPool", _floats(1, 2, 5, 6, 7), outputs=2, kernel_shape=[2, 3, 2],
        pads=[1, 1, 0, 0, 1, 1], storage_order=1,
    )  # fmt: skip
    more.add("MaxPool", X, outputs=2, kernel_shape=[2, 3], dilations=[2, 3], strides=[1, 2])
    more.add("MaxPool", X, outputs=2, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    more.add("MaxPool", _floats(2, 3, 20), outputs=2, kernel_shape=[3], strides=[2], pads=[1, 0])
    more.add("MaxPool", np.full((1, 1, 4, 4), -np.inf, np.float32), outputs=2, kernel_shape=[2, 2])
    return cases, more


def _average_cases() -> tuple[Cases, Cases]:
    cases, more = Cases(opset=11), Cases(opset=11)
    padded = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    cases.add("AveragePool", X, **padded)
    cases.add("AveragePool", X, count_include_pad=1, **padded)
    cases.add("AveragePool", NAMED, **padded)
    cases.add("AveragePool", NAMED, kernel_shape=[3, 2], count_include_pad=1, pads=[1, 0, 1, 1])
    cases.add("AveragePool", NAMED, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    cases.add("AveragePool", _floats(2, 3, 20), kernel_shape=[3], strides=[2], pads=[1, 0])
    cases.add("AveragePool", _floats(1, 3, 5, 6, 7), kernel_shape=[2, 3, 2], pads=[1] * 6)
    more.add("AveragePool", X, kernel_shape=[2, 3], strides=[1, 2])
    more.add("AveragePool", X, kernel_shape=[4, 3], strides=[3, 2], auto_pad="SAME_LOWER")
    more.add("AveragePool", X, kernel_shape=[4, 3], strides=[3, 2], auto_pad="SAME_UPPER")
    for kernel, stride, pad in ((3, 2, 0), (3, 2, 1), (2, 3, 0), (5, 3, 2)):
        for include in (0, 1):
            more.add(
                "AveragePool", X, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4,
                ceil_mode=1, count_include_pad=include,
            )  # fmt: skip
    return cases, more


def _norm_cases() -> tuple[Cases, Cases]:
    cases, more = Cases(opset=11), Cases(opset=11)
    cases.add("LpPool", X, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    cases.add("LpPool", NAMED, kernel_shape=[3, 2], p=3)
    cases.add("GlobalLpPool", X, p=2)
    cases.add("GlobalLpPool", X, p=3)
    cases.add("GlobalAveragePool", NAMED)
    cases.add("GlobalMaxPool", _floats(2, 3, 20))
    more.add("LpPool", X, kernel_shape=[2, 3], p=1)
    more.add("LpPool", X, kernel_shape=[2, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    more.add("LpPool", _floats(2, 3, 20), kernel_shape=[3], strides=[2], pads=[1, 0])
    more.add("GlobalLpPool", X, p=1)
    return cases, more


SETS = {
    "max": _max_cases,
    "indices": _index_cases,
    "average": _average_cases,
    "norm": _norm_cases,
}


@pytest.mark.parametrize("name", SETS)
def test_compiled(name):
    cases, _ = SETS[name]()
    cases.tolerances |= dict.fromkeys(cases.outputs, 1e-5 if name in ("average", "norm") else 0)
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize("name", SETS)
def test_evaluation(name):
    for cases in SETS[name]():
        model = cases.model()
        tolerances = dict.fromkeys(cases.outputs, 1e-5 if name in ("average", "norm") else 0)
        expected = run_onnxruntime(model, cases.feeds)
        compare(evaluate(model, cases.feeds), expected, cases.outputs, tolerances)


def test_dilated_average_and_lp():
    """Not every version of ONNX Runtime has kernels for these."""
    cases = Cases(opset=19)
    cases.add("AveragePool", X, kernel_shape=[3, 2], dilations=[2, 3], pads=[1, 2, 1, 2])
    cases.add("AveragePool", NAMED, kernel_shape=[3, 2], dilations=[2, 1], pads=[1, 1, 1, 1])
    cases.add("LpPool", X, kernel_shape=[3, 2], dilations=[2, 3], ceil_mode=1, strides=[2, 2])
    cases.compare_compiled_with_evaluation()


def test_average_of_border_alone():
    """A dilated window skips the one row of the image: 0, with known and unknown sizes."""
    image = _floats(1, 2, 1, 4)
    window = {"kernel_shape": [2, 2], "dilations": [2, 1], "pads": [1, 0, 1, 1], "strides": [2, 2]}
    cases = Cases(opset=19)
    cases.add("AveragePool", image, **window)
    cases.add("AveragePool", Feed(image, ["batch", 2, "height", "width"]), **window)
    cases.compare_with_onnxruntime()


def test_one_result_spread_over_unknown_sizes_and_another_not():
    """The largest elements are broadcast, and their positions are a result."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["largest", "at"], kernel_shape=[3, 2]),
        helper.make_node("Mul", ["largest", "y"], ["scaled"]),
    ]
    inputs = {"x": (np.float32, [1, "channels", 3, 2]), "y": (np.float32, [7, "columns"])}
    model = build_model(nodes, inputs, ["scaled", "at"])
    calls = [{"x": _floats(1, n, 3, 2), "y": _floats(7, 10 + n)} for n in (1, 3)]
    compare_with_onnxruntime(model, calls[0], calls[1:])


def test_element_types():
    cases = Cases(opset=22)
    for dtype, tolerance in ((np.float64, 1e-11), (np.float16, 1e-3), (ml_dtypes.bfloat16, 1e-2)):
        x = _floats(1, 5, 6, 7, dtype=dtype)
        options = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "tolerance": tolerance}
        for op_type in ("MaxPool", "AveragePool", "LpPool"):
            cases.add(op_type, x, **options)
    cases.compare_compiled_with_evaluation()


def test_nan_wins():
    cases = Cases(opset=12)
    x = _floats(1, 2, 6, 6)
    x[0, 0, 2, 3] = x[0, 1, 0, 0] = np.nan
    cases.add("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    cases.add("MaxPool", x, outputs=2, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    values, _, maxima = evaluate(cases.model(), cases.feeds)
    assert np.isnan(values[0, 0, 1:4, 2:5]).all()
    assert np.isnan(values).sum() == 9 + 4
    assert (maxima[0, 0, 1:4, 2:5] == 2 * 6 + 3).all()
    cases.compare_compiled_with_evaluation()


def test_empty():
    cases = Cases(opset=12)
    empty = Feed(_floats(0, 3, 6, 6), ["batch", 3, 6, 6])
    cases.add("MaxPool", empty, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    cases.add("AveragePool", empty, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    cases.compare_compiled_with_evaluation()


@pytest.mark.parametrize(
    ("shape", "attributes", "message"),
    [
        ((1, 6, 5, 7), {"kernel_shape": [3]}, r"kernel_shape \[3\] does not fit 2"),
        ((1, 6, 5, 7), {"kernel_shape": [7, 3]}, "a window of 7 does not fit an axis of 5"),
        ((1, 6, 5, 7), {"kernel_shape": [3, 3], "pads": [-1, 0, 0, 0]}, r"pads \[-1"),
        ((6, 5), {"kernel_shape": [3]}, "needs an image"),
    ],
)
def test_refused(shape, attributes, message):
    cases = Cases(opset=11)
    cases.add("MaxPool", _floats(*shape), **attributes)
    with pytest.raises(InvalidModelError, match=f"MaxPool_0.*{message}"):
        import_onnx(cases.model())


@pytest.mark.parametrize("op_type", ["AveragePool", "LpPool", "GlobalLpPool"])
def test_means_and_norms_of_integers(op_type):
    """Refused, as by ONNX Runtime: the schema has floats alone, as the results are none."""
    cases = Cases(opset=19)
    window = {} if op_type.startswith("Global") else {"kernel_shape": [2, 2]}
    cases.add(op_type, np.ones((1, 1, 3, 3), np.int32), **window)
    with pytest.raises(InvalidModelError, match=f"{op_type}_0.*floating-point.*int32"):
        import_onnx(cases.model())


def test_padding_that_depends_on_unknown_sizes():
    """SAME with strides, and windows of which the last may begin in the padding."""
    cases = Cases(opset=22)
    rounded_up = {
        "kernel_shape": [2, 3], "strides": [2, 4], "pads": [1, 1, 1, 1], "ceil_mode": 1,
    }  # fmt: skip
    cases.add("MaxPool", NAMED, **rounded_up)
    cases.add("MaxPool", NAMED, outputs=2, **rounded_up)
    cases.add("MaxPool", NAMED, outputs=2, storage_order=1, **rounded_up)
    cases.add("LpPool", NAMED, **rounded_up)
    cases.add("AveragePool", NAMED, **rounded_up)
    cases.add("AveragePool", NAMED, count_include_pad=1, **rounded_up)
    same = {"kernel_shape": [3, 2], "strides": [2, 3], "auto_pad": "SAME_UPPER"}
    cases.add("AveragePool", NAMED, **same)
    cases.add("AveragePool", NAMED, count_include_pad=1, **same)
    cases.add("MaxPool", NAMED, outputs=2, **same)
    others = [_floats(1, 5, height, width) for height, width in ((8, 7), (5, 5), (16, 13))]
    cases.compare_calls_with_onnxruntime([dict.fromkeys(cases.feeds, each) for each in others])


def _small_cases(opset: int, image: np.ndarray, dims: list) -> Cases:
    cases, x = Cases(opset=opset), Feed(image, dims)
    windows = [
        {"kernel_shape": [3, 2], "strides": [2, 1]},
        {"kernel_shape": [5, 1], "strides": [4, 2], "pads": [1, 0, 0, 0]},
        {"kernel_shape": [3, 3], "strides": [3, 3], "auto_pad": "VALID"},
        {"kernel_shape": [5, 2], "strides": [3, 2], "pads": [1, 0, 0, 1]},
    ]
    for window in windows:
        cases.add("MaxPool", x, outputs=2, **window)
        cases.add("MaxPool", x, outputs=2, storage_order=1, **window)
        cases.add("LpPool", x, **window)
        cases.add("AveragePool", x, **window)
        cases.add("AveragePool", x, count_include_pad=1, **window)
        cases.add("MaxPool", x, ceil_mode=1, **window)
    return cases


@pytest.mark.parametrize("opset", [long(12), 22])
def test_windows_that_do_not_fit(opset):
    """ONNX Runtime has one where the stride reaches over the end, or else none."""
    image = _floats(1, 2, 2, 3)
    fixed = _small_cases(opset, image, [1, 2, 2, 3])
    fixed.compare_with_onnxruntime()
    named = _small_cases(opset, _floats(1, 2, 7, 8), [1, 2, "height", "width"])
    calls = [image, _floats(1, 2, 3, 2), _floats(1, 2, 5, 6)]
    named.compare_calls_with_onnxruntime([dict.fromkeys(named.feeds, each) for each in calls])
    for cases in (fixed, named):
        feeds = dict.fromkeys(cases.feeds, image)
        expected = run_onnxruntime(cases.model(), feeds)
        tolerances = dict.fromkeys(cases.outputs, 1e-5)
        compare(evaluate(cases.model(), feeds), expected, cases.outputs, tolerances)


def test_one_window_and_elements_behind_it():
    cases = Cases(opset=21)
    x = np.random.default_rng(0).standard_normal((1, 8, 4, 6)).astype(np.float32)
    window = {"kernel_shape": [3, 3], "strides": [2, 2]}
    cases.add("AveragePool", x, **window)
    cases.add("AveragePool", Feed(x, ["n", 8, 4, 6]), **window)
    cases.add("MaxPool", x, **window)
    cases.compare_with_onnxruntime()


def test_places_in_one_window_and_elements_behind_it():
    cases = Cases(opset=21)
    line = np.array([[[1, 2, 3, 0, 9]]], np.float32)
    cases.add("MaxPool", line, outputs=2, kernel_shape=[3], strides=[3])
    cases.add("MaxPool", line.astype(np.uint8), outputs=2, kernel_shape=[3], strides=[3])
    cases.add("MaxPool", line, outputs=2, kernel_shape=[2], strides=[5], dilations=[2])
    cases.add("MaxPool", line, outputs=2, kernel_shape=[3], strides=[4], pads=[1, 0])
    named = Feed(line, [1, 1, "length"])
    cases.add("MaxPool", named, outputs=2, kernel_shape=[3], strides=[3])
    plane = np.arange(50, dtype=np.float32).reshape(1, 1, 10, 5)
    cases.add("MaxPool", plane, outputs=2, kernel_shape=[2, 3], strides=[2, 3])
    solid = _floats(1, 2, 4, 3, 4)
    cases.add("MaxPool", solid, outputs=2, kernel_shape=[2, 2, 3], strides=[3, 2, 2])
    cases.compare_with_onnxruntime()
    values, maxima = run_onnxruntime(cases.model(), cases.feeds)[:2]
    assert (values.item(), maxima.item()) == (3, 2)


def test_sums_over_one_number():
    """An image that one fills, as that which counts what the windows of another hold."""
    cases = Cases(opset=13)
    x = Feed(_floats(1, 2, 5, 5, 5), [1, 2, "d", "h", "w"])
    cases.add("AveragePool", x, kernel_shape=[3, 3, 2], pads=[2, 0, 0, 0, 0, 0])
    cases.compare_with_onnxruntime()
    one = helper.make_tensor("one", 1, [1], [1.0])
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["image"], value=one),
        helper.make_node("AveragePool", ["image"], ["y"], kernel_shape=[3, 2]),
    ]
    model = build_model(nodes, {"shape": (np.int64, [4])}, ["y"])
    compare_with_onnxruntime(model, {"shape": np.array([2, 1, 5, 4])})


def test_three_axes_of_which_two_have_names():
    cases = Cases(opset=19)
    x = Feed(_floats(2, 3, 1, 3, 5), ["m", "n", 1, "h", "w"])
    cases.add("AveragePool", x, kernel_shape=[2, 2, 2], pads=[1, 1, 1, 1, 0, 1])
    cases.compare_with_onnxruntime()
