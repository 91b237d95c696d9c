"""Mixtures of experts against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _layers(fused: int = 1) -> list:
    """Weights and biases of four experts of width 8, 16 inside."""
    first = [const(_floats(4, 16 * fused, 8)), const(_floats(4, 16 * fused))]
    return [*first, const(_floats(4, 8, 16)), const(_floats(4, 8))]


def _add(cases: Cases, *inputs, **attributes) -> None:
    cases.add("MoE", *inputs, domain=DOMAIN, tolerance=2e-5, **attributes)


def test_against_onnxruntime():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x, router = _floats(5, 8), _floats(5, 4)
    _add(cases, x, router, *_layers(), k=2)
    _add(cases, x, router, *_layers(), k=1, activation_type="gelu")
    _add(cases, x, router, *_layers(), k=2, normalize_routing_weights=1, activation_type="silu")
    _add(cases, x.reshape(1, 5, 8)[:, :1], router[:1], *_layers(), k=2)
    swiglu = {"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1}
    _add(cases, x, router, *_layers(2), **swiglu)
    limits = {"swiglu_limit": 0.7, "activation_alpha": 1.702, "activation_beta": 1.0}
    _add(cases, x, router, *_layers(2), **swiglu, **limits)
    _add(cases, Feed(x, ["t", 8]), Feed(router, ["t", 4]), *_layers(), k=2)
    cases.compare_with_onnxruntime()


def test_a_third_layer():
    """ONNX Runtime has it on other devices; fused halves are the same."""
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x, router = _floats(5, 8), _floats(5, 4)
    (w1, b1, w2, b2), (w3, b3, *_) = ([c.array for c in _layers()] for _ in range(2))
    kind = {"k": 2, "activation_type": "swiglu"}
    _add(cases, x, router, w1, b1, w2, b2, w3, b3, **kind)
    joined = [np.concatenate(pair, axis=1) for pair in ((w1, w3), (b1, b3))]
    _add(cases, x, router, *joined, w2, b2, swiglu_fusion=2, **kind)
    _add(cases, x, router, w1, b1, w2, b2, w3, b3, k=2, activation_type="silu")
    cases.compare_compiled_with_evaluation()
    apart, fused, gated = evaluate(cases.model(), cases.feeds)
    np.testing.assert_allclose(apart, fused, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(apart, gated, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "error", "reason"),
    [
        ({"use_sparse_mixer": 1}, UnsupportedModelError, "use_sparse_mixer"),
        ({"activation_type": "swoosh"}, UnsupportedModelError, "activation 'swoosh'"),
        ({"activation_type": "swiglu"}, InvalidModelError, "needs fc3_experts_weights"),
    ],
)
def test_refuses(attributes, error, reason):
    cases = Cases(opset=21, domains={DOMAIN: 1})
    _add(cases, _floats(5, 8), _floats(5, 4), *_layers(), **attributes)
    with pytest.raises(error, match=reason):
        import_onnx(cases.model())
