"""Elementwise ops in the registers of a kernel give what ONNX Runtime gives."""

import numpy as np
import onnxruntime
import pytest
from numerics import build_model
from onnx import helper

import graphc
from harness.marks import long

ACTIVATIONS = {
    "Relu": {}, "Elu": {"alpha": 0.7}, "Sigmoid": {}, "Tanh": {}, "Softplus": {}, "Softsign": {},
    "Gelu": {}, "Erf": {}, "Exp": {}, "Log": {}, "Sqrt": {}, "Reciprocal": {}, "Mish": {},
    "HardSwish": {}, "HardSigmoid": {"alpha": 0.3}, "LeakyRelu": {"alpha": 0.1}, "Abs": {},
    "Neg": {}, "Floor": {}, "Ceil": {}, "Round": {}, "Selu": {}, "Celu": {"alpha": 0.8},
    "ThresholdedRelu": {"alpha": 0.4}, "Shrink": {"lambd": 0.3, "bias": 0.2}, "PRelu": {},
}  # fmt: skip
"""None of which may be left to a loop of its own."""
NAMES = (*ACTIVATIONS, "Swish")


def _model():
    nodes, weights = [], {}
    random = np.random.default_rng(0)
    for op_type, attributes in ACTIVATIONS.items():
        weights[f"w_{op_type}"] = random.standard_normal((40, 72), np.float32) / 6
        operands = [f"m_{op_type}", *(["slopes"] if op_type == "PRelu" else [])]
        nodes += [
            helper.make_node("MatMul", ["x", f"w_{op_type}"], [f"m_{op_type}"]),
            helper.make_node(op_type, operands, [f"y_{op_type}"], **attributes),
        ]
    weights["slopes"] = random.standard_normal(72, np.float32)
    nodes += [  # as exporters write Swish
        helper.make_node("MatMul", ["x", "w_Relu"], ["m_Swish"]),
        helper.make_node("Sigmoid", ["m_Swish"], ["s_Swish"]),
        helper.make_node("Mul", ["m_Swish", "s_Swish"], ["y_Swish"]),
    ]
    outputs = [f"y_{op_type}" for op_type in NAMES]
    return build_model(nodes, {"x": (np.float32, (24, 40))}, outputs, weights, opset=22)


@pytest.mark.parametrize("vector_bits", [long(128), 512])
def test_activations(vector_bits, tmp_path):
    model = _model()
    x = np.random.default_rng(1).standard_normal((24, 40), np.float32) * 3
    x[0], x[1, 0], x[2, 0] = 0, np.inf, np.nan
    pipeline = (
        f"graph-simplify,graph-recognize,cpu-select-matmul-kernels{{vector-bits={vector_bits}}},graph-fuse-epilogue,"
        "canonicalize"
    )
    compiled = graphc.compile(model, pipeline=pipeline, save_temps=tmp_path)
    (program,) = tmp_path.glob("*.linalg.mlir")
    assert "linalg.generic" not in program.read_text()
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    ours, theirs = compiled.run(None, {"x": x}), session.run(None, {"x": x})
    for name, result, expected in zip(NAMES, ours, theirs, strict=True):
        np.testing.assert_allclose(result, expected, rtol=2e-6, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("vector_bits", [128, 512])
def test_operands_with_an_element_for_each_row_or_for_all(vector_bits, tmp_path):
    """Results of matmuls and convolutions whose sizes do not fill vectors, tiles or panels."""
    random, weights, nodes = np.random.default_rng(0), {}, []
    inputs = {
        "x": (np.float32, ("n", 40)), "r": (np.float32, ("n", 1)),
        "i": (np.float32, (2, 8, 7, "w")), "j": (np.float32, (2, 1, 7, "w")),
        "s": (np.float32, (1,)),
    }  # fmt: skip
    for features in (33, 72):
        weights[f"w{features}"] = random.standard_normal((40, features), np.float32)
        weights[f"k{features}"] = random.standard_normal((features, 8, 3, 3), np.float32)
        nodes += [
            helper.make_node("MatMul", ["x", f"w{features}"], [f"m{features}"]),
            helper.make_node("Mul", [f"m{features}", "r"], [f"p{features}"]),
            helper.make_node("Add", [f"p{features}", "s"], [f"y{features}"]),
            helper.make_node("Conv", ["i", f"k{features}"], [f"c{features}"], pads=[1] * 4),
            helper.make_node("Add", [f"c{features}", "j"], [f"z{features}"]),
        ]
    model = build_model(nodes, inputs, ["y33", "y72", "z33", "z72"], weights, opset=22)
    pipeline = (
        f"graph-convert-layout,graph-simplify,graph-fold-constants,graph-direct-conv{{vector-bits={vector_bits}}},"
        f"cpu-select-matmul-kernels{{vector-bits={vector_bits}}},graph-fuse-epilogue,canonicalize"
    )
    compiled = graphc.compile(model, pipeline=pipeline, save_temps=tmp_path)
    shapes = {"x": (17, 40), "r": (17, 1), "i": (2, 8, 7, 9), "j": (2, 1, 7, 9), "s": (1,)}
    feeds = {name: random.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    (program,) = tmp_path.glob("*.linalg.mlir")
    assert not any(op in program.read_text() for op in ("arith.mulf %in", "arith.addf %in"))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for ours, theirs in zip(compiled.run(None, feeds), session.run(None, feeds), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4)
