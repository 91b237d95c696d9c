"""Quantization operators against ONNX Runtime, or the reference where it lacks a form."""

import ml_dtypes
import numpy as np
import pytest
from numerics import Cases, Feed, build_model, compare, const, evaluate, run_compiled, summable
from onnx import TensorProto, helper

import graphc
from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx
from harness.marks import long

_random = np.random.default_rng(0)


def _normal(*shape: int, scale: float = 1) -> np.ndarray:
    return np.asarray(_random.standard_normal(shape) * scale, np.float32)


def _bytes(dtype: type, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return summable(_random.integers(info.min, info.max, shape, dtype, endpoint=True))


def _scale(*shape: int) -> np.ndarray:
    return np.asarray(_random.uniform(0.02, 0.08, shape), np.float32)


def _scalar(value: float, dtype: type = np.float32) -> np.ndarray:
    return np.array(value, dtype)


def test_quantize_and_dequantize():
    cases = Cases(opset=21)
    x = _normal(3, 4, 6, scale=4)
    halves = np.array([0.5, 1.5, -0.5, -2.5, 2.5, np.inf, -np.inf, np.nan, 1e9, -1e9], np.float32)
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        cases.add("QuantizeLinear", x, _scalar(0.05), _scalar(3, dtype))
        cases.add("QuantizeLinear", halves[:5], const(1.0), const(0, dtype))
        cases.add("QuantizeLinear", x, _scale(4), _bytes(dtype, 4), axis=1)
        cases.add("DequantizeLinear", _bytes(dtype, 3, 4, 6), _scale(6), _bytes(dtype, 6), axis=-1)
        cases.add(
            "QuantizeLinear", x, _scale(3, 4, 3), _bytes(dtype, 3, 4, 3), axis=2, block_size=2
        )
    cases.add("QuantizeLinear", x, _scalar(0.05))
    cases.add("QuantizeLinear", x, _scalar(0.05), output_dtype=TensorProto.INT16)
    cases.add("DequantizeLinear", _bytes(np.int32, 5), _scalar(0.5))
    cases.add("QuantizeLinear", Feed(x, ["n", 4, "m"]), const(_scale(4)), axis=1)
    blocks = Feed(_bytes(np.int8, 4, 7), ["n", "m"])
    cases.add("DequantizeLinear", blocks, _scale(4, 3), axis=1, block_size=3)
    cases.add("DequantizeLinear", _bytes(np.int8, 0, 7), _scale(7), axis=1)
    cases.add("QuantizeLinear", _scalar(2.3), const(0.1))
    cases.add("DynamicQuantizeLinear", x, outputs=3)
    cases.add("DynamicQuantizeLinear", np.abs(x) + 1, outputs=3)
    cases.add("DynamicQuantizeLinear", np.zeros((2, 3), np.float32), outputs=3)
    cases.add("DynamicQuantizeLinear", Feed(-np.abs(x), ["a", "b", "c"]), outputs=3)
    cases.compare_with_onnxruntime()


def test_out_of_range_saturates():
    """Also infinities; NaN gives the smallest value."""
    cases = Cases(opset=21)
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, 3e9], np.float32)
    cases.add("QuantizeLinear", x, const(1.0), const(7, np.uint8))
    cases.add("QuantizeLinear", x, const(1.0), const(-7, np.int8))
    cases.add("QuantizeLinear", x, _scalar(0), const(0, np.int16))  # known at run time alone
    model, names = cases.model(), cases.outputs
    expected = [
        np.array([255, 0, 0, 255, 0, 255], np.uint8),
        np.array([127, -128, -128, 127, -128, 127], np.int8),
        np.array([32767, -32768, -32768, 32767, -32768, 32767], np.int16),
    ]
    compare(evaluate(model, cases.feeds), expected, names)
    compare(run_compiled(model, cases.feeds), expected, names)


