"""Normalisations against ONNX Runtime, and where it lacks them the reference evaluator."""

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from numerics import (
    Cases,
    Feed,
    build_model,
    compare,
    compare_with_onnxruntime,
    const,
    evaluate,
    run_compiled,
    run_onnxruntime,
)
from onnx import helper

import graphc
from graphc.errors import UnsupportedModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)


def _floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


def test_softmax():
    cases = Cases(opset=13)
    for op_type in ("Softmax", "LogSoftmax", "Hardmax"):
        for axis in (0, 1, -1) if op_type == "Softmax" else (1, -1):
            cases.add(op_type, _floats(2, 3, 5), axis=axis)
        cases.add(op_type, Feed(_floats(3, 4, 2), ["n", "m", 2]), axis=1)
        cases.add(op_type, 100 * _floats(2, 37))
    cases.add("Softmax", Feed(_floats(3, 40), ["n", "m"]))
    cases.add("Softmax", _floats(2, 5000))
    cases.add("Hardmax", np.ones((2, 3), np.float32))
    x = _floats(4, 6)
    x[0] = -np.inf
    x[1, 2:] = -np.inf
    x[2, 3] = np.nan
    cases.add("Softmax", x)
    cases.add("Softmax", _floats(2, 3).astype(np.float64))
    cases.add("Softmax", _floats(2, 130, dtype=np.float16))
    cases.add("LogSoftmax", _floats(2, 13, dtype=np.float64))
    cases.compare_with_onnxruntime()


def test_brain_floats():
    """bfloat16 is supported by neither ONNX Runtime nor the reference evaluator."""
    cases = Cases(opset=17)
    x, scale = (_floats(*s).astype(ml_dtypes.bfloat16) for s in ((3, 20), (20,)))
    cases.add("Softmax", x)
    cases.add("LayerNormalization", x, scale, scale)
    cases.add("BatchNormalization", x, *_statistics(20))
    cases.add("LRN", x.reshape(1, 3, 20), size=3)
    cases.compare_compiled_with_evaluation()


def test_softmax_of_nothing():
    cases = Cases(opset=13)
    cases.add("Softmax", _floats(0, 3))
    cases.add("Softmax", _floats(3, 0))
    cases.add("LogSoftmax", Feed(_floats(0, 3), ["n", 3]))
    cases.compare_compiled_with_evaluation()


def test_softmax_before_opset_13_flattens():
    cases = Cases(opset=11)
    for op_type in ("Softmax", "LogSoftmax", "Hardmax"):
        cases.add(op_type, _floats(2, 3, 5))
        cases.add(op_type, _floats(2, 3, 5), axis=-1)
    cases.add("Softmax", _floats(2, 3, 5), axis=0)
    cases.add("Softmax", Feed(_floats(3, 4, 2), ["n", "m", 2]), axis=1)
    cases.compare_with_onnxruntime()


def test_layer_normalization():
    cases = Cases(opset=17)
    x = 3 * _floats(2, 3, 20) + 5
    cases.add("LayerNormalization", x, _floats(20), _floats(20))
    cases.add("LayerNormalization", x, _floats(20), tolerance=5e-6)
    cases.add("LayerNormalization", x, _floats(3, 20), _floats(3, 20), axis=1, epsilon=0.1)
    cases.add("LayerNormalization", x, _floats(2, 3, 20), const(_floats(2, 3, 20)), axis=-3)
    cases.add("LayerNormalization", x, _floats(20), _floats(20), outputs=3)
    cases.add("LayerNormalization", x, _floats(3, 20), _floats(3, 20), outputs=3, axis=1)
    cases.add("LayerNormalization", Feed(x, ["n", "m", 20]), _floats(20), _floats(20))
    cases.add(
        "LayerNormalization", Feed(x, ["n", "m", "d"]), Feed(_floats(20), ["d"]), tolerance=5e-6
    )
    cases.add("LayerNormalization", 1000 + _floats(2, 48), _floats(48), tolerance=1e-3)
    cases.add("LayerNormalization", x.astype(np.float64), *(_floats(20).astype(np.float64),) * 2,
              tolerance=1e-6)  # fmt: skip
    cases.add("LayerNormalization", x.astype(np.float16), *(_floats(20, dtype=np.float16),) * 2,
              tolerance=4e-3)  # fmt: skip
    cases.compare_with_onnxruntime()


