"""Attention of few queries, without a cache of its own, by the kernel for caches."""

import numpy as np
import onnx.reference
from numerics import Cases, Feed, compare

import graphc


def test_forms_of_heads_and_masks():
    """Heads that share keys, masks for all heads or of each, and rows that see nothing."""
    random = np.random.default_rng(0)

    def floats(*shape):
        return random.standard_normal(shape, np.float32)

    cases = Cases(opset=23)
    q, k, v = floats(2, 4, 3, 8), floats(2, 4, 20, 8), floats(2, 4, 20, 16)
    cases.add("Attention", q, k, v)
    cases.add("Attention", q, k, v, floats(2, 4, 3, 20), scale=0.5)
    cases.add("Attention", q, k, v, random.random((3, 20)) < 0.5, is_causal=1)
    shared = [Feed(x[:, :2], ["b", 2, "t", x.shape[3]]) for x in (k, v)]
    cases.add("Attention", Feed(q, ["b", 4, 3, 8]), *shared)
    cases.add("Attention", q, k[:, :2], v[:, :2], floats(1, 1, 3, 20))
    cases.add("Attention", q, k[:, :2], v[:, :2], random.random((2, 4, 3, 20)) < 0.5)
    hidden = np.broadcast_to(np.arange(3)[:, None] != 1, (3, 20)).copy()
    model = cases.model()
    expected = onnx.reference.ReferenceEvaluator(model).run(None, cases.feeds)
    cases.add("Attention", q, k, v, hidden)
    cases.add("Attention", q, k, v, hidden[:, :1])
    model = cases.model()
    with graphc.compile(model, threads=2) as compiled:
        *found, blind, alike = compiled.run(None, cases.feeds)
        assert "8 x attend-to-cache" in str(compiled.report)
    compare(found, expected, cases.outputs[:-2], dict.fromkeys(cases.outputs, 1e-5))
    assert not blind[:, :, 1].any()
    assert blind[:, :, [0, 2]].all()
    np.testing.assert_array_equal(alike, blind)