def _kind(dtype: type) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def test_small_types_and_precisions():
    """Features that ONNX Runtime lacks: 2-bit types, narrow floats and their precision,
    power-of-two scales."""
    cases = Cases(opset=25)
    x = _normal(4, 6, scale=3)
    for dtype in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2):
        zero = np.array([1, 0, 1, 1]).astype(dtype)
        cases.add("QuantizeLinear", x, _scale(4) * 20, zero, axis=0)
        cases.add(
            "DequantizeLinear", np.arange(24).reshape(4, 6).astype(dtype), _scale(4), zero, axis=0
        )
    for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn):
        cases.add("QuantizeLinear", x, _scalar(0.02), output_dtype=_kind(dtype))
        cases.add("DequantizeLinear", x.astype(dtype), _scale(2, 6), axis=0, block_size=2)
    cases.add("QuantizeLinear", x * 1e6, _scalar(1), output_dtype=_kind(ml_dtypes.float8_e5m2))
    half = x.astype(np.float16)
    for scale in (_scalar(0.0312, np.float16), _scalar(0.0312, ml_dtypes.bfloat16)):
        cases.add("QuantizeLinear", x.astype(scale.dtype), scale, _scalar(9, np.uint8))
        cases.add("DequantizeLinear", _bytes(np.uint8, 4, 6), scale, _scalar(9, np.uint8))
    cases.add("QuantizeLinear", half, _scalar(0.0312, np.float16), precision=TensorProto.FLOAT)
    cases.add(
        "QuantizeLinear", np.arange(-9, 9, dtype=np.int32), _scalar(0.25), _scalar(4, np.int8)
    )
    cases.add(
        "DequantizeLinear", _bytes(np.int8, 4, 6), _scalar(0.5), output_dtype=TensorProto.FLOAT16
    )
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def _quantized(y: np.ndarray, scale: np.float32, dtype: type) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.clip(np.rint(y / scale), info.min, info.max).astype(dtype)


@pytest.mark.parametrize("precision", ["f32", "strict"])
def test_arithmetic_between_quantized_values_is_rounded_op_by_op(precision):
    """Sums of every pair of bytes lie on ties of the result's steps, which one rounding less of a
    scaled number would move."""
    grid = np.meshgrid(np.arange(-128, 128, dtype=np.int8), np.arange(-128, 128, dtype=np.int8))
    a, b = (each.ravel() for each in grid)
    nodes, initializers, expected = [], {"z": const(np.int8(0))}, []

    def add(op_type: str, inputs: str, output: str) -> None:
        nodes.append(helper.make_node(op_type, inputs.split(), [output]))

    for case, scales in enumerate([(0.02, 0.03, 0.04), (0.1, 0.1, 0.2), (0.16, 0.16, 0.16)]):
        first, second, last = (np.float32(scale) for scale in scales)
        initializers |= {f"a{case}": first, f"b{case}": second, f"y{case}": last}
        x, y = a.astype(np.float32) * first, b.astype(np.float32) * second
        add("DequantizeLinear", f"a a{case} z", f"x{case}")
        add("DequantizeLinear", f"b b{case} z", f"w{case}")
        for op_type, result in (("Add", x + y), ("Sub", x - y), ("Mul", x * y)):
            add(op_type, f"x{case} w{case}", f"{op_type}{case}")
            add("QuantizeLinear", f"{op_type}{case} y{case} z", f"{op_type}_{case}")
            expected.append((f"{op_type}_{case}", _quantized(result, last, np.int8)))
        add("Add", f"Mul{case} w{case}", f"more{case}")
        add("QuantizeLinear", f"more{case} y{case} z", f"MulAdd_{case}")
        expected.append((f"MulAdd_{case}", _quantized(x * y + y, last, np.int8)))
    names = [name for name, _ in expected]
    inputs = {"a": (np.int8, ["n"]), "b": (np.int8, ["n"])}
    model = build_model(nodes, inputs, names, initializers)
    found = graphc.compile(model, precision=precision).run(None, {"a": a, "b": b})
    compare(found, [array for _, array in expected], names)


