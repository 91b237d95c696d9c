"""Mixtures of experts with weights of few bits, against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, const

from graphc.errors import UnsupportedModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _bytes(*shape: int) -> np.ndarray:
    return _random.integers(0, 255, shape, np.uint8, endpoint=True)


def _layer(rows: int, columns: int, bits: int, block: int) -> list:
    """Weights, scales and biases of four experts."""
    shape = (4, rows, columns // block) if block else (4, rows)
    scales = _random.uniform(0.01, 0.02, shape).astype(np.float32)
    return [const(_bytes(4, rows, columns * bits // 8)), const(scales), const(_floats(4, rows))]


def _add(cases: Cases, *inputs, bits=4, **attributes) -> None:
    attributes |= {"expert_weight_bits": bits}
    cases.add("QMoE", *inputs, domain=DOMAIN, tolerance=1e-3, **attributes)


def test_against_onnxruntime():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x, router = _floats(5, 32), _floats(5, 4)
    swiglu = {"activation_type": "swiglu", "swiglu_fusion": 1, "swiglu_limit": 7.0}
    swiglu |= {"activation_alpha": 1.702, "activation_beta": 1.0}
    for block in (0, 16):
        form = {"k": 2, "normalize_routing_weights": 1}
        form |= {"block_size": block} if block else {}
        first = _layer(2 * 32, 32, 4, block)
        _add(cases, x, router, *first, *_layer(32, 32, 4, block), **form, **swiglu)
    _add(cases, x, router, *_layer(32, 32, 4, 0), *_layer(32, 32, 4, 0), k=1)
    _add(cases, x[:1], router[:1], *_layer(32, 32, 4, 0), *_layer(32, 32, 4, 0), k=2,
         normalize_routing_weights=1, activation_type="silu")  # fmt: skip
    own = np.abs(_floats(5, 4))
    for normalize in (0, 1):
        zeros = [const(_bytes(4, 16)), const(_bytes(4, 16)), None]
        _add(cases, x, router, *_layer(32, 32, 4, 0), *_layer(32, 32, 4, 0), None, None, None,
             *zeros, own, k=2, normalize_routing_weights=normalize)  # fmt: skip
    cases.compare_with_onnxruntime()


def test_other_numbers_of_bits():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x, router = _floats(5, 32), _floats(5, 4)
    _add(cases, x, router, *_layer(32, 32, 8, 0), *_layer(32, 32, 8, 0), bits=8)
    zeros = const(_bytes(4, 32, 1)), const(_bytes(4, 32, 1))
    layers = *_layer(32, 32, 2, 16), *_layer(32, 32, 2, 16), None, None, None
    _add(cases, x, router, *layers, *zeros, bits=2, block_size=16, k=2)
    cases.compare_with_onnxruntime()


def test_refuses():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    layers = *_layer(32, 32, 8, 0), *_layer(32, 32, 8, 0)
    _add(cases, _floats(5, 32), _floats(5, 4), *layers, use_sparse_mixer=1)
    with pytest.raises(UnsupportedModelError, match="use_sparse_mixer"):
        import_onnx(cases.model())
