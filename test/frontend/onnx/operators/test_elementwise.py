"""Elementwise operators against ONNX Runtime, or the reference where it lacks them."""

import warnings

import ml_dtypes
import numpy as np
import onnx
import pytest
from numerics import Cases, Feed, build_model, compare, const, evaluate, run_compiled
from onnx.helper import make_node

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)

UNARY = (
    "Abs", "Atan", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish",
    "Identity", "LeakyRelu", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid",
    "Sign", "Sin", "Sinh", "Cosh", "Asinh", "Softplus", "Softsign", "Tan", "Tanh",
)  # fmt: skip
WITHIN = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-1, 1), "Acosh": (1, 9), "Log": (0, 9),
          "Sqrt": (0, 9)}  # fmt: skip


def _normal(*shape: int, scale: float = 1) -> np.ndarray:
    return np.asarray(_random.standard_normal(shape) * scale, np.float32)


def _whole(*shape: int) -> np.ndarray:
    return np.asarray(np.rint(_normal(*shape, scale=2)), np.float32)


def _integers(dtype: type, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return _random.integers(info.min, info.max, shape, dtype, endpoint=True)


def test_unary_operators():
    cases = Cases(opset=22)
    for op_type in UNARY:
        cases.add(op_type, _normal(3, 50, scale=3))
    for op_type, (low, high) in WITHIN.items():
        cases.add(op_type, _random.uniform(low, high, (3, 50)).astype(np.float32))
    halves = np.arange(-8, 8).astype(np.float32) / 2
    for op_type in ("Round", "Floor", "Ceil", "Sign", "Relu", "HardSigmoid"):
        cases.add(op_type, halves)
    cases.add("Sigmoid", Feed(_normal(2, 3), ["a", "b"]))
    cases.add("Tanh", np.array(0.3, np.float32))
    cases.add("Exp", np.zeros((0, 3), np.float32))
    cases.compare_with_onnxruntime()


def test_attributes():
    cases = Cases(opset=22)
    x = _normal(60, scale=3)
    cases.add("Elu", x, alpha=0.3)
    cases.add("Selu", x, alpha=1.3, gamma=0.7)
    cases.add("Celu", x, alpha=2.5)
    cases.add("LeakyRelu", x, alpha=0.2)
    cases.add("HardSigmoid", x, alpha=0.4, beta=0.1)
    cases.add("ThresholdedRelu", x, alpha=0.5)
    cases.add("Shrink", x, lambd=1.0, bias=0.4)
    cases.add("Shrink", x)
    cases.add("Gelu", x, approximate="tanh")
    cases.add("IsInf", np.array([np.inf, -np.inf, np.nan, 1], np.float32), detect_negative=0)
    cases.add("IsInf", np.array([np.inf, -np.inf, np.nan, 1], np.float32), detect_positive=0)
    cases.add("IsNaN", np.array([np.inf, -np.inf, np.nan, 1], np.float32))
    cases.add("Dropout", x)
    cases.compare_with_onnxruntime()
    cases = Cases(opset=24)
    cases.add("Swish", x, alpha=1.5)
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


@pytest.mark.parametrize(("op_type", "alpha"), [("LeakyRelu", 0.01), ("HardSigmoid", 0.2)])
def test_defaults_of_attributes_are_what_a_model_could_give(op_type, alpha):
    """They are rounded to f32, too, which f64 tells."""
    x = np.linspace(-2, 2, 9)
    given, left_out = (
        evaluate(build_model([node], {"x": (np.float64, [9])}, ["y"]), {"x": x})[0]
        for node in (
            make_node(op_type, ["x"], ["y"], alpha=alpha),
            make_node(op_type, ["x"], ["y"]),
        )
    )
    np.testing.assert_array_equal(left_out, given)


def test_binary_operators_broadcast():
    cases = Cases(opset=22)
    shapes = [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((4, 1, 3), (2, 1)), ((0, 3), (1, 3))]
    for op_type in ("Add", "Sub", "Mul", "Div", "Equal", "Less", "LessOrEqual", "Greater",
                    "GreaterOrEqual"):  # fmt: skip
        for a, b in shapes:
            cases.add(op_type, _whole(*a), _whole(*b))
    cases.add("PRelu", _normal(2, 3, 4), _normal(3, 1))
    cases.add("Pow", abs(_normal(2, 3)), _normal(3))
    cases.add("Where", _normal(2, 1) > 0, _normal(1, 3), _normal(4, 1, 1))
    for op_type in ("Max", "Min", "Sum", "Mean"):
        cases.add(op_type, _normal(2, 3))
        cases.add(op_type, _normal(2, 3), _normal(3), _normal(2, 1))
    cases.compare_with_onnxruntime()


def test_sizes_that_may_be_one():
    """Only at run time is it known which of two operands is broadcast along an axis."""
    cases = Cases(opset=22)
    for a, b in [((2, 3), (1, 3)), ((1, 3), (2, 1)), ((4, 3), (4, 3)), ((1, 1), (1, 1))]:
        cases.add("Sub", Feed(_normal(*a), ["a", "b"]), Feed(_normal(*b), ["c", "d"]))
    cases.add("Sum", Feed(_normal(2, 1), ["a", "b"]), Feed(_normal(3), ["c"]), _normal(1, 3))
    condition = Feed(_normal(1, 3) > 0, ["a", "b"])
    cases.add("Where", condition, Feed(_normal(2, 1), ["c", "d"]), Feed(_normal(3), ["e"]))
    cases.compare_with_onnxruntime()


def test_integers():
    cases = Cases(opset=22)
    for dtype in (np.int32, np.int64):
        a = _random.integers(-20, 20, (50,)).astype(dtype)
        b = _random.choice([-7, -3, -2, -1, 1, 2, 3, 7], 50).astype(dtype)
        for op_type in ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Less", "Greater"):
            cases.add(op_type, a, b)
        cases.add("Mod", a, b, fmod=1)
        cases.add("Abs", a)
        cases.add("Neg", a)
        cases.add("Sign", a)
        if dtype == np.int32:
            cases.add("Relu", a)
        cases.add("Clip", a, np.array(-5, dtype), np.array(8, dtype))
    for dtype in (np.uint8, np.uint32, np.uint64):
        a, b = _integers(dtype, 50), np.maximum(_integers(dtype, 50), 1)
        cases.add("Max", a, b)
        cases.add("Min", a, b)
        if dtype != np.uint8:
            cases.add("Div", a, b)
        cases.add("Mod", a, b)
        cases.add("Abs", a)
        cases.add("BitShift", a, b % 8, direction="LEFT")
        cases.add("BitShift", a, b % 8, direction="RIGHT")
    for dtype in (np.int8, np.uint64):
        a, b = _integers(dtype, 50), _integers(dtype, 50)
        for op_type in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            cases.add(op_type, a, b)
        cases.add("BitwiseNot", a)
    truth = [_normal(4, 5) > 0 for _ in range(2)]
    for op_type in ("And", "Or", "Xor", "Equal"):
        cases.add(op_type, *truth)
    cases.add("Not", truth[0])
    cases.add("Where", truth[0], _integers(np.int8, 4, 5), _integers(np.int8, 4, 5))
    cases.compare_with_onnxruntime()


def test_functions_of_floats_take_integers():
    cases = Cases(opset=12)
    for dtype in (np.int8, np.uint8, np.int32, np.uint64):
        a = np.array([0, 1, 2, 3, 6, 7, 100], dtype)
        cases.add("Erf", a)
        cases.add("Shrink", a, lambd=2.5, bias=1.5)
    cases.add("Shrink", np.array([-9, -3, -2, 0, 4], np.int16), lambd=2.5, bias=1.25)
    evaluated = evaluate(cases.model(), cases.feeds)
    cases.compare_compiled_with_evaluation()
    assert evaluated[0].tolist() == [0, 0, 0, 0, 1, 1, 1]
    shrinks = Cases(opset=12)
    shrinks.nodes = [node for node in cases.nodes if node.op_type == "Shrink"]
    shrinks.inputs = [info for info in cases.inputs if info.name.startswith("Shrink")]
    shrinks.outputs = [name for name in cases.outputs if name.startswith("Shrink")]
    shrinks.feeds = {k: v for k, v in cases.feeds.items() if k.startswith("Shrink")}
    shrinks.compare_with_onnxruntime()


def test_integer_operators_that_onnxruntime_lacks():
    cases = Cases(opset=22)
    for dtype in (np.int8, np.uint16):
        a = _integers(dtype, 60)
        b = np.where(a % 3 == 0, 3, 1).astype(dtype) * np.array([1, -1] * 30).astype(dtype)
        for op_type in ("Add", "Sub", "Mul", "Div", "Mod", "Less", "Greater"):
            cases.add(op_type, a, b)
        unsigned = a.view(f"u{dtype().itemsize}")
        cases.add("BitShift", unsigned, np.full_like(unsigned, 3), direction="RIGHT")
    cases.compare_compiled_with_evaluation()
    evaluated = evaluate(cases.model(), cases.feeds)
    a, b = (cases.feeds[f"Div_3_in{i}"].astype(int) for i in range(2))
    compare([evaluated[3]], [np.trunc(a / b).astype(np.int8)], ["int8 division"])


def test_division_by_zero_and_overflow_do_not_trap():
    """Cases that C leaves undefined: division by 0 gives 0, the lowest integer divided by -1 is
    itself, too wide shifts give 0."""
    low = np.iinfo(np.int32).min
    a, b = np.array([5, -5, low, low], np.int32), np.array([0, 0, -1, 0], np.int32)
    cases = Cases(opset=22)
    cases.add("Div", a, b)
    cases.add("Mod", a, b)
    cases.add("Mod", a, b, fmod=1)
    cases.add("Div", a.view(np.uint32), b.view(np.uint32) * 0)
    shifted = np.array([255, 255, 255], np.uint8), np.array([7, 8, 200], np.uint8)
    cases.add("BitShift", *shifted, direction="LEFT")
    cases.add("BitShift", *shifted, direction="RIGHT")
    expected = [
        np.array([0, 0, low, 0], np.int32),
        np.zeros(4, np.int32),
        np.zeros(4, np.int32),
        np.zeros(4, np.uint32),
        np.array([128, 0, 0], np.uint8),
        np.array([1, 0, 0], np.uint8),
    ]
    for run in (evaluate, run_compiled):
        compare(run(cases.model(), cases.feeds), expected, cases.outputs)


def test_remainders_of_floats():
    cases = Cases(opset=22)
    a, b = _normal(200, scale=100), _normal(200, scale=10)
    cases.add("Mod", a, b, fmod=1)
    cases.add("Mod", a.astype(np.float64), b.astype(np.float64), fmod=1)
    cases.compare_with_onnxruntime()


def test_remainders_are_exact():
    """Any f32, close to whole quotients, huge ones, and what has no remainder."""
    drawn = np.random.default_rng(0)
    bits = drawn.integers(0, 1 << 32, (2, 3000), dtype=np.uint32).view(np.float32)
    near = [drawn.integers(1, 1 << n, 3000).astype(np.float32) for n in (24, 12)]
    special = np.array([0, -0.0, 1, -6, np.inf, -np.inf, np.nan, 3e38], np.float32)
    sides = [
        np.concatenate([bits[0], near[0] * 32, np.repeat(special, 8)]),
        np.concatenate([bits[1], near[1], np.tile(special, 8)]),
    ]
    for side in sides:
        side[np.abs(side) < 2.0**-100] *= 0  # no remainder is subnormal: the runtime flushes such
    cases = Cases(opset=22)
    cases.add("Mod", *sides, fmod=1)
    with np.errstate(all="ignore"):
        expected = np.fmod(*sides)
    (found,) = run_compiled(cases.model(), cases.feeds)
    np.testing.assert_array_equal(found, expected)
    signed = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(expected)[signed])