def test_products_that_cancel_leave_nothing():
    """``a * b - c * d`` with equal products, in a kernel of elements and behind a matrix product,
    whose sums here are exact."""
    a, b = _normal(64, 32), _normal(32)
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["ab"]),
        helper.make_node("Mul", ["c", "d"], ["cd"]),
        helper.make_node("Sub", ["ab", "cd"], ["nothing"]),
        helper.make_node("MatMul", ["i", "w"], ["iw"]),
        helper.make_node("Mul", ["iw", "s"], ["scaled"]),
        helper.make_node("Add", ["scaled", "t"], ["y"]),
    ]
    inputs = {
        "a": (np.float32, ["n", 32]), "b": (np.float32, [32]),
        "c": (np.float32, [32]), "d": (np.float32, ["n", 32]), "i": (np.float32, ["n", 32]),
        "s": (np.float32, [48]), "t": (np.float32, [48]),
    }  # fmt: skip
    i, w = (_random.integers(-9, 9, shape).astype(np.float32) for shape in ((64, 32), (32, 48)))
    s, t = _normal(48), _normal(48)
    model = build_model(nodes, inputs, ["nothing", "y"], {"w": w})
    feeds = {"a": a, "b": b, "c": b, "d": a, "i": i, "s": s, "t": t}
    found = graphc.compile(model).run(None, feeds)
    assert not found[0].any()
    np.testing.assert_array_equal(found[1], (i @ w) * s + t)


def test_scales_that_are_powers_of_two():
    cases = Cases(opset=25)
    powers = np.array([[126, 128, 127], [125, 127, 129]], np.uint8).view(ml_dtypes.float8_e8m0fnu)
    x = _normal(2, 6, scale=3)
    numbers = x.astype(ml_dtypes.float4_e2m1fn)
    cases.add(
        "DequantizeLinear", numbers, powers, axis=1, block_size=2, output_dtype=TensorProto.FLOAT
    )
    wide = np.repeat(powers.astype(np.float32), 2, axis=1)
    compare(
        run_compiled(cases.model(), cases.feeds),
        [numbers.astype(np.float32) * wide],
        cases.outputs,
    )


def test_matrix_products():
    cases = Cases(opset=21)
    for a, b in ((np.uint8, np.uint8), (np.int8, np.int8)):
        left, right = _bytes(a, 5, 16), _bytes(b, 16, 7)
        zeros = _scalar(3, a), _scalar(5, b), _scalar(11, a)
        cases.add(
            "QLinearMatMul", left, _scalar(0.02), zeros[0], const(right), const(_scale(7)),
            const(_bytes(b, 7)), _scalar(0.9), zeros[2],
        )  # fmt: skip
        cases.add(
            "QLinearMatMul", Feed(_bytes(a, 2, 5, 16), [2, "m", 16]), const(0.02), const(zeros[0]),
            _bytes(b, 2, 16, 7), const(0.03), const(zeros[1]), const(0.9), const(zeros[2]),
        )  # fmt: skip
    cases.add("MatMulInteger", left, const(right), zeros[0], const(_bytes(b, 7)))
    cases.add("MatMulInteger", left.view(np.uint8), right)
    cases.compare_with_onnxruntime()


CONVOLUTIONS = (
    {"pads": [1, 1, 1, 1]},
    {"pads": [0, 2, 1, 0], "strides": [2, 1], "dilations": [1, 2]},
    {"group": 2, "auto_pad": "SAME_UPPER", "strides": [2, 2]},
    {"group": 4, "pads": [1, 1, 1, 1]},
)


