"""Tests of the accuracy of compiled elementary functions over their whole domains."""

import math
from contextlib import closing

import numpy as np
import pytest
from numerics import build_model, run_compiled
from onnx import TensorProto, helper

import graphc

_random = np.random.default_rng(0)


def _selu(x):
    alpha, gamma = 1.67326319217681884765625, 1.05070102214813232421875
    return gamma * np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


FUNCTIONS = {
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Elu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "Erf": np.vectorize(math.erf, otypes=[np.float64]),
    "Exp": np.exp,
    "Log": np.log,
    "Reciprocal": lambda x: 1 / x,
    "Round": np.rint,
    "Selu": _selu,
    "Sigmoid": lambda x: np.exp(-np.logaddexp(0, -x)),
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Softplus": lambda x: np.logaddexp(0, x),
    "Softsign": lambda x: np.where(np.isinf(x), np.nan, x / (1 + abs(x))),
    "Sqrt": np.sqrt,
    "Tan": np.tan,
    "Tanh": np.tanh,
}
SPECIAL = [
    0.0,
    -0.0,
    1,
    -1,
    2,
    -2,
    0.5,
    -0.5,
    1.5,
    -2.5,
    4194303.5,
    -4194304.5,
    2.0**52 - 0.5,
    np.inf,
    -np.inf,
    np.nan,
    88.7,
    89.3,
    -87.3,
    -104.0,
]
PERIODIC = ("Cos", "Sin", "Tan")
LARGEST_ANGLE = 1e9  # in f32; the angle is not known well beyond, but sines stay within -1 and 1


def _arguments(dtype: type) -> np.ndarray:
    """Numbers of every magnitude, many near 0 and 1; no subnormal ones, which count as 0."""
    wide = np.exp2(_random.uniform(-120, 127, 40000)) * _random.choice([-1, 1], 40000)
    near = np.concatenate([_random.uniform(-20, 20, 20000), _random.uniform(-1.1, 1.1, 20000)])
    return np.concatenate([wide, near, np.linspace(-110, 110, 5000), SPECIAL]).astype(dtype)


def _run(dtype: type, x: np.ndarray) -> dict[str, np.ndarray]:
    nodes = [helper.make_node(name, ["x"], [name], name=name) for name in FUNCTIONS]
    model = build_model(nodes, {"x": (dtype, x.shape)}, list(FUNCTIONS))
    return dict(zip(FUNCTIONS, run_compiled(model, {"x": x}), strict=True))


def _check(name: str, x: np.ndarray, have: np.ndarray, want: np.ndarray, tolerance: float) -> str:
    """A description of the first error in `have`, or an empty string. `want` is in f64."""
    limits = np.finfo(have.dtype)
    with np.errstate(over="ignore"):
        rounded = want.astype(have.dtype)
    if (np.isnan(have) != np.isnan(want)).any():
        return f"{name}: not a number at {x[np.isnan(have) != np.isnan(want)][:5]}"
    finite = np.isfinite(rounded) & np.isfinite(have)
    unequal = ~finite & ~np.isnan(want) & (have != rounded)
    unequal &= abs(want) < float(limits.max) * (1 - tolerance)  # the last step before overflow
    if unequal.any():
        return f"{name}: infinite at {x[unequal][:5]}"
    normal = finite & (abs(want) > 4 * limits.tiny)
    error = abs(have[normal].astype(np.float64) - want[normal]) / abs(want[normal])
    worst = int(np.argmax(error))
    if error[worst] > tolerance:
        return f"{name}: off by {error[worst]:.1e} at {x[normal][worst]!r}"
    signs = (want == 0) & (np.signbit(have) != np.signbit(rounded))
    return f"{name}: sign of zero at {x[signs]}" if signs.any() else ""


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 5e-7), (np.float64, 5e-14)])
def test_elementary_functions(dtype, tolerance):
    x = _arguments(dtype)
    results = _run(dtype, x)
    problems = []
    with np.errstate(all="ignore"):
        for name, function in FUNCTIONS.items():
            here = ~(abs(x) > LARGEST_ANGLE) if name in PERIODIC else np.full(x.shape, True)
            wide = x[here].astype(np.float64)
            problems.append(_check(name, x[here], results[name][here], function(wide), tolerance))
    assert not any(problems), "\n".join(filter(None, problems))
    for name in ("Cos", "Sin"):
        finite = np.isfinite(x)
        assert (abs(results[name][finite]) <= 1).all()