def test_powers():
    cases = Cases(opset=22)
    bases = np.array([-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, np.inf, -np.inf, np.nan], np.float32)
    powers = np.array([-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, np.inf, -np.inf, np.nan], np.float32)
    cases.add("Pow", bases[:, None], powers)
    for exponent in (0.5, 1.0, 2.0, 3.0, 4.0, -1.0, 2.5):
        cases.add("Pow", _normal(20), const(exponent))
    cases.add("Pow", abs(_normal(99, scale=20)), _normal(99, scale=9))
    cases.add("Pow", _normal(20), _random.integers(-5, 5, 20))
    cases.add("Pow", _random.integers(-5, 5, 20).astype(np.int32), _random.integers(0, 5, 20))
    cases.add("Pow", _random.integers(0, 50, 20), np.full(20, 0.5, np.float32))
    for exponent in (0.5, 1.5, 2.0, 3.0):  # 25 ** 0.5 is not 4, nor 2 ** 3.0 7
        cases.add("Pow", np.arange(200), np.full(200, exponent, np.float32))
    cases.compare_with_onnxruntime()
    signs = Cases(opset=22)
    signs.add(
        "Pow",
        np.array([-1, -1, 1, 2, -3, 0], np.int32),
        np.array([-3, -2, -1, -1, -2, -1], np.int32),
    )
    for run in (evaluate, run_compiled):
        compare(
            run(signs.model(), signs.feeds), [np.array([-1, 1, 1, 0, 0, 0], np.int32)], ["powers"]
        )


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_small_floats(dtype):
    """Computed in f32 and rounded once."""
    cases = Cases(opset=24)
    for op_type in UNARY[::2] if dtype == np.float16 else UNARY[1::3]:
        cases.add(op_type, _normal(40, scale=3).astype(dtype))
    for op_type in ("Add", "Div", "Max", "Less", "PRelu"):
        cases.add(op_type, _normal(40).astype(dtype), _normal(40).astype(dtype))
    cases.add("Pow", abs(_normal(40)).astype(dtype), _normal(40).astype(dtype))
    cases.add("Clip", _normal(40).astype(dtype), np.array(-1, dtype), np.array(0.5, dtype))
    cases.add("Where", _normal(40) > 0, _normal(40).astype(dtype), _normal(40).astype(dtype))
    cases.compare_compiled_with_evaluation()