@pytest.mark.parametrize("weights", [np.int8, long(np.uint8)])
def test_convolutions(weights):
    cases = Cases(opset=21)
    for attributes in CONVOLUTIONS:
        dims = ["n", 4, "h", 8] if "auto_pad" in attributes else [2, 4, 7, 8]
        x = Feed(_bytes(np.uint8, 2, 4, 7, 8), dims)
        w = _bytes(weights, 8, 4 // attributes.get("group", 1), 3, 3)
        middle = 0 if weights is np.int8 else 128
        zero = _scalar(middle, weights)
        per_filter = np.full(8, middle, weights)
        bias = _random.integers(-999, 999, 8, np.int32)
        cases.add(
            "QLinearConv", x, const(0.02), const(7, np.uint8), const(w), const(_scale(8)),
            const(per_filter), const(0.7), const(99, np.uint8), const(bias), **attributes,
        )  # fmt: skip
        cases.add(
            "QLinearConv", x, const(0.02), _scalar(128, np.uint8), w, const(0.03),
            _scalar(middle + 1, weights), const(0.7), const(99, np.uint8), **attributes,
        )  # fmt: skip
    if weights is np.uint8:  # ONNX Runtime's ConvInteger takes no others
        cases.add("ConvInteger", x, w, _scalar(9, np.uint8), zero, **attributes)
        cases.add("ConvInteger", x, w, **attributes)
    line, volume = _bytes(np.uint8, 1, 3, 9), _bytes(np.uint8, 1, 3, 4, 5, 4)
    for x, shape in ((line, (5, 3, 3)), (volume, (5, 3, 2, 3, 1))):
        cases.add(
            "QLinearConv", x, const(0.02), const(7, np.uint8), const(_bytes(np.int8, *shape)),
            const(0.03), const(0, np.int8), const(0.7), const(99, np.uint8),
            pads=[1] * (2 * x.ndim - 4),
        )  # fmt: skip
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(
    ("groups", "weights", "width", "window"),
    [
        (7, (7, 1, 2, 1), "w", {"strides": [3, 3], "dilations": [2, 1]}),
        (7, (7, 1, 3, 3), 4, {"strides": [1, 3], "dilations": [1, 2], "pads": [0, 2, 0, 0]}),
        (2, (4, 16, 2, 2), 3, {"strides": [1, 3], "dilations": [2, 2]}),
    ],
    ids=["of any width", "one a row", "one a row, of groups"],
)
def test_windows_of_unknown_size_whose_weights_have_a_zero_point(groups, weights, width, window):
    """The sum over a window is that of the channels of one group."""
    node = helper.make_node(
        "QLinearConv", ["x", "s", "x_zero", "w", "s", "w_zero", "s", "y_zero"], ["y"],
        group=groups, **window,
    )  # fmt: skip
    zeros = {"x_zero": np.uint8(3), "w_zero": np.int8(35), "y_zero": np.uint8(120)}
    constants = {"w": _bytes(np.int8, *weights), "s": np.float32(0.1), **zeros}
    channels = groups * weights[1]
    model = build_model([node], {"x": (np.uint8, ["n", channels, "h", width])}, ["y"], constants)
    feeds = {"x": _bytes(np.uint8, 2, channels, 9, 8 if width == "w" else width)}
    with graphc.compile(model, precision="strict", threads=1) as compiled:
        compare(compiled.run(None, feeds), evaluate(model, feeds), ["y"])


@pytest.mark.parametrize("features", [1, 3])
@pytest.mark.parametrize("size", [(1, 1, 3, "n"), (1, 1, "n", 3), ("n", 1, 3, 3)], ids=str)
def test_one_channel_along_one_axis(size, features):
    """The backend has no other axis of the result but the features."""
    node = helper.make_node("QLinearConv", ["x", "s", "zero", "w", "s", "zero", "s", "zero"], ["y"])
    window = _bytes(np.uint8, features, 1, 3, 3)
    weights = {"w": window, "s": np.float32(0.5), "zero": np.uint8(3)}
    model = build_model([node], {"x": (np.uint8, list(size))}, ["y"], weights)
    feeds = {"x": _bytes(np.uint8, *(7 if n == "n" else n for n in size))}
    with graphc.compile(model, threads=1) as compiled:
        compare(compiled.run(None, feeds), evaluate(model, feeds), ["y"])


def test_blocks_of_a_computed_matrix():
    """Constant scales of a tensor of unknown size are a part of unknown size."""
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["b"], axis=0, block_size=8),
        helper.make_node("MatMul", ["a", "b"], ["y"]),
    ]
    inputs = {"a": (np.float32, [3, "k"]), "w": (np.int8, ["k", "n"])}
    model = build_model(nodes, inputs, ["y"], {"s": _scale(1, 12)}, opset=21)
    feeds = {"a": _normal(3, 8), "w": _bytes(np.int8, 8, 12)}
    with graphc.compile(model, threads=1) as compiled:
        compare(compiled.run(None, feeds), evaluate(model, feeds), ["y"])


