"""Hyper-connections, gates and causal convolutions of com.microsoft against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _cases() -> Cases:
    return Cases(opset=21, domains={DOMAIN: 1})


def test_against_onnxruntime():
    cases = _cases()

    def add(op_type, *inputs, **attributes):
        cases.add(op_type, *inputs, domain=DOMAIN, tolerance=1e-5, **attributes)

    streams, block = _floats(2, 5, 3, 8), _floats(2, 5, 8)
    add("HyperConnectionPreMix", streams, _floats(2, 5, 3))
    add("HyperConnectionPreMix", streams, _floats(2, 5, 3, 8), reduction_scale=0.5)
    add("HyperConnectionPreMix", _floats(2, 5, 24), _floats(2, 5, 24), num_branches=3)
    add("HyperConnectionPostMix", streams, block, _floats(2, 5, 3), _floats(2, 5, 3, 3))
    add("HyperConnectionPostMix", _floats(2, 5, 24), block, _floats(2, 5, 3, 1), num_branches=3)
    gate = (_floats(2, 5, 3, 8), _floats(2, 5, 3, 8), block, _floats(3, 8), _floats(3, 8))
    add("EngramGate", *gate)
    add("EngramGate", *gate, _floats(3, 8), outputs=2, epsilon=0.01)
    x, weight, bias = _floats(2, 6, 5), const(_floats(6, 1, 3)), const(_floats(6))
    add("CausalConvWithState", x, weight, outputs=2)
    add("CausalConvWithState", x, weight, bias, _floats(2, 6, 2), outputs=2, activation="silu")
    add("CausalConvWithState", x, weight, bias, _floats(2, 6, 4), outputs=2, dilation=2)
    last = (_floats(2, 5, 2, 3), weight, bias, _floats(2, 2, 2, 3))
    add("CausalConvWithState", *last, outputs=2, channels_last=1)
    add("CausalConvWithState", Feed(x, ["b", 6, "l"]), weight, bias, outputs=2)
    cases.compare_with_onnxruntime()


def test_angles_given():
    """ONNX Runtime has it on other devices."""
    cases = _cases()
    emb = _floats(2, 5, 4)
    q, q_rot, k, k_rot = (_floats(2, 3, 5, 4) for _ in range(4))
    cases.add("GemmaRotaryEmbedding", emb, q, q_rot, k, k_rot, outputs=2, domain=DOMAIN)
    cos, sin = np.cos(emb)[:, None], np.sin(emb)[:, None]
    for have, x, rotated in zip(
        evaluate(cases.model(), cases.feeds), (q, k), (q_rot, k_rot), strict=True
    ):
        np.testing.assert_allclose(have, x * cos + rotated * sin, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("attributes", "error", "reason"),
    [
        ({"ndim": 2}, UnsupportedModelError, "ndim=2"),
        ({"activation": "relu"}, InvalidModelError, "activation 'relu'"),
    ],
)
def test_refuses(attributes, error, reason):
    cases = _cases()
    x, weight = _floats(2, 6, 5), _floats(6, 1, 3)
    cases.add("CausalConvWithState", x, weight, outputs=2, domain=DOMAIN, **attributes)
    with pytest.raises(error, match=reason):
        import_onnx(cases.model())
