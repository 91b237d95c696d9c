"""Attention and rotary embeddings against ONNX's reference evaluator and ONNX Runtime."""

import ml_dtypes
import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate, run_compiled
from onnx import helper

from graphc.errors import ExecutionError, InvalidModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)


def _floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


def _qkv(heads: int = 3, queries: int = 5, keys: int = 7, shared: int | None = None):
    """Queries, keys and values of rank 4."""
    shared = shared or heads
    return [
        _floats(2, heads, queries, 4), _floats(2, shared, keys, 4), _floats(2, shared, keys, 6)
    ]  # fmt: skip


def _compare(cases: Cases) -> None:
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_against_onnxruntime():
    cases = Cases(opset=23)
    cases.add("Attention", *_qkv())
    cases.add("Attention", *_qkv(), scale=1.0)
    cases.add("Attention", *_qkv(4, 6, 6, 2), is_causal=1)
    cases.add("Attention", *_qkv(), _floats(5, 7))
    cases.compare_with_onnxruntime()


def test_sizes_that_only_one_input_gives():
    cases = Cases(opset=23)
    for keys in (1, 7):
        q, k, v = _qkv(keys=keys)
        cases.add("Attention", Feed(q, [2, 3, "queries", 4]), Feed(k, [2, 3, "keys", 4]), v)
        cases.add("Attention", q, k, Feed(v, [2, 3, "keys", 6]))
    cases.compare_with_onnxruntime()


def test_masks():
    cases = Cases(opset=23)
    visible = _random.random((2, 1, 5, 7)) < 0.7
    cases.add("Attention", *_qkv(), visible)
    cases.add("Attention", *_qkv(), _floats(2, 3, 5, 7))
    cases.add("Attention", *_qkv(), _floats(3, 5, 7))
    cases.add("Attention", *_qkv(), _floats(5, 7), is_causal=1)
    cases.add("Attention", *_qkv(4, shared=2), visible, is_causal=1)
    cases.add("Attention", *_qkv(4, shared=2), _floats(2, 4, 5, 7))
    cases.add("Attention", *_qkv(4, shared=1), _floats(5, 7))
    _compare(cases)


def test_queries_that_see_no_key_give_zeros():
    cases = Cases(opset=23)
    visible = _random.random((2, 1, 5, 7)) < 0.7
    visible[0, 0, 2] = False
    hidden = np.where(visible, np.float32(0), np.float32(-np.inf))
    cases.add("Attention", *_qkv(), visible)
    cases.add("Attention", *_qkv(), hidden)
    cases.add("Attention", *_qkv(), visible, softcap=2.0)
    _compare(cases)


def test_the_lowest_float_hides_no_key_from_a_query_that_sees_no_other():
    """The results are those of ``softmax(scores + mask)``."""
    cases = Cases(opset=23)
    lowest = np.zeros((5, 7), np.float32)
    lowest[:, 4:] = np.finfo(np.float32).min
    lowest[2] = np.finfo(np.float32).min
    cases.add("Attention", *_qkv(), lowest)
    _compare(cases)


def test_heads_in_the_last_axis():
    cases = Cases(opset=23)
    q, k, v = _floats(2, 5, 12), _floats(2, 7, 12), _floats(2, 7, 18)
    heads = {"q_num_heads": 3, "kv_num_heads": 3}
    cases.add("Attention", q, k, v, **heads)
    cases.add("Attention", q, k[:, :, :4], v[:, :, :6], q_num_heads=3, kv_num_heads=1)
    feeds = [Feed(q, ["b", "s", 12]), Feed(k, ["b", "t", 12]), Feed(v, ["b", "t", 18])]
    cases.add("Attention", *feeds, is_causal=1, scale=1.0, **heads)
    cases.add("Attention", q, k, v, Feed(_floats(5, 7), ["u", "w"]), **heads)
    _compare(cases)


def test_key_cache():
    cases = Cases(opset=23)
    q, k, v = _qkv(queries=2, keys=2)
    past = [_floats(2, 3, 5, 4), _floats(2, 3, 5, 6)]
    cases.add("Attention", q, k, v, None, *past, outputs=3)
    cases.add("Attention", q, k, v, None, *past, outputs=3, is_causal=1)
    cases.add("Attention", q, k, v, _floats(2, 7), *past, outputs=3, is_causal=1)
    fed = [Feed(array, [2, 3, "past", array.shape[-1]]) for array in past]
    cases.add("Attention", q, k, v, None, *fed, outputs=3, is_causal=1)
    _compare(cases)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_key_cache_of_other_types(dtype):
    """Keys that grow, in all that is said of them, and one that is not full."""
    cases = Cases(opset=24)
    q, k, v = (x.astype(dtype) for x in _qkv(queries=2, keys=2))
    past = [Feed(_floats(2, 3, 20, x).astype(dtype), [2, 3, "past", x]) for x in (4, 6)]
    seen = _random.random((2, 1, 2, 22)) < 0.7
    cases.add("Attention", q, k, v, seen, *past, outputs=3, is_causal=1, softcap=2.0)
    cases.add("Attention", q, k, v, _floats(2, 22).astype(dtype), *past, outputs=3)
    long = (q, *(x.array for x in past), None, None, None, np.array([3, 20], np.int64))
    cases.add("Attention", *long, is_causal=1)
    cases.compare_compiled_with_evaluation()