@pytest.mark.parametrize(
    ("inputs", "attributes", "reason"),
    [
        ((_scale(3),), {"axis": 1}, "scale 3xf32 has 3 elements, but axis 1 of 2x4xf32 has 4"),
        ((_scale(0),), {"axis": 1}, "has 0 elements"),
        ((_scalar(1), _scalar(0, np.int32)), {}, "the zero point is int32"),
        ((_scalar(1), _scalar(0, np.float32)), {}, "the zero point is float32"),
        ((const(0.0),), {}, r"the scale is 0: values are multiples of it"),
        ((const(np.nan),), {}, "the scale is nan: scales are finite"),
        ((const([1.0, 1, 0, 1]),), {"axis": 1}, r"the scale is 0 at \[2\]"),
        ((const([1.0, 1, 0, np.inf]),), {"axis": 1}, r"the scale is inf at \[3\]"),
        ((_scale(2, 1, 1),), {}, "does not fit 2x4xf32 by axis or block"),
        ((_scale(3),), {"axis": 4}, "axis 4 of a tensor of rank 2"),
        ((_scale(2, 2),), {}, "does not fit 2x4xf32 by axis or block"),
        ((_scale(4), _bytes(np.int8, 3)), {}, "differ"),
        (
            (_scalar(1), _scalar(0, np.int8)),
            {"output_dtype": TensorProto.UINT8},
            "output_dtype is uint8, but the zero point is int8",
        ),
    ],
)
def test_what_does_not_fit(inputs, attributes, reason):
    cases = Cases(opset=21)
    cases.add("QuantizeLinear", _normal(2, 4), *inputs, **attributes)
    with pytest.raises(InvalidModelError, match=reason):
        import_onnx(cases.model())


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ((const(0.0),), "the scale is 0"),
        ((const([1.0, np.nan, 1, 1]),), r"the scale is nan at \[1\]"),
        ((_scalar(1), _scalar(0, np.int8)), "element types uint8 and int8"),
        ((_scale(4), _bytes(np.uint8, 3)), "differ"),
        ((_scale(3),), "axis 1 of 2x4xui8 has 4"),
    ],
)
def test_what_is_not_dequantized(inputs, reason):
    cases = Cases(opset=21)
    cases.add("DequantizeLinear", _bytes(np.uint8, 2, 4), *inputs)
    with pytest.raises(InvalidModelError, match=rf"\(DequantizeLinear\).*{reason}"):
        import_onnx(cases.model())


def test_a_channel_of_zeros_may_have_a_scale_of_zero():
    cases = Cases(opset=21)
    cases.add("DequantizeLinear", _bytes(np.uint8, 2, 4), const([1.0, 0, 1, 1]))
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(("at", "name"), [(1, "'a'"), (4, "'b'"), (6, "the result")])
def test_scales_of_products_are_checked(at, name):
    inputs = [
        *(_bytes(np.uint8, 2, 4), _scalar(0.1), _scalar(0, np.uint8), _bytes(np.int8, 4, 3)),
        *(_scalar(0.1), _scalar(0, np.int8), _scalar(0.1), _scalar(0, np.uint8)),
    ]
    inputs[at] = const(0.0)
    cases = Cases(opset=21)
    cases.add("QLinearMatMul", *inputs)
    with pytest.raises(InvalidModelError, match=f"the scale of {name} is 0"):
        import_onnx(cases.model())
