"""Models of f16 and bf16, computed in f32: where rounding is left out, and where it is not."""

import ml_dtypes
import numpy as np
import pytest
from numerics import build_model
from onnx import TensorProto, helper

import graphc

F16, BF16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
OTHER = {F16: BF16, BF16: F16}


def _model(dtype):
    """``(x + 256) - 256``, ``x * x > y``, and ``x * x`` converted to the other type, then f32."""
    other = helper.np_dtype_to_tensor_dtype(OTHER[dtype])
    nodes = [
        helper.make_node("Add", ["x", "far"], ["there"]),
        helper.make_node("Sub", ["there", "far"], ["back"]),
        helper.make_node("Mul", ["x", "x"], ["square"]),
        helper.make_node("Greater", ["square", "y"], ["above"]),
        helper.make_node("Cast", ["square"], ["half"], to=other),
        helper.make_node("Cast", ["half"], ["single"], to=TensorProto.FLOAT),
    ]
    inputs = {name: (dtype, ("n",)) for name in "xy"}
    constants = {"far": np.array(256, dtype)}
    return build_model(nodes, inputs, ["back", "above", "single"], constants)


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_arithmetic_is_f32_but_decisions_and_conversions_are_of_the_model(dtype):
    x = (1.5 + np.arange(999) / 999).astype(dtype)
    exact = x.astype(np.float32)
    y = x * x
    assert (exact * exact > y.astype(np.float32)).any(), "rounding decides nothing"
    back, above, single = graphc.compile(_model(dtype)).run(None, {"x": x, "y": y})
    np.testing.assert_array_equal(back, ((exact + 256) - 256).astype(dtype))
    np.testing.assert_array_equal(above, False)
    np.testing.assert_array_equal(single, (exact * exact).astype(OTHER[dtype]).astype(np.float32))


def test_strict_rounds_after_each_op():
    x = (1.5 + np.arange(999) / 999).astype(F16)
    y = x * x
    model = graphc.compile(_model(F16), precision="strict")
    back, above, single = model.run(None, {"x": x, "y": y})
    np.testing.assert_array_equal(back, (x + F16.type(256)) - F16.type(256))
    np.testing.assert_array_equal(above, False)
    np.testing.assert_array_equal(single, y.astype(BF16).astype(np.float32))


def test_strict_rounds_between_matmuls():
    """Sums of whole numbers, scaled, are exact in f32, but not in f16."""
    random = np.random.default_rng(0)
    x, w, v = (random.integers(0, most, (64, 64)) / 32 for most in (32, 32, 2))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("MatMul", ["y", "v"], ["z"]),
    ]
    weights = {"w": w.astype(F16), "v": v.astype(F16)}
    model = build_model(nodes, {"x": (F16, x.shape)}, ["z"], weights)
    exact, rounded = (x @ w @ v).astype(F16), ((x @ w).astype(F16) @ v).astype(F16)
    assert (exact != rounded).any(), "rounding changes nothing"
    np.testing.assert_array_equal(graphc.compile(model)(x.astype(F16)), exact)
    strict = graphc.compile(model, precision="strict")
    np.testing.assert_array_equal(strict(x.astype(F16)), rounded)