def test_cache_that_is_not_full():
    cases = Cases(opset=24)
    filled = np.array([3, 7], np.int64)
    cases.add("Attention", *_qkv(), None, None, None, filled)
    cases.add("Attention", *_qkv(), None, None, None, filled, is_causal=1)
    cases.add("Attention", *_qkv(), _floats(5, 7), None, None, filled)
    _compare(cases)


def test_short_masks():
    cases = Cases(opset=24)
    cases.add("Attention", *_qkv(), _floats(5, 4))
    cases.add("Attention", *_qkv(), _random.random((5, 4)) < 0.8)
    _compare(cases)


def _named(qkv: list[np.ndarray]) -> list[Feed]:
    return [
        Feed(x, ["n", x.shape[1], length, x.shape[3]])
        for x, length in zip(qkv, ("s", "t", "t"), strict=True)
    ]


def test_short_masks_of_named_sizes():
    """Fewer keys, as many, or one, which hides the others."""
    for keys in (4, 7, 1):  # programs are equal, and compiled once
        cases = Cases(opset=24)
        cases.add("Attention", *_named(_qkv()), Feed(_floats(5, keys), ["s", "u"]))
        visible = _random.random((2, 1, 5, keys)) < 0.8
        mask = Feed(visible, ["n", "heads", "s", "u"])
        cases.add("Attention", *_named(_qkv(4, shared=2)), mask, is_causal=1)
        _compare(_with_known_sizes(cases))
        cases.compare_compiled_with_evaluation()


def test_a_short_mask_beside_a_cache():
    cases = Cases(opset=24)
    past = [Feed(_floats(2, 3, 6, size), [2, 3, "past", size]) for size in (4, 6)]
    q, k, v = _qkv(queries=2, keys=2)
    cases.add("Attention", q, k, v, Feed(_floats(2, 5), [2, "u"]), *past, outputs=3)
    _compare(_with_known_sizes(cases))
    cases.compare_compiled_with_evaluation()


def _with_known_sizes(cases: Cases) -> Cases:
    known = Cases(opset=cases.opset)
    known.nodes, known.outputs, known.feeds = cases.nodes, cases.outputs, cases.feeds
    for name, array in cases.feeds.items():
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        known.inputs.append(helper.make_tensor_value_info(name, kind, array.shape))
    return known


def test_masks_are_padded_or_cropped():
    """As the operator's function does it, from opset 24 on: ONNX Runtime 1.32 has kernels for
    opsets 23 and 24, which refuse other sizes than that of the keys, and runs the function at
    25."""
    cases = Cases(opset=25)
    for keys in (1, 4, 7, 9):
        mask = _floats(5, keys)
        mask[:, 0] = 0.5
        for dims in ([5, keys], [5, "u"]):
            cases.add("Attention", *_qkv(), Feed(mask, dims))
            cases.add("Attention", *_qkv(4, shared=2), Feed(mask > 0, dims))
    cases.compare_with_onnxruntime()


def test_a_mask_of_opset_23_broadcasts():
    """One for a single key is for all, whether its size is known or not; none is longer."""
    cases = Cases(opset=23)
    qkv, mask = _qkv(), _floats(5, 1)
    cases.add("Attention", *qkv, Feed(mask, [5, "u"]))
    cases.add("Attention", *qkv, mask)
    cases.add("Attention", *qkv, np.repeat(mask, 7, 1))
    results = list(run_compiled(cases.model(), cases.feeds))
    for result in results:
        np.testing.assert_allclose(result, results[2], 1e-5, 1e-5)
    cases = Cases(opset=23)
    cases.add("Attention", *_qkv(), Feed(_floats(5, 9), [5, "u"]))
    with pytest.raises(ExecutionError, match="the mask is for more keys than there are"):
        run_compiled(cases.model(), cases.feeds)


