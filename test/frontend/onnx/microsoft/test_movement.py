"""Operators of com.microsoft that move data against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def test_against_onnxruntime():
    cases = Cases(opset=21, domains={DOMAIN: 1})

    def add(op_type, *inputs, **attributes):
        cases.add(op_type, *inputs, domain=DOMAIN, **attributes)

    x = _floats(3, 4)
    add("Trilu", x, const(1), upper=0)
    add("GatherND", x, const([[0, 1], [2, 3]]))
    add("ExpandDims", x, const(np.int32(-1)))
    add("Range", const(np.int32(2)), const(np.int32(9)))
    add("Range", const(np.float32(1)), const(np.float32(2)), const(np.float32(0.25)))
    add("Pad", x, const([0, 1, 0, 2]), const(7.0))
    add("Pad", x, const([[0, 1, 0, 2]]), mode="edge")
    add("UnfoldTensor", _floats(2, 7, 3), dim=1, size=3, step=2)
    add("UnfoldTensor", _floats(2, 7), size=2)
    add("UnfoldTensor", Feed(_floats(2, 7), ["b", "l"]), size=3, step=2)
    add("Unique", np.float32([2, 1, 1, 3, 4, 3]), outputs=3)
    ids = np.int64([[1, 2, 3, 1, 2], [4, 4, 4, 0, 4]])
    add("NGramRepeatBlock", Feed(ids, ["b", 5]), Feed(_floats(2, 6), ["b", "v"]), ngram_size=3)
    add("NGramRepeatBlock", Feed(ids, ["b", "l"]), _floats(2, 6), ngram_size=3)
    add("NGramRepeatBlock", Feed(ids[:, :1].copy(), ["b", "one"]), _floats(2, 6), ngram_size=3)
    add("NGramRepeatBlock", ids, _floats(2, 6), ngram_size=2)
    add("NGramRepeatBlock", ids, _floats(2, 6), ngram_size=6)
    cases.compare_with_onnxruntime()


def test_complex_products():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    a, b = _floats(2, 3, 2), _floats(3, 2)
    cases.add("ComplexMul", a, b, domain=DOMAIN)
    cases.add("ComplexMulConj", a, b, domain=DOMAIN)
    cases.compare_compiled_with_evaluation()
    wide = [x[..., 0] + 1j * x[..., 1] for x in (a, b)]
    wanted = [wide[0] * wide[1], wide[0] * wide[1].conj()]
    for have, want in zip(evaluate(cases.model(), cases.feeds), wanted, strict=True):
        np.testing.assert_allclose(have, np.stack([want.real, want.imag], -1), rtol=1e-5)


def test_refuses():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    cases.add("UnfoldTensor", _floats(2, 3), size=4, domain=DOMAIN)
    with pytest.raises(InvalidModelError, match="windows of 4"):
        import_onnx(cases.model())
