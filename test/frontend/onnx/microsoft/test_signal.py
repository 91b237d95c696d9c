"""Fourier transforms: ONNX Runtime has them on other devices; against numpy's."""

import numpy as np
import pytest
from numerics import Cases, Feed, compare, evaluate, run_compiled

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def test_transforms_of_real_signals():
    cases, expected = Cases(opset=17, domains={DOMAIN: 1}), []
    for shape in ((3, 8), (2, 3, 16), (6,)):
        x = _random.standard_normal(shape).astype(np.float32)
        y = np.fft.rfft(x)
        parts = np.stack([y.real, y.imag], axis=-1).astype(np.float32)
        cases.add("Rfft", x, signal_ndim=1, domain=DOMAIN)
        cases.add("Irfft", parts, signal_ndim=1, domain=DOMAIN)
        expected += [parts, x]
    cases.add("Rfft", Feed(x.reshape(1, 6), ["n", 6]), domain=DOMAIN)
    expected.append(expected[-2].reshape(1, 4, 2))
    tolerances = dict.fromkeys(cases.outputs, 1e-5)
    compare(evaluate(cases.model(), cases.feeds), expected, cases.outputs, tolerances)
    compare(run_compiled(cases.model(), cases.feeds), expected, cases.outputs, tolerances)


def test_attributes_are_checked():
    cases = Cases(opset=17, domains={DOMAIN: 1})
    cases.add("Rfft", np.zeros((3, 8), np.float32), onesided=0, domain=DOMAIN)
    with pytest.raises(InvalidModelError, match="normalized must be 0, and onesided 1"):
        import_onnx(cases.model())
