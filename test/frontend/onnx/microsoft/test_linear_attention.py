"""Linear attention against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, compare, evaluate

import graphc
from graphc.cpu_model import CpuModel
from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx
from graphc.passes.pipelines import graph_pipeline

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _unit(*shape: int) -> np.ndarray:
    x = _floats(*shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def _add(cases: Cases, q, k, v, *rest, heads=(2, 2), **attributes) -> None:
    attributes |= {"q_num_heads": heads[0], "kv_num_heads": heads[1]}
    inputs = [q, k, v, *rest]
    cases.add("LinearAttention", *inputs, outputs=2, domain=DOMAIN, tolerance=2e-5, **attributes)


def test_rules():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    q, k, v = _floats(2, 5, 8), _unit(2, 5, 8), _floats(2, 5, 6)
    state = _floats(2, 2, 4, 3)
    decay, wide = -np.abs(_floats(2, 5, 2)), -np.abs(_floats(2, 5, 8))
    beta = np.abs(_floats(2, 5, 2))
    _add(cases, q, k, v, update_rule="linear")
    _add(cases, q, k, v, state, update_rule="linear", scale=0.3)
    _add(cases, q, k, v, state, decay, update_rule="gated")
    _add(cases, q, k, v, state, wide, update_rule="gated")
    _add(cases, q, k, v, state, None, beta, update_rule="delta")
    _add(cases, q, k, v, state, None, beta[..., :1].copy(), update_rule="delta")
    _add(cases, q, k, v, state, decay, beta)
    _add(cases, q, k, v, None, wide, beta)
    cases.compare_with_onnxruntime()


def test_heads_and_lengths():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    k, v, state = _unit(2, 5, 8), _floats(2, 5, 6), _floats(2, 2, 4, 3)
    decay, beta = -np.abs(_floats(2, 5, 2)), np.abs(_floats(2, 5, 2))
    _add(cases, _floats(2, 5, 16), k, v, state, decay, beta, heads=(4, 2))
    first = [x[:, :1].copy() for x in (_floats(2, 5, 16), k, v, decay, beta)]
    _add(cases, *first[:3], state, *first[3:], heads=(4, 2))
    dynamic = [Feed(x, ["b", "s", x.shape[2]]) for x in (_floats(2, 5, 8), k, v, decay, beta)]
    _add(cases, *dynamic[:3], Feed(state, ["b", 2, 4, 3]), *dynamic[3:])
    cases.compare_with_onnxruntime()


def test_windows_of_states():
    """ONNX Runtime has them on other devices; the last of them is the state."""
    cases = Cases(opset=21, domains={DOMAIN: 1})
    q, k, v = _floats(2, 3, 8), _unit(2, 3, 8), _floats(2, 3, 6)
    decay, beta = -np.abs(_floats(2, 3, 2)), np.abs(_floats(2, 3, 2))
    past = _floats(2, 2, 2, 4, 3)
    _add(cases, q, k, v, past, decay, beta, state_window=2)
    _add(cases, q, k, v, past[1], decay, beta)
    _add(cases, q, k, v, None, decay, beta, state_window=4)
    _add(cases, *(x[:, :1].copy() for x in (q, k, v)), None,
         *(x[:, :1].copy() for x in (decay, beta)))  # fmt: skip
    cases.compare_compiled_with_evaluation()
    y, two, same, last, _, four, _, first = evaluate(cases.model(), cases.feeds)
    np.testing.assert_allclose(y, same, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(two[1], last, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(four[0], 0)
    np.testing.assert_allclose(four[1], first, rtol=1e-5, atol=1e-6)


def test_kernel():
    """Blocks of columns, and parts of a vector; several readers of a state."""
    cases = Cases(opset=21, domains={DOMAIN: 1})
    for width, group in ((160, 1), (20, 3)):
        k, v = _unit(2, 3, 8), _floats(2, 3, 2 * width)
        state, q = _floats(2, 2, 4, width), _floats(2, 3, 8 * group)
        decay, beta = -np.abs(_floats(2, 3, 8)), np.abs(_floats(2, 3, 1))
        _add(cases, q, k, v, state, decay, beta, heads=(2 * group, 2))
    for vector_bits in (128, 512):
        pipeline = graph_pipeline("cpu", CpuModel(vector_bits))
        with graphc.compile(cases.model(), pipeline=pipeline, cache=False) as compiled:
            results = compiled.run(None, cases.feeds)
        expected = evaluate(cases.model(), cases.feeds)
        compare(results, expected, cases.outputs, dict.fromkeys(cases.outputs, 2e-5))


@pytest.mark.parametrize("rule", ["swoosh", "gated"])
def test_refuses(rule):
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x = _floats(2, 5, 8)
    _add(cases, x, x, x, update_rule=rule)
    with pytest.raises(InvalidModelError, match=f"update_rule '{rule}'"):
        import_onnx(cases.model())
