"""Fused attention of com.microsoft against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate, summable

from graphc.errors import InvalidModelError, UnsupportedModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _ints(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def _add(cases: Cases, *inputs: Any, op_type: str = "MultiHeadAttention", **attributes: Any):
    cases.add(op_type, *inputs, domain=DOMAIN, num_heads=2, tolerance=1e-5, **attributes)


def test_projected_attention():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x, weights, bias = _floats(2, 3, 6), const(_floats(6, 24)), const(_floats(24))

    def add(*inputs, **attributes):
        _add(cases, x, weights, bias, *inputs, op_type="Attention", **attributes)

    add()
    add(_ints(3, 2))
    add(_ints(3, 2, 0, 1))
    add(_ints([1, 1, 0], [1, 1, 1]), unidirectional=1)
    add(_ints([1, 1, 0], [1, 0, 1]), None, _floats(1, 2, 3, 3), scale=0.3)
    add((_random.random((2, 3, 3)) < 0.7).astype(np.int32), mask_filter_value=-20.0)
    add(None, _floats(2, 2, 2, 5, 4), outputs=2, unidirectional=1)
    add(_ints([1] * 8, [0] * 3 + [1] * 5), _floats(2, 2, 2, 5, 4), outputs=2)
    narrow = (const(_floats(6, 20)), const(_floats(20)))
    _add(cases, x, *narrow, op_type="Attention", qkv_hidden_sizes=[8, 8, 4])
    fed = Feed(x, ["b", "s", 6])
    _add(cases, fed, weights, bias, op_type="Attention", unidirectional=1)
    cases.compare_with_onnxruntime()


def test_quantized_projection():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x = _random.integers(0, 255, (2, 3, 8), np.uint8)
    bias = const(_floats(24))

    def add(dtype, *inputs, scales=(), **attributes):
        info = np.iinfo(dtype)
        weights = const(summable(_random.integers(info.min, info.max, (8, 24), dtype)))
        weight_scale = const(_random.uniform(0.002, 0.01, scales).astype(np.float32))
        given = (x, weights, bias, const(0.01), weight_scale, *inputs)
        _add(cases, *given, op_type="QAttention", **attributes)

    add(np.int8, None, const(120, np.uint8))
    add(np.uint8, _ints(3, 2), const(120, np.uint8), const(131, np.uint8), unidirectional=1)
    add(np.int8, _ints([1, 1, 0], [1, 1, 1]), const(7, np.uint8), scales=(24,))
    past = _floats(2, 2, 2, 5, 4)
    add(np.int8, None, const(120, np.uint8), const(3, np.int8), past, outputs=2, unidirectional=1)
    cases.compare_with_onnxruntime()


def test_multi_head_attention():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    q, k, v = _floats(2, 3, 8), _floats(2, 5, 8), _floats(2, 5, 8)
    _add(cases, q, k, v)
    _add(cases, q, k, v, _floats(24), scale=0.2)
    _add(cases, q, k, _floats(2, 5, 4))
    _add(cases, q, k, v, None, _ints(3, 5))
    _add(cases, q, k, v, None, _ints([1, 1, 0, 1, 1], [1, 1, 1, 0, 0]), mask_filter_value=-9.0)
    _add(cases, q, k, v, None, None, _floats(1, 2, 3, 5))
    _add(cases, q, q, q, None, None, _floats(2, 1, 3, 3), unidirectional=1)
    _add(cases, q, _floats(2, 2, 5, 4), _floats(2, 2, 5, 4))
    past = [_floats(2, 2, 4, 4), _floats(2, 2, 4, 4)]
    _add(cases, q, q, q, None, None, None, *past, outputs=3, unidirectional=1)
    _add(cases, q, q, q, None, _ints([1] * 7, [0, 1] * 3 + [1]), None, *past, outputs=3)
    _add(cases, q, q, q, None, None, _floats(1, 1, 3, 7), *past, outputs=3)
    _add(
        cases,
        q,
        q,
        q,
        None,
        _ints([1] * 7, [0, 1] * 3 + [1]),
        _floats(2, 2, 3, 7),
        *past,
        outputs=3,
    )
    fed = [Feed(array, ["b", 2, "past", 4]) for array in past]
    new = Feed(q, ["b", "s", 8])
    _add(cases, new, new, new, None, None, None, *fed, outputs=3, unidirectional=1)
    cases.compare_with_onnxruntime()


def test_a_buffer_of_keys():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    one = [_floats(2, 1, 8) for _ in range(3)]
    buffers = [_floats(2, 2, 6, 4), _floats(2, 2, 6, 4)]
    _add(cases, *one, None, None, None, *buffers, _ints(3), outputs=3)
    _add(
        cases, *one, None, None, *buffers, _ints(3), outputs=3,
        op_type="DecoderMaskedMultiHeadAttention", past_present_share_buffer=1,
    )  # fmt: skip
    _add(cases, _floats(2, 1, 8), *buffers, op_type="DecoderMaskedMultiHeadAttention")
    cases.compare_with_onnxruntime()


def test_packed_forms():
    """ONNX Runtime has them on other devices; the same as the parts."""
    cases = Cases(opset=21, domains={DOMAIN: 1})
    q, k, v = (_floats(2, 3, 2, 4) for _ in range(3))
    flat = [x.reshape(2, 3, 8) for x in (q, k, v)]
    _add(cases, np.stack([q, k, v], axis=3))
    _add(cases, flat[0], np.stack([k, v], axis=3))
    _add(cases, *flat)
    cases.compare_compiled_with_evaluation()
    every, pairs, parts = evaluate(cases.model(), cases.feeds)
    np.testing.assert_allclose(every, parts, rtol=1e-6)
    np.testing.assert_allclose(pairs, parts, rtol=1e-6)


_Q = _floats(2, 3, 32), _floats(2, 3, 16), _floats(2, 3, 16)


def _grouped(cases: Cases, *inputs: Any, outputs: int = 3, **attributes: Any) -> None:
    given = {"num_heads": 2, "kv_num_heads": 1, **attributes}
    cases.add(
        "GroupQueryAttention", *inputs, domain=DOMAIN, outputs=outputs, tolerance=1e-5, **given
    )


def test_grouped_prompts():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    angles = [_floats(10, 8), _floats(10, 8)]
    whole, short = (_ints(2, 2), const(np.int32(3))), (_ints(2, 1), const(np.int32(3)))
    buffers = [np.zeros((2, 1, 8, 16), np.float32)] * 2
    _grouped(cases, *_Q, None, None, *short)
    _grouped(cases, *_Q, *buffers, *short, *angles, do_rotary=1)
    _grouped(cases, _floats(2, 3, 64), None, None, None, None, *whole, *angles, do_rotary=1,
             rotary_interleaved=1)  # fmt: skip
    position_ids = np.int64([[0, 1, 2], [2, 3, 4]])
    _grouped(cases, *_Q, None, None, *whole, *angles, position_ids, do_rotary=1)
    bias = _floats(2, 2, 3, 3)
    _grouped(cases, *_Q, None, None, *whole, None, None, None, bias, scale=0.5)
    _grouped(cases, *_Q, None, None, *whole, None, None, None, None, _floats(2))
    _grouped(cases, *_Q, None, None, *whole, smooth_softmax=1)
    _grouped(cases, *_Q, None, None, *whole, local_window_size=2, softcap=2.0)
    _grouped(cases, *_Q, None, None, *whole, causal=0)
    for mode in (1, 2):
        _grouped(cases, *_Q, None, None, *whole, qk_output=mode, outputs=4)
    cases.compare_with_onnxruntime()


def test_grouped_queries_behind_a_cache():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    angles = [const(_floats(10, 8)), const(_floats(10, 8))]
    past = [_floats(2, 1, 4, 16), _floats(2, 1, 4, 16)]
    one = [x[:, :1] for x in _Q]
    lengths = (_ints(4, 3), const(np.int32(5)))
    _grouped(cases, *one, *past, *lengths)
    _grouped(cases, *one, *past, *lengths, *angles, do_rotary=1, local_window_size=3)
    buffers = [_floats(2, 1, 9, 16), _floats(2, 1, 9, 16)]
    _grouped(cases, *one, *buffers, *lengths, None, None, None, _floats(1, 2, 1, 5))
    several = [x[:1] for x in (*_Q, *past)]
    _grouped(cases, *several, _ints(6), const(np.int32(7)), *angles, do_rotary=1)
    fed = [Feed(x, ["b", "s", x.shape[2]]) for x in one]
    fed += [Feed(x, ["b", 1, "past", 16]) for x in past]
    _grouped(cases, *fed, Feed(_ints(4, 3), ["b"]), np.array(5, np.int32), *angles, do_rotary=1)
    cases.compare_with_onnxruntime()


def test_grouped_forms_behind_a_cache():
    """Masks, sinks, caps, windows and scores, in a cache of more rows than are in use."""
    cases = Cases(opset=21, domains={DOMAIN: 1})
    rows, used = np.arange(23).reshape(-1, 1), np.array([19, 6]).reshape(2, 1, 1, 1)
    buffers = [np.where(rows < used, _floats(2, 1, 23, 16), np.float32(0)) for _ in range(2)]
    one = [_floats(2, 1, 64), _floats(2, 1, 16), _floats(2, 1, 16), *buffers]
    some = [*(_floats(1, 3, x.shape[2]) for x in one[:3]), *(x[:1] for x in buffers)]

    def add(inputs, *more, **attributes):
        last = _ints(19, 6) if inputs is one else _ints(21)
        given = (*inputs, last, const(last[:1] + 1), None, None, None, *more)
        _grouped(cases, *given, num_heads=4, **attributes)

    add(one, None, _floats(4))
    add(one, _floats(2, 1, 1, 20), _floats(4), softcap=3.0)
    add(one, Feed(_floats(1, 4, 1, 20), ["m", 4, 1, "total"]), smooth_softmax=1)
    add(one, softcap=2.0, causal=0)
    add(some, _floats(1, 4, 3, 22), local_window_size=5)
    add(some, _floats(1, 1, 3, 22), _floats(4))
    add(some, causal=0)
    for mode in (1, 2):
        add(some, _floats(1, 4, 3, 22), qk_output=mode, outputs=4)
    cases.compare_with_onnxruntime()


def test_grouped_norms_of_queries_and_keys():
    """ONNX Runtime has them on other devices; the same with the norms before the attention."""
    cases = Cases(opset=21, domains={DOMAIN: 1})
    scales = [_floats(16), _floats(16)]
    lengths = (_ints(2, 2), const(np.int32(3)))
    _grouped(cases, *_Q, None, None, *lengths, *[None] * 7, *scales, outputs=1)

    def normed(x, scale):
        heads = x.reshape(2, 3, -1, 16)
        mean = np.mean(np.square(heads), axis=-1, keepdims=True)
        return (heads / np.sqrt(mean + 1e-6) * scale).reshape(x.shape)

    q, k = (normed(x, scale) for x, scale in zip(_Q, scales, strict=False))
    _grouped(cases, q, k, _Q[2], None, None, *lengths, outputs=1)
    first, second = evaluate(cases.model(), cases.feeds)
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("optional", "attributes", "missing"),
    [
        ({14: _floats(16)}, {}, "k_norm_weight"),
        ({15: _floats(16)}, {}, "q_norm_weight"),
        ({}, {"do_rotary": 1}, "cos_cache"),
        ({7: _floats(10, 8)}, {"do_rotary": 1}, "sin_cache"),
    ],
)
def test_grouped_queries_with_one_of_two_inputs(optional, attributes, missing):
    """A norm of queries alone was an error of Python's, one of keys alone was left out."""
    cases = Cases(opset=21, domains={DOMAIN: 1})
    inputs = [*_Q, None, None, _ints(2, 2), const(np.int32(3)), *[None] * 9]
    for position, value in optional.items():
        inputs[position] = value
    _grouped(cases, *inputs, outputs=1, **attributes)
    with pytest.raises(InvalidModelError, match=f"{missing} is left out"):
        import_onnx(cases.model())


