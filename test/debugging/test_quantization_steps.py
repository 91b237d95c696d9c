"""Differences of quantised values in steps."""

import numpy as np
import pytest
from numerics import Cases, const
from onnx import helper, numpy_helper
from tool_models import model

from graphc.debugging import verify
from graphc.debugging.comparison import ValueComparison
from graphc.debugging.difference import difference
from graphc.debugging.onnx.steps import QuantizationStep, in_steps, quantization_steps


def quantized_product():
    """``y = q(x) w``, dequantised, with weights for each column; scales 0.5 and 1, 2, 4."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"], name="quantize"),
        helper.make_node("DequantizeLinear", ["q", "xs", "xz"], ["d"], name="dequantize"),
        helper.make_node("DequantizeLinear", ["w", "ws"], ["wd"], name="weights", axis=1),
        helper.make_node("MatMul", ["d", "wd"], ["y"], name="product"),
    ]
    arrays = {
        "xs": np.float32(0.5), "xz": np.uint8(128),
        "w": np.arange(12, dtype=np.int8).reshape(4, 3), "ws": np.array([1, 2, 4], np.float32),
    }  # fmt: skip
    tensors = [numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items()]
    return model(nodes, {"x": [2, 4]}, {"y": [2, 3]}, tensors)


X = np.linspace(-3, 3, 8, dtype=np.float32).reshape(2, 4)


def test_scales_are_found_with_their_axes():
    steps = quantization_steps(quantized_product())
    assert steps.keys() == {"x", "d", "wd"}
    assert steps["d"].scale == 0.5
    assert steps["wd"].axis == 1
    have = np.zeros((4, 3), np.float32)
    assert steps["wd"].largest(have + np.array([0, 6, 4]), have) == 3.0  # 6 / 2
    assert steps["wd"].largest(np.zeros((4, 5)), np.zeros((4, 5))) is None


def test_scales_by_blocks_and_of_zero_are_no_steps():
    cases = Cases(opset=21)
    scales = const(np.ones((2, 2), np.float32))
    cases.add("DequantizeLinear", const(np.ones((4, 2), np.int8)), scales, axis=0, block_size=2)
    assert quantization_steps(cases.model()) == {}
    assert QuantizationStep(np.zeros(())).largest(np.ones(2), np.ones(2)) is None


@pytest.mark.parametrize(
    ("have", "want", "expected"),
    [
        (np.array([1, 255], np.uint8), np.array([3, 255], np.uint8), 2.0),
        (np.array([-128], np.int8), np.array([127], np.int8), 255.0),
        (np.array([1.0], np.float32), np.array([2.0], np.float32), None),
        (np.array([1], np.int32), np.array([2], np.int32), None),
    ],
)
def test_bytes_count_in_ones(have, want, expected):
    assert in_steps(None, have, want) == expected


def test_verification_reports_steps():
    found = verify(quantized_product(), {"x": X}, "interpret", unfused=True)
    rows = {row.name: row for row in found.layers}
    assert rows["q"].steps == rows["d"].steps == 0.0
    assert rows["y"].steps is None
    assert "(0 steps)" in found.table()
    assert "(0 steps)" in found.page()


def row(steps, relative, allowed=1.0):
    made = difference(np.array([1 + relative]), np.array([1.0]))
    return ValueComparison("v", "n", "Op", "float32", (1,), made, 1e-4, None, steps, allowed)


def test_one_step_is_allowed_and_two_are_not():
    assert row(1.0, 0.1).within
    assert not row(2.0, 0.1).within
    assert row(2.0, 1e-6).within  # of a coarse scale
    assert not row(1.0, 0.1, allowed=0.0).within  # with --tolerance
    assert not row(None, 0.1).within
    assert row(2.0, 0.1).excess == pytest.approx(2.0)