def test_softcap_and_scores():
    cases = Cases(opset=23)
    for mode, softcap in ((0, 0.0), (1, 1.5), (2, 1.5), (3, 1.5)):
        cases.add(
            "Attention", *_qkv(4, shared=2), _floats(5, 7), None, None,
            outputs=4, is_causal=1, softcap=softcap, qk_matmul_output_mode=mode,
        )  # fmt: skip
    cases.add("Attention", *_qkv(), softcap=3.0)
    cases.add("Attention", *_qkv(), outputs=4)
    _compare(cases)


def test_windows():
    cases = Cases(opset=25)
    cases.add("Attention", *_qkv(keys=6), left_window_size=2, is_causal=1)
    cases.add("Attention", *_qkv(keys=6), left_window_size=1, right_window_size=2)
    _compare(cases)


def test_sizes_and_types():
    cases = Cases(opset=23)
    for heads, queries, keys in [(2, 197, 197), (1, 1, 130), (2, 16, 1)]:
        q, k, v = _floats(1, heads, queries, 64), *(_floats(1, heads, keys, 64) for _ in range(2))
        cases.add("Attention", q, k, v, tolerance=5e-6)
    q, k, v = (x.astype(np.float16) for x in _qkv())
    cases.add("Attention", q, k, v, _floats(5, 7, dtype=np.float16), is_causal=1)
    cases.add("Attention", *(x.astype(np.float64) for x in _qkv()))
    cases.add("Attention", *(x.astype(ml_dtypes.bfloat16) for x in _qkv()))
    cases.add("Attention", *_qkv(keys=0))
    cases.compare_compiled_with_evaluation()


def test_values_and_masks_of_other_types():
    cases, same = Cases(opset=24), Cases(opset=24)
    q, k, v = _qkv()
    cases.add("Attention", q, k, v.astype(np.float16), outputs=3, tolerance=2e-3)
    same.add("Attention", q, k, v, outputs=3)
    mask = np.arange(35).reshape(5, 7) % 3
    for dtype in (np.int8, np.int64, np.float64):
        cases.add("Attention", q, k, v, mask.astype(dtype))
        same.add("Attention", q, k, v, mask.astype(np.float32))
    cases.compare_compiled_with_evaluation()
    evaluated = evaluate(cases.model(), cases.feeds)
    assert evaluated[2].dtype == np.float16
    for have, want in zip(evaluated, evaluate(same.model(), same.feeds), strict=True):
        np.testing.assert_allclose(have, want, atol=2e-3)


def test_rotary_embedding():
    cases = Cases(opset=23)
    positions = np.array([[0, 1, 2], [5, 6, 9]], np.int64)
    for interleaved in (0, 1):
        cos, sin = _floats(10, 4), _floats(10, 4)
        x = _floats(2, 4, 3, 8)
        cases.add("RotaryEmbedding", x, cos, sin, positions, interleaved=interleaved)
        cases.add(
            "RotaryEmbedding", _floats(2, 3, 32), cos, sin, positions,
            interleaved=interleaved, num_heads=4,
        )  # fmt: skip
        cases.add(
            "RotaryEmbedding", x, _floats(2, 3, 2), _floats(2, 3, 2),
            interleaved=interleaved, rotary_embedding_dim=4,
        )  # fmt: skip
        wide = _floats(2, 4, 3, 48)  # whole vectors, of which some are kept
        cases.add(
            "RotaryEmbedding", wide, _floats(2, 3, 16), _floats(2, 3, 16),
            interleaved=interleaved, rotary_embedding_dim=32,
        )  # fmt: skip
        cases.add(
            "RotaryEmbedding", Feed(x, ["b", 4, "s", 8]), const(cos), const(sin),
            Feed(positions, ["b", "s"]), interleaved=interleaved,
        )  # fmt: skip
    cases.add("RotaryEmbedding", x.astype(np.float16), *(_floats(2, 3, 4, dtype=np.float16),) * 2)
    _compare(cases)


@pytest.mark.parametrize(
    ("shapes", "attributes", "reason"),
    [
        ([(2, 5, 12)] * 3, {}, "q_num_heads"),
        ([(2, 3, 5, 4), (2, 3, 7, 5), (2, 3, 7, 4)], {}, "sizes of a query"),
        ([(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 8, 4)], {}, "numbers of keys"),
        ([(2, 3, 5, 4), (2, 2, 7, 4), (2, 2, 7, 4)], {}, "3 heads of queries share 2"),
        ([(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4), (5, 8)], {}, "masks do not broadcast"),
    ],
)
def test_refuses(shapes, attributes, reason):
    cases = Cases(opset=23)
    cases.add("Attention", *(_floats(*shape) for shape in shapes), **attributes)
    with pytest.raises(InvalidModelError, match=reason):
        import_onnx(cases.model())