@pytest.mark.parametrize(("position", "missing"), [(6, "past_value"), (7, "past_key")])
def test_a_past_of_keys_or_values_alone(position, missing):
    cases = Cases(opset=21, domains={DOMAIN: 1})
    inputs: list[Any] = [_floats(2, 3, 8), _floats(2, 3, 8), _floats(2, 3, 8), *[None] * 5]
    inputs[position] = _floats(2, 2, 5, 4)
    _add(cases, *inputs)
    with pytest.raises(InvalidModelError, match=f"{missing} is left out"):
        import_onnx(cases.model())


@pytest.mark.parametrize(
    ("op_type", "attributes", "error", "reason"),
    [
        ("Attention", {"do_rotary": 1}, UnsupportedModelError, "do_rotary"),
        ("Attention", {"qkv_hidden_sizes": [2, 2, 2]}, InvalidModelError, "in parts of"),
        ("MultiHeadAttention", {}, InvalidModelError, "values are left out"),
    ],
)
def test_refuses(op_type, attributes, error, reason):
    cases = Cases(opset=21, domains={DOMAIN: 1})
    _add(cases, _floats(2, 3, 6), _floats(6, 24), op_type=op_type, **attributes)
    with pytest.raises(error, match=reason):
        import_onnx(cases.model())
