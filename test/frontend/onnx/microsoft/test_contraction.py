"""Fused matrix products of com.microsoft against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, const

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def test_matmul():
    cases = Cases(opset=21, domains={DOMAIN: 1})

    def add(op_type, *inputs, **attributes):
        cases.add(op_type, *inputs, domain=DOMAIN, **attributes)

    add("FusedMatMul", _floats(2, 3, 4), _floats(2, 4, 5), alpha=0.5)
    add("FusedMatMul", _floats(2, 4, 3), _floats(2, 5, 4), transA=1, transB=1)
    add("FusedMatMul", _floats(3, 2, 4), _floats(2, 4, 5), transBatchA=1)
    add("FusedMatMul", _floats(4, 2, 3), _floats(4, 2, 5), transBatchA=1, transA=1, transBatchB=1)
    add("FusedMatMul", _floats(5, 2, 4), _floats(5, 2, 4), transBatchA=1, transBatchB=1, transB=1)
    add("FusedMatMul", _floats(4), _floats(4, 5))
    add("FusedMatMul", Feed(_floats(2, 3, 4), ["b", "s", 4]), const(_floats(5, 4)), transB=1)
    add("TransposeMatMul", _floats(4, 3), _floats(4, 5), transA=1, alpha=2.0)
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(
    ("activation", "parameters"),
    [
        ("Relu", {}),
        ("LeakyRelu", {"activation_alpha": 0.3}),
        ("Sigmoid", {}),
        ("Tanh", {}),
    ],
)
def test_gemm(activation, parameters):
    cases = Cases(opset=21, domains={DOMAIN: 1})
    a, b, c = _floats(3, 4), _floats(5, 4), _floats(5)
    cases.add(
        "FusedGemm", a, b, c, domain=DOMAIN,
        activation=activation, transB=1, alpha=0.5, beta=2.0, **parameters,
    )  # fmt: skip
    cases.add("FusedGemm", a, b, domain=DOMAIN, activation=activation, transB=1, **parameters)
    cases.compare_with_onnxruntime()


def test_forms_without_another_implementation():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x, w = _floats(2, 3, 4), _floats(4, 5)
    cases.add("GemmFastGelu", x, w, _floats(5), domain=DOMAIN)
    cases.add("FusedMatMulActivation", x, w, activation="Relu", domain=DOMAIN)
    cases.compare_compiled_with_evaluation()


def test_distances():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    cases.add("CDist", _floats(3, 4), _floats(5, 4), metric="euclidean", domain=DOMAIN)
    cases.add("CDist", _floats(3, 4), _floats(5, 4), metric="sqeuclidean", domain=DOMAIN)
    cases.compare_with_onnxruntime()


def test_refuses():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    cases.add("FusedGemm", _floats(2, 2), _floats(2, 2), activation="Swoosh", domain=DOMAIN)
    with pytest.raises(UnsupportedModelError, match="activation 'Swoosh'"):
        import_onnx(cases.model())
    cases = Cases(opset=21, domains={DOMAIN: 1})
    cases.add("CDist", _floats(2, 2), _floats(2, 2), metric="cosine", domain=DOMAIN)
    with pytest.raises(InvalidModelError, match="metric 'cosine'"):
        import_onnx(cases.model())