def test_conditions_that_are_known():
    cases = Cases()
    for size in (3, 5, 17, 40):
        x = _random.standard_normal((2, size, 1)).astype(np.float32)
        cases.add("Where", const(np.eye(size, dtype=np.bool_)), x, const(np.float32(0)))
    cases.compare_with_onnxruntime()


def test_not_a_number_wins_extrema():
    x = np.array([1, np.nan, -1, np.inf], np.float32)
    y = np.array([np.nan, 2, 0, np.nan], np.float32)
    cases = Cases(opset=22)
    cases.add("Max", x, y)
    cases.add("Min", x, y)
    cases.add("Relu", x)
    cases.add("Clip", x, np.array(0, np.float32), np.array(1, np.float32))
    cases.compare_with_onnxruntime()


def test_clip_forms():
    x = _normal(30, scale=3)
    old = Cases(opset=6)
    old.add("Clip", x, min=-1.0, max=0.5)
    old.add("Clip", x)
    old.compare_with_onnxruntime()
    cases = Cases(opset=13)
    low, high = np.array(-1, np.float32), np.array(0.5, np.float32)
    cases.add("Clip", x, low, high)
    cases.add("Clip", x, None, high)
    cases.add("Clip", x, low)
    cases.add("Clip", x)
    cases.add("Clip", x, high, low)  # the upper bound wins
    cases.compare_with_onnxruntime()