def test_functions_of_expm1_in_f64():
    """Within some units in the last place, also near 0, and where the result is rounded to 1."""
    near = np.concatenate(
        [_random.uniform(-40, 1, 20000), -np.exp2(_random.uniform(-500, 0, 5000))]
    )
    x = np.concatenate([near, [0.0, -0.0, -np.inf, -746, np.nan]])
    names = ("Tanh", "Elu")
    nodes = [helper.make_node(name, ["x"], [name]) for name in names]
    model = build_model(nodes, {"x": (np.float64, x.shape)}, list(names))
    for name, found in zip(names, run_compiled(model, {"x": x}), strict=True):
        expected = FUNCTIONS[name](x)
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        np.testing.assert_array_equal(np.signbit(found[:-1]), np.signbit(expected[:-1]))


def test_powers():
    bases = np.exp(_random.uniform(-10, 10, 20000)) * _random.choice([-1, 1], 20000)
    exponents = np.where(bases > 0, _random.uniform(-9, 9, 20000), _random.integers(-9, 9, 20000))
    a, b = (np.ravel(axis) for axis in np.meshgrid(SPECIAL, SPECIAL))
    a = np.concatenate([bases, a]).astype(np.float32)
    b = np.concatenate([exponents, b]).astype(np.float32)
    inputs = {"a": (np.float32, a.shape), "b": (np.float32, b.shape)}
    model = build_model([helper.make_node("Pow", ["a", "b"], ["c"])], inputs, ["c"])
    (result,) = run_compiled(model, {"a": a, "b": b})
    with np.errstate(all="ignore"):
        expected = np.power(a.astype(np.float64), b.astype(np.float64))
    assert not _check("Pow", np.stack([a, b], 1), result, expected, 1e-7)


def test_the_error_function_to_the_last_bits():
    """Erf alone, and fused into the kernel of a matmul, here with the identity."""
    x = _random.uniform(-4.5, 4.5, (600, 256)).astype(np.float32)
    nodes = [
        helper.make_node("Erf", ["x"], ["alone"]),
        helper.make_node("MatMul", ["x", "identity"], ["product"]),
        helper.make_node("Erf", ["product"], ["within"]),
    ]
    known = {"identity": np.eye(256, dtype=np.float32)}
    model = build_model(nodes, {"x": (np.float32, x.shape)}, ["alone", "within"], known)
    want = FUNCTIONS["Erf"](x.astype(np.float64))
    with closing(graphc.compile(model, precision="strict")) as compiled:
        for result in compiled.run(None, {"x": x}):
            assert (abs(result - want) <= 1.1 * np.spacing(abs(want).astype(np.float32))).all()


def test_gelu_that_a_model_rounds():
    """Rounds what is exact: only products of bf16 may take fewer terms."""
    x = _random.uniform(-9, 9, 20000).astype(np.float32)
    nodes = [
        helper.make_node("Gelu", ["x"], ["g"]),
        helper.make_node("Cast", ["g"], ["b"], to=TensorProto.BFLOAT16),
        helper.make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT),
    ]
    model = build_model(nodes, {"x": (np.float32, x.shape)}, ["y"], opset=20)
    (y,) = graphc.compile(model).run(None, {"x": x})
    wide = x.astype(np.float64)
    truth = wide * (0.5 + 0.5 * np.vectorize(math.erf)(wide / math.sqrt(2)))
    assert (np.abs(y - truth) <= 1e-6 + np.abs(truth) * 2.0**-8).all()