def test_moments_that_are_used_apart():
    """Two sums, the second of which needs the first, and both are needed elsewhere."""
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        moments (float[b, 24, 4, 4] x) => (float[c, 4, 24] y, float[b, 24] s, float[b, 24] v)
        <int64[4] windows = {-1, 2, 2, 2}, int64[4] image = {-1, 24, 4, 4},
         int64[3] rows = {-1, 4, 24}, int64[2] places = {2, 3}> {
            split = Reshape (x, windows)
            turned = Transpose <perm = [0, 2, 1, 3]> (split)
            again = Reshape (turned, image)
            last = Transpose <perm = [0, 3, 2, 1]> (again)
            tokens = Reshape (last, rows)
            width = Constant <value_ints = [24]> ()
            one = ConstantOfShape <value: tensor = float[1] {1}> (width)
            y = LayerNormalization <axis = -1> (tokens, one)
            sum = ReduceSum <keepdims = 1> (again, places)
            s = Squeeze (sum, places)
            away = Sub (again, sum)
            v = ReduceSumSquare <keepdims = 0> (away, places)
        }
    """)
    feeds = {"x": _floats(2, 24, 4, 4)}
    expected = run_onnxruntime(model, feeds)
    compare(run_compiled(model, feeds), expected, ["y", "s", "v"])


def test_sizes_that_only_the_scale_knows():
    cases = Cases(opset=23)
    scale, bias = const(_floats(6)), const(_floats(6))
    cases.add("LayerNormalization", Feed(_floats(3, 4, 6), ["n", "m", "k"]), scale, bias)
    cases.add("RMSNormalization", Feed(_floats(3, 6), ["n", "k"]), scale)
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_parameters_whose_sizes_have_names_of_their_own():
    """Exporters write parameters like this if all sizes are dynamic."""
    x, scale, bias = _floats(3, 4, 5), _floats(5), _floats(4, 5)
    image = Feed(x, ["a", "b", "c"])
    cases = Cases(opset=17)
    for narrow in (np.float32, np.float16):
        one = Feed(_floats(1, dtype=narrow), ["one"])
        given = Feed(scale.astype(narrow), ["d"])
        other = Feed(x.astype(narrow), ["a", "b", "c"])
        tolerance = 1e-5 if narrow is np.float32 else 2e-3
        cases.add("LayerNormalization", other, given, tolerance=tolerance)
        cases.add("LayerNormalization", other, given, one, tolerance=tolerance)
    cases.add("LayerNormalization", image, Feed(bias, ["d", "e"]), Feed(bias, ["f", "g"]), axis=1)
    channels = Feed(scale[:4], ["d"])
    cases.add("InstanceNormalization", image, channels, Feed(bias[:, 0], ["e"]))
    cases.compare_with_onnxruntime()


def test_rms_normalization():
    cases = Cases(opset=23)
    x = 3 * _floats(2, 3, 20) + 5
    cases.add("RMSNormalization", x, _floats(20))
    cases.add("RMSNormalization", x, _floats(3, 20), axis=1, epsilon=0.1)
    cases.add("RMSNormalization", Feed(x, ["n", "m", 20]), _floats(20))
    cases.add("RMSNormalization", x.astype(np.float16), _floats(20, dtype=np.float16))
    cases.compare_with_onnxruntime()


def test_rms_normalization_takes_the_type_of_the_scale():
    cases = Cases(opset=23)
    x = 3 * _floats(2, 3, 20) + 5
    cases.add("RMSNormalization", x.astype(np.float16), _floats(20))
    cases.add("RMSNormalization", x, _floats(20, dtype=np.float16))
    cases.compare_compiled_with_evaluation()


def _statistics(channels: int) -> list[np.ndarray]:
    return [*(_floats(channels) for _ in range(3)), np.abs(_floats(channels)) + 0.1]


@pytest.mark.parametrize("opset", [7, 9, 15])
def test_batch_normalization(opset: int):
    cases = Cases(opset=opset)
    for shape in [(2, 3, 4, 5), (2, 3), (2, 3, 7)]:
        cases.add("BatchNormalization", _floats(*shape), *map(const, _statistics(3)))
    x = _floats(2, 3, 4, 5)
    cases.add("BatchNormalization", Feed(x, ["n", "c", "h", "w"]), *_statistics(3), epsilon=0.1)
    if opset == 15:
        cases.add("BatchNormalization", x.astype(np.float16), *_statistics(3))
    cases.compare_with_onnxruntime()


def test_batch_normalization_by_position():
    cases = Cases(opset=7)
    x = _random.standard_normal((2, 3, 4, 2)).astype(np.float32)
    scale, bias, mean = (_random.standard_normal((3, 4, 2)).astype(np.float32) for _ in range(3))
    variance = _random.uniform(0.5, 2, (3, 4, 2)).astype(np.float32)
    named = [Feed(x, ["n", 3, 4, 2]), const(scale), const(bias), const(mean), const(variance)]
    cases.add("BatchNormalization", x, scale, bias, mean, variance, spatial=0)
    cases.add("BatchNormalization", *named, spatial=0)
    cases.compare_with_onnxruntime()


def test_batch_normalization_that_trains():
    cases = Cases(opset=15)
    for shape in [(2, 3, 4, 5), (4, 3)]:
        cases.add(
            "BatchNormalization", _floats(*shape), *_statistics(3),
            outputs=3, training_mode=1, momentum=0.7, tolerance=1e-5,
        )  # fmt: skip
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_batch_normalization_does_not_train_before_opset_14():
    cases = Cases(opset=9)
    cases.add("BatchNormalization", _floats(2, 3, 4), *_statistics(3), outputs=5)
    with pytest.raises(UnsupportedModelError, match="training mode"):
        import_onnx(cases.model())


def test_instance_normalization():
    cases = Cases(opset=6)
    for shape in [(2, 3, 4, 5), (2, 3, 7), (1, 3, 2, 3, 4)]:
        cases.add("InstanceNormalization", _floats(*shape), _floats(3), _floats(3))
    x = _floats(2, 3, 4, 5)
    cases.add("InstanceNormalization", Feed(x, ["n", 3, "h", "w"]), _floats(3), _floats(3))
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize("opset", [18, 21])
def test_group_normalization(opset: int):
    cases = Cases(opset=opset)
    x = _floats(2, 6, 4, 5)
    for groups in (1, 2, 6):
        scales = [_floats(6 if opset == 21 else groups) for _ in range(2)]
        cases.add("GroupNormalization", x, *scales, num_groups=groups, epsilon=0.01)
        feed = Feed(x, ["n", 6, "h", "w"])
        cases.add("GroupNormalization", feed, *scales, num_groups=groups)
    cases.compare_with_onnxruntime()


def test_lrn():
    cases = Cases(opset=13)
    x = 3 * _floats(2, 7, 3, 4)
    for size in (1, 3, 5):
        cases.add("LRN", x, size=size)
        cases.add("LRN", x, size=size, alpha=0.5, beta=0.6, bias=2.0)
    cases.add("LRN", Feed(x, ["n", "c", "h", "w"]), size=3, alpha=1.0)
    cases.compare_with_onnxruntime()


def test_lp_normalization():
    cases = Cases(opset=22)
    x = _floats(2, 3, 4)
    x[0, :, 1] = 0
    for axis in (-1, 1):
        cases.add("LpNormalization", x, axis=axis)
        cases.add("LpNormalization", np.abs(x), axis=axis, p=1)
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_mean_variance_normalization():
    cases = Cases(opset=13)
    x = _floats(2, 3, 4, 5)
    cases.add("MeanVarianceNormalization", x, tolerance=1e-5)
    cases.add("MeanVarianceNormalization", Feed(x, ["n", 3, "h", 5]), tolerance=1e-5)
    cases.add("MeanVarianceNormalization", x, axes=[0, 1, 2, 3], tolerance=1e-5)
    cases.compare_with_onnxruntime()


def test_mean_variance_normalization_in_other_types():
    cases, x = Cases(opset=13), _floats(2, 3, 4, 5) + np.float32(5)
    y = (x - x.mean((0, 2, 3), keepdims=True)) / x.std((0, 2, 3), keepdims=True)
    dtypes = (np.float64, np.float16, ml_dtypes.bfloat16)
    for dtype in dtypes:
        cases.add("MeanVarianceNormalization", x.astype(dtype))
    cases.add("MeanVarianceNormalization", x.astype(np.float64), axes=[-2])
    cases.compare_compiled_with_evaluation()
    evaluated = [each.astype(np.float32) for each in evaluate(cases.model(), cases.feeds)]
    for have, tolerance in zip(evaluated, (1e-4, 5e-3, 5e-2), strict=False):
        np.testing.assert_allclose(have, y, atol=tolerance)


def test_what_is_transposed_after_a_softmax():
    """The backend would transpose one result of the loop that gives exponentials and their sum."""
    x = np.random.default_rng(0).standard_normal((2, 6, 17)).astype(np.float32)
    node = helper.make_node
    nodes = [
        node("Softmax", ["x"], ["weights"], axis=-1),
        node("Transpose", ["weights"], ["y"], perm=[0, 2, 1]),
        node("Sigmoid", ["weights"], ["gate"]),
        node("Add", ["gate", "x"], ["sum"]),
        node("Transpose", ["sum"], ["z"], perm=[2, 0, 1]),
    ]
    for rows in (6, "rows"):
        model = build_model(nodes, {"x": (np.float32, [2, rows, 17])}, ["y", "z"])
        compare_with_onnxruntime(model, {"x": x})


def test_normalized_rows_multiplied_in_both_orders():
    """The backend would find the second product in the kernel, and fail to store one twice."""
    node = helper.make_node
    nodes = [
        node("MeanVarianceNormalization", ["x"], ["rows"], axes=[2]),
        node("Mul", ["rows", "gain"], ["y"]),
        node("Mul", ["gain", "rows"], ["z"]),
    ]
    x, gain = _floats(1, 2, 2), _floats(1, 2, 2)
    shapes = dict.fromkeys(("x", "gain"), (np.float32, [1, 2, 2]))
    model = build_model(nodes, shapes, ["y", "z"])
    feeds = {"x": x, "gain": gain}
    with graphc.compile(model, threads=1, host=False) as compiled:
        compare(compiled.run(None, feeds), run_onnxruntime(model, feeds), ["y", "z"])