NUMBERS = np.array([-3.7, -1.5, -0.5, 0, 0.4, 0.5, 1.5, 2.5, 99.99, 127], np.float64)
TYPES = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64,
)  # fmt: skip


def test_casts():
    cases = Cases(opset=22)
    for source in TYPES:
        unsigned = np.dtype(source).kind == "u"
        numbers = np.maximum(NUMBERS, 0) if unsigned else NUMBERS
        for target in TYPES:
            whole = np.dtype(target).kind == "u"
            x = np.maximum(numbers, 0).astype(source) if whole else numbers.astype(source)
            cases.add("Cast", x, to=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(target)))
    cases.add("CastLike", NUMBERS, np.zeros((), np.int32))
    cases.compare_with_onnxruntime()


def test_casts_of_integers_wrap():
    cases = Cases(opset=22)
    for source in (np.int64, np.uint64, np.int16, np.uint8):
        for target in (np.int8, np.uint8, np.int32, np.uint32):
            kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(target))
            cases.add("Cast", _integers(source, 30), to=kind)
    cases.compare_with_onnxruntime()


def test_casts_of_floats_stay_in_range():
    """ONNX leaves open what does not fit: here the nearest integer, and 0 for NaN."""
    wild = [np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9, -3e9, 300, -300, 0.9, -0.9]
    cases = Cases(opset=22)
    for source in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16):
        with np.errstate(over="ignore"), warnings.catch_warnings(action="ignore"):
            x = np.array(wild).astype(source)
        for target in (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.bool_):
            cases.add("Cast", x, to=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(target)))
    cases.compare_compiled_with_evaluation()
    (to_int8, to_uint8, to_int32, *_) = evaluate(cases.model(), cases.feeds)
    assert to_int8.tolist() == [0, 127, -128, 127, -128, 127, -128, 127, -128, 0, 0]
    assert to_uint8.tolist() == [0, 255, 0, 255, 0, 255, 0, 255, 0, 0, 0]
    assert to_int32.tolist()[:6] == [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 2**31 - 1]


