"""Tokens without padding: ONNX Runtime has them on other devices; against what they stand for."""

import numpy as np
import pytest
from numerics import Cases, Feed, compare, evaluate, run_compiled

from graphc.errors import ExecutionError, InvalidModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)
_LENGTHS = np.array([1, 2, 4], np.int32)
_SEEN = np.arange(4) < _LENGTHS[:, None]
_OFFSETS = np.array([[0, 4, 5, 8], [9, 10, 11, 1], [2, 3, 6, 7]], np.int32)
_ENDS = np.array([0, 1, 3, 7], np.int32)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _cases() -> Cases:
    return Cases(opset=21, domains={DOMAIN: 1})


def _check(cases: Cases, expected: list) -> None:
    tolerances = dict.fromkeys(cases.outputs, 2e-5)
    compare(evaluate(cases.model(), cases.feeds), expected, cases.outputs, tolerances)
    compare(run_compiled(cases.model(), cases.feeds), expected, cases.outputs, tolerances)


def test_padding_is_removed_and_restored():
    cases, x = _cases(), _floats(3, 4, 5)
    cases.add("RemovePadding", x, _LENGTHS, outputs=4, domain=DOMAIN)
    cases.add("RemovePadding", Feed(x, ["b", "s", 5]), Feed(_LENGTHS, ["b"]), outputs=4,
              domain=DOMAIN)  # fmt: skip
    cases.add("RestorePadding", Feed(x[_SEEN], ["t", 5]), Feed(_OFFSETS, ["b", "s"]), domain=DOMAIN)
    cases.add("RestorePadding", x[_SEEN], _OFFSETS, domain=DOMAIN)
    removed = [x[_SEEN], _OFFSETS, _ENDS, np.array([4], np.int32)]
    restored = np.where(_SEEN[..., None], x, 0)
    _check(cases, [*removed, *removed, restored, restored])


def test_lengths_are_checked():
    cases = _cases()
    cases.add("RemovePadding", _floats(3, 4, 5), _LENGTHS, outputs=4, domain=DOMAIN)
    for wrong in (5, -1):
        feeds = cases.feeds | {"RemovePadding_0_in1": np.array([1, wrong, 2], np.int32)}
        with pytest.raises(ExecutionError, match=r"a number of tokens is not within 0\.\.4"):
            run_compiled(cases.model(), feeds)


def _apart(q, k, v, bias, scale=None) -> np.ndarray:
    """Each sequence by itself."""
    results, heads = [], 2
    for row, length in enumerate(_LENGTHS):
        parts = [part[row, :length] for part in (q, k, v)]
        q_, k_, v_ = (part.reshape(length, heads, -1).swapaxes(0, 1) for part in parts)
        scores = q_ @ k_.swapaxes(1, 2) * (scale or q_.shape[-1] ** -0.5)
        scores = scores + (0 if bias is None else bias[0, :, :length, :length])
        e = np.exp(scores - scores.max(-1, keepdims=True))
        results.append((e / e.sum(-1, keepdims=True) @ v_).swapaxes(0, 1).reshape(length, -1))
    return np.concatenate(results)


def test_attention():
    cases, x, bias = _cases(), _floats(3, 4, 6), _floats(1, 2, 4, 4)
    weights, offset = _floats(6, 8 + 8 + 6), _floats(22)
    attributes = {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 6], "domain": DOMAIN}
    token_layout = (_OFFSETS, _ENDS)
    cases.add("PackedAttention", x[_SEEN], weights, offset, *token_layout, **attributes)
    cases.add("PackedAttention", Feed(x[_SEEN], ["t", 6]), weights, offset,
              Feed(_OFFSETS, ["b", "s"]), Feed(_ENDS, ["c"]), scale=0.3, **attributes)  # fmt: skip
    cases.add("PackedAttention", x[_SEEN], weights, offset, *token_layout, bias, **attributes)
    merged = np.split(x @ weights + offset, [8, 16], axis=-1)
    _check(cases, [_apart(*merged, None), _apart(*merged, None, 0.3),
                   _apart(*merged, bias)])  # fmt: skip


def test_multi_head_attention():
    cases, token_layout = _cases(), (_OFFSETS, _ENDS)
    q, k, v = _floats(3, 4, 8), _floats(3, 4, 8), _floats(3, 4, 8)
    bias = _floats(24)
    attributes = {"num_heads": 2, "domain": DOMAIN}
    name = "PackedMultiHeadAttention"
    cases.add(name, q[_SEEN], k[_SEEN], v[_SEEN], bias, *token_layout, **attributes)
    packed = np.stack([x[_SEEN].reshape(7, 2, 4) for x in (q, k, v)], axis=2)
    cases.add(name, packed, None, None, None, *token_layout, _floats(1, 2, 4, 4), **attributes)
    added = [x + each for x, each in zip((q, k, v), np.split(bias, 3), strict=True)]
    scores = cases.feeds[f"{name}_1_in6"]
    _check(cases, [_apart(*added, None), _apart(q, k, v, scores)])


def test_what_is_left_out():
    cases, q = _cases(), _floats(7, 8)
    cases.add("PackedMultiHeadAttention", q, None, None, None, _OFFSETS, _ENDS, num_heads=2,
              domain=DOMAIN)  # fmt: skip
    with pytest.raises(InvalidModelError, match="keys or values are left out"):
        import_onnx(cases.model())
