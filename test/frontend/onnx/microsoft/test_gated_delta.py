"""GatedDeltaNet: ONNX Runtime has it on other devices; against its recurrence."""

import numpy as np
import pytest
from numerics import Cases, Feed, compare, evaluate, run_compiled

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + np.float32(1e-6))


def _recurrence(q, k, v, decay, beta, state) -> tuple[np.ndarray, np.ndarray]:
    """``[B, S, H, D]`` and a state ``[B, H, E, D]``."""
    count = v.shape[2] // q.shape[2]
    q, k = (np.repeat(x, count, axis=2) for x in (q, k))
    state, rows = state.swapaxes(2, 3), []
    decay = decay if decay.ndim == 4 else decay[..., None]
    for t in range(q.shape[1]):
        state = state * np.exp(decay[:, t])[..., None]
        error = v[:, t] - np.einsum("bhde,bhd->bhe", state, k[:, t])
        state = state + np.einsum("bhd,bhe->bhde", k[:, t], beta[:, t, :, None] * error)
        rows.append(np.einsum("bhde,bhd->bhe", state, q[:, t]) * q.shape[-1] ** -0.5)
    return np.stack(rows, axis=1), state.swapaxes(2, 3)


_Q, _K, _V = _floats(2, 3, 2, 4), _unit(_floats(2, 3, 2, 4)), _floats(2, 3, 4, 5)
_STATE = _floats(2, 4, 5, 4)
_RAW, _BETA = _floats(2, 3, 4), _floats(2, 3, 4)


def _tokens(x: np.ndarray) -> np.ndarray:
    return x.reshape(6, *x.shape[2:])


def test_recurrence():
    cases, expected = Cases(opset=21, domains={DOMAIN: 1}), []
    decay, beta, wide = -np.abs(_RAW), np.abs(_BETA), -np.abs(_floats(2, 3, 4, 4))
    name, attributes = "GatedDeltaNet", {"outputs": 2, "domain": DOMAIN}
    operands = (_Q, _K, _V, None)
    cases.add(name, *operands, decay, beta, _STATE, **attributes)
    expected += _recurrence(_Q, _K, _V, decay, beta, _STATE)
    cases.add(name, *operands, wide, beta, **attributes)
    expected += _recurrence(_Q, _K, _V, wide, beta, np.zeros_like(_STATE))
    flat = [Feed(_tokens(x), [6, *x.shape[2:]]) for x in (_Q, _K, _V)]
    cases.add(name, *flat, None, _tokens(decay), _tokens(beta), _STATE, **attributes)
    y, state = _recurrence(_Q, _K, _V, decay, beta, _STATE)
    expected += [_tokens(y), state]
    packed = np.concatenate([_tokens(x).reshape(6, -1) for x in (_Q, _K, _V)], axis=1)
    cases.add(name, packed, None, None, None, _tokens(decay), _tokens(beta), _STATE, **attributes)
    expected += [_tokens(y), state]
    dynamic = [Feed(x, ["b", "s", *x.shape[2:]]) for x in (_Q, _K, _V)]
    gates = [Feed(x, ["b", "s", 4]) for x in (decay, beta)]
    cases.add(name, *dynamic, None, *gates, Feed(_STATE, ["b", 4, 5, 4]), **attributes)
    expected += [y, state]
    tolerances = dict.fromkeys(cases.outputs, 2e-5)
    compare(evaluate(cases.model(), cases.feeds), expected, cases.outputs, tolerances)
    compare(run_compiled(cases.model(), cases.feeds), expected, cases.outputs, tolerances)


def test_gates_are_prepared():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    a_log, bias, raw = _floats(4), _floats(4), _K * 3
    cases.add(
        "GatedDeltaNet", _Q, raw, _V, None, _RAW, _BETA, _STATE, a_log, bias, outputs=2,
        gate_activation="qwen", beta_activation="sigmoid", qk_l2_norm=1, domain=DOMAIN,
    )  # fmt: skip
    decay = -np.exp(a_log) * np.log1p(np.exp(_RAW + bias))
    expected = _recurrence(_unit(_Q), _unit(raw), _V, decay, 1 / (1 + np.exp(-_BETA)), _STATE)
    tolerances = dict.fromkeys(cases.outputs, 2e-5)
    compare(evaluate(cases.model(), cases.feeds), expected, cases.outputs, tolerances)
    compare(run_compiled(cases.model(), cases.feeds), expected, cases.outputs, tolerances)


@pytest.mark.parametrize(
    ("inputs", "attributes", "error", "message"),
    [
        ([_Q, None, _V], {}, InvalidModelError, "keys, values, or the state"),
        ([_Q, _K[:, :, :1], _V], {}, InvalidModelError, "queries and keys differ in heads"),
        ([_tokens(_Q), _tokens(_K), _tokens(_V)], {}, InvalidModelError, "how many sequences"),
        ([_Q, _K, _V[:, :, :3]], {}, InvalidModelError, "3 heads of values share 2"),
        ([_Q, _K, _V], {}, InvalidModelError, "update_rule 'gated_delta' without its operands"),
        ([_Q, _K, _V, np.zeros(3, np.int32)], {}, UnsupportedModelError, "several lengths"),
        ([_Q, _K, _V], {"state_update_capacity": 2}, UnsupportedModelError, "compact updates"),
    ],
)
def test_what_is_refused(inputs, attributes, error, message):
    cases = Cases(opset=21, domains={DOMAIN: 1})
    cases.add("GatedDeltaNet", *inputs, domain=DOMAIN, **attributes)
    with pytest.raises(error, match=message):
        import_onnx(cases.model())