def test_casts_to_and_from_bfloat16():
    cases = Cases(opset=22)
    x = np.concatenate([_normal(500, scale=99), np.float32([np.inf, np.nan, 5e4, 1e-30])])
    bfloat16 = onnx.TensorProto.BFLOAT16
    cases.add("Cast", x, to=bfloat16)
    cases.add("Cast", x.astype(np.float16), to=bfloat16)
    cases.add("Cast", x.astype(ml_dtypes.bfloat16), to=onnx.TensorProto.FLOAT)
    cases.add("Cast", x.astype(ml_dtypes.bfloat16), to=onnx.TensorProto.FLOAT16)
    cases.add("Cast", x.astype(np.float64), to=bfloat16)
    cases.compare_compiled_with_evaluation()
    results = evaluate(cases.model(), cases.feeds)
    assert np.array_equal(results[0], x.astype(ml_dtypes.bfloat16), equal_nan=True)


def test_forms_that_are_refused():
    cases = Cases(opset=22)
    cases.add("Cast", _normal(2), to=onnx.TensorProto.STRING)
    cases.add("Gelu", _normal(2), approximate="cubic")
    with pytest.raises(UnsupportedModelError) as caught:
        import_onnx(cases.model())
    reasons = {node.name: node.reason for node in caught.value.nodes}
    assert reasons == {
        "Cast_0": "conversion to strings",
        "Gelu_1": "approximate='cubic'",
    }


@pytest.mark.parametrize(
    ("op_type", "inputs", "message"),
    [
        ("Add", (_normal(2), _normal(3)), "shapes .* do not broadcast"),
        ("Add", (_normal(2), np.zeros(2, np.int32)), "element types float32 and int32"),
        ("Sin", (np.zeros(2, np.int32),), "needs a floating-point operand, not int32"),
        ("And", (_normal(2), _normal(2)), "needs a boolean operand, not float32"),
        ("BitwiseNot", (_normal(2),), "needs an integer operand, not float32"),
        ("Where", (_normal(2), _normal(2), _normal(2)), "needs a boolean operand, not float32"),
    ],
)
def test_operands_must_fit(op_type, inputs, message):
    cases = Cases(opset=22)
    cases.add(op_type, *inputs)
    with pytest.raises(InvalidModelError, match=f"node '{op_type}_0' .*{message}"):
        import_onnx(cases.model())
