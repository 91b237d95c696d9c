"""Activations and elementwise operators of com.microsoft against ONNX Runtime."""

import math

import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate

from graphc.errors import UnsupportedModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


def test_against_onnxruntime():
    cases = Cases(opset=21, domains={DOMAIN: 1})

    def add(op_type, *inputs, **attributes):
        cases.add(op_type, *inputs, domain=DOMAIN, **attributes)

    x = _floats(2, 3, 8)
    add("Gelu", x)
    add("FastGelu", x)
    add("FastGelu", Feed(x, ["b", 3, 8]), _floats(8))
    add("BiasGelu", x, const(_floats(8)))
    add("QuickGelu", x)
    add("QuickGelu", x, alpha=0.5)
    add("ScaledSiLU", x, alpha=0.7)
    add("ScaledSiLU", x.astype(np.float16), np.array(1.3, np.float32))
    add("GatedAdd", x, _floats(2, 3, 8), _floats(2, 3, 1))
    add("LinearAttentionGate", x, _floats(8), -np.abs(_floats(8)))
    add("LinearAttentionGate", x, _floats(8), -np.abs(_floats(8)), _floats(2, 3, 8), outputs=2)
    cases.compare_with_onnxruntime()


def test_operators_that_onnxruntime_has_on_other_devices():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x, bias, skip = _floats(2, 3, 8), _floats(8), _floats(2, 3, 8)
    cases.add("BiasSplitGelu", x, bias, domain=DOMAIN)
    cases.add("BiasAdd", x, bias, skip, domain=DOMAIN)
    cases.add("BiasDropout", x, bias, skip, domain=DOMAIN)
    cases.add("BiasDropout", x, bias, None, const(0.5), outputs=2, domain=DOMAIN)
    cases.add("BiasSoftmax", x, _floats(2, 1, 8), axis=2, is_inner_broadcast=0, domain=DOMAIN)
    cases.add("BiasSoftmax", x, _floats(2, 8), axis=2, is_inner_broadcast=1, domain=DOMAIN)
    cases.add("IsAllFinite", x, bias, domain=DOMAIN)
    cases.add("IsAllFinite", np.float32([1, np.inf]), isnan_only=1, domain=DOMAIN)
    cases.add("IsAllFinite", np.float32([1, np.nan]), np.float32(2), domain=DOMAIN)
    cases.compare_compiled_with_evaluation()
    split, added, dropped, plain, mask, *_, fine, infinite, odd = evaluate(
        cases.model(), cases.feeds
    )
    left, right = np.split(x + bias, 2, axis=-1)
    gelu = [v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in right.ravel().tolist()]
    np.testing.assert_allclose(split, left * np.reshape(gelu, left.shape), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(added, x + bias + skip, rtol=1e-6)
    np.testing.assert_allclose(dropped, x + bias + skip, rtol=1e-6)
    np.testing.assert_allclose(plain, x + bias, rtol=1e-6)
    assert mask.all()
    assert (fine.item(), infinite.item(), odd.item()) == (True, True, False)


def test_refuses_training():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    cases.add("BiasDropout", _floats(2), _floats(2), None, None, const(True), domain=DOMAIN)
    with pytest.raises(UnsupportedModelError, match="training mode"):
        import_onnx(cases.model())
