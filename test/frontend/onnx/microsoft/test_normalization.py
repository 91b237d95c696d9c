"""Fused normalisations of com.microsoft against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


def _ids(bound: int, *shape: int) -> np.ndarray:
    return _random.integers(0, bound, shape).astype(np.int32)


def _select(cases: Cases, *outputs: str) -> None:
    """Ask the last node for the named outputs alone."""
    node = cases.nodes[-1]
    cases.outputs = [name for name in cases.outputs if name not in node.output]
    del node.output[:]
    node.output.extend(outputs)
    cases.outputs += [name for name in outputs if name]


def test_sums_normalised():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x, skip, scale, shift = _floats(2, 3, 8), _floats(2, 3, 8), _floats(8), _floats(8)
    cases.add("SkipLayerNormalization", x, skip, scale, shift, domain=DOMAIN)
    cases.add("SkipLayerNormalization", x, skip, scale, domain=DOMAIN, epsilon=0.1)
    cases.add("SkipLayerNormalization", x, skip, scale, shift, _floats(8), domain=DOMAIN)
    _select(cases, "y", "", "", "sum")
    cases.add("SkipLayerNormalization", x, _floats(1, 3, 8), scale, shift, domain=DOMAIN)
    cases.add("SkipLayerNormalization", x, _floats(3, 8), scale, shift, domain=DOMAIN)
    fed = [Feed(array, ["b", "s", 8]) for array in (x, skip)]
    cases.add("SkipLayerNormalization", *fed, const(scale), const(shift), domain=DOMAIN)
    cases.add("SkipSimplifiedLayerNormalization", x, skip, scale, domain=DOMAIN)
    cases.add("SkipSimplifiedLayerNormalization", x, skip, scale, _floats(8), domain=DOMAIN)
    _select(cases, "y1", "", "", "sum1")
    cases.add("SimplifiedLayerNormalization", x, scale, axis=-1, epsilon=1e-6)
    cases.add("SimplifiedLayerNormalization", x, _floats(3, 8), axis=1, outputs=2)
    cases.compare_with_onnxruntime()


def test_embeddings():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    words, positions, segments = _floats(20, 8), _floats(6, 8), _floats(2, 8)
    ids, parts, mask = _ids(20, 2, 4), _ids(2, 2, 4), np.int32([[1, 1, 1, 0], [1, 1, 0, 0]])
    tables, norm = (words, positions, segments), (_floats(8), _floats(8))
    embed = "EmbedLayerNormalization"
    cases.add(embed, ids, parts, *tables, *norm, mask, outputs=2, domain=DOMAIN)
    cases.add(embed, ids, None, words, positions, None, *norm, outputs=2, domain=DOMAIN)
    cases.add(
        embed, ids, parts, *tables, *norm, None, _ids(6, 2, 4), outputs=3,
        domain=DOMAIN, epsilon=0.01,
    )  # fmt: skip
    cases.compare_with_onnxruntime()


def test_quantized_embeddings():
    cases = Cases(opset=17, domains={DOMAIN: 1})
    ids, parts, mask = _ids(20, 2, 4), _ids(2, 2, 4), np.int32([[1, 1, 1, 0], [1, 1, 0, 0]])
    for dtype in (np.uint8, np.int8):
        shapes = ((20, 8), (6, 8), (2, 8), (8,), (8,))
        words, positions, segments, gamma, beta = (
            _random.integers(0, 100, shape).astype(dtype) for shape in shapes
        )
        scales = [np.array(s, np.float32) for s in (0.02, 0.03, 0.01, 0.04, 0.005)]
        zeros = [np.array(z, dtype) for z in (50, 3, 0, 10, 40)]
        cases.add("QEmbedLayerNormalization", ids, parts, words, positions, segments, gamma, beta,
                  mask, *scales, *zeros, outputs=2, domain=DOMAIN, tolerance=1e-5)  # fmt: skip
    scales[2] = zeros[2] = None
    cases.add("QEmbedLayerNormalization", Feed(ids, ["b", "s"]), None, words, positions, None,
              gamma, beta, None, *scales, *zeros, outputs=2, domain=DOMAIN,
              tolerance=1e-5)  # fmt: skip
    cases.compare_with_onnxruntime()


def test_runs_and_branches():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x = _floats(2, 3, 8)
    for activation in ("silu", "sigmoid"):
        attributes = {"activation": activation, "domain": DOMAIN}
        cases.add("GatedRMSNorm", x, _floats(4), _floats(2, 3, 8), **attributes)
    cases.add("BranchwiseRMSNorm", x, domain=DOMAIN)
    cases.add("BranchwiseRMSNorm", x, _floats(8), num_branches=2, domain=DOMAIN)
    cases.add("BranchwiseRMSNorm", x, _floats(4), num_branches=2, domain=DOMAIN)
    cases.add("BranchwiseRMSNorm", x, _floats(3, 8), epsilon=0.1, domain=DOMAIN)
    cases.compare_with_onnxruntime()


def test_group_normalization():
    """ONNX Runtime has these on other devices; the same in ONNX's own terms."""
    cases = Cases(opset=21, domains={DOMAIN: 1})
    x, scale, shift = _floats(2, 4, 5, 8), _floats(8), _floats(8)
    skip, bias = _floats(2, 8), _floats(8)
    norm = {"groups": 2, "domain": DOMAIN}
    cases.add("GroupNorm", x, scale, shift, activation=1, **norm)
    cases.add("SkipGroupNorm", x, scale, shift, skip, bias, activation=0, outputs=2, **norm)
    total = x + skip.reshape(2, 1, 1, 8) + bias
    for values in (x, total):
        cases.add("GroupNormalization", np.moveaxis(values, 3, 1), scale, shift, num_groups=2)
    cases.compare_compiled_with_evaluation()
    activated, plain, summed, first, second = evaluate(cases.model(), cases.feeds)
    first, second = np.moveaxis(first, 1, 3), np.moveaxis(second, 1, 3)
    np.testing.assert_allclose(activated, first / (1 + np.exp(-first)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(plain, second, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(summed, total, rtol=1e-6)


@pytest.mark.parametrize(
    ("op_type", "shapes", "attributes", "reason"),
    [
        ("GatedRMSNorm", [(2, 8), (3,), (2, 8)], {}, "a last axis of 8 in runs of 3"),
        ("GatedRMSNorm", [(2, 8), (4,), (2, 8)], {"activation": "relu"}, "activation 'relu'"),
        ("BranchwiseRMSNorm", [(2, 8)], {"num_branches": 3}, "8 elements in 3 branches"),
    ],
)
def test_refuses(op_type, shapes, attributes, reason):
    cases = Cases(opset=21, domains={DOMAIN: 1})
    cases.add(op_type, *(_floats(*shape) for shape in shapes), domain=DOMAIN, **attributes)
    with pytest.raises(InvalidModelError, match=reason):
        import_onnx(cases.model())
