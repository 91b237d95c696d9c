"""Optimizers against ONNX's reference evaluator."""

import numpy as np
import pytest
from numerics import Cases

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)
_DOMAIN = "ai.onnx.preview.training"


def _normal(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


def _cases() -> Cases:
    return Cases(opset=21, domains={_DOMAIN: 1})


def _add(cases: Cases, op_type: str, kept: int, updates: int, dtype: type, **attributes) -> None:
    """A node that updates two tensors, of which `kept` more tensors each are kept."""
    shapes = ((3, 4), (5,))
    given = [_normal(*shape, dtype=dtype) for _ in range(2) for shape in shapes]
    given += [np.abs(_normal(*shape, dtype=dtype)) for _ in range(kept) for shape in shapes]
    rate, count = np.array(0.1, np.float32), np.array(updates, np.int64)
    outputs = 2 * (1 + kept)
    cases.add(op_type, rate, count, *given, outputs=outputs, domain=_DOMAIN, **attributes)


def test_optimizers():
    cases = _cases()
    for updates in (0, 3):
        _add(cases, "Adagrad", 1, updates, np.float32, decay_factor=0.1, norm_coefficient=0.01)
        _add(cases, "Adam", 2, updates, np.float32, norm_coefficient=0.01)
        for mode in ("standard", "nesterov"):
            _add(cases, "Momentum", 1, updates, np.float32,
                 alpha=0.9, beta=0.7, mode=mode, norm_coefficient=0.001)  # fmt: skip
    _add(cases, "Adam", 2, 5, np.float32, alpha=0.5, beta=0.9, norm_coefficient_post=0.1)
    _add(cases, "Adagrad", 1, 2, np.float64, epsilon=0.5)
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_what_is_refused():
    cases = _cases()
    rate, updates = np.array(0.1, np.float32), np.array(0, np.int64)
    cases.add("Adagrad", rate, updates, _normal(2), _normal(2), outputs=2, domain=_DOMAIN)
    with pytest.raises(InvalidModelError, match="2 tensors do not make groups of 3"):
        import_onnx(cases.model())
    cases = _cases()
    _add(cases, "Momentum", 1, 0, np.float32, alpha=1.0, beta=1.0, mode="x", norm_coefficient=0.0)
    with pytest.raises(UnsupportedModelError, match="mode 'x'"):
        import_onnx(cases.model())
