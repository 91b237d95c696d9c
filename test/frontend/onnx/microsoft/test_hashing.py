"""Hashes against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"


def test_hashes():
    cases = Cases(opset=17, domains={DOMAIN: 1})
    x = np.array([0, 1, 2, -1, 123456789, -(2**31)])
    for dtype in (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64):
        cases.add("MurmurHash3", x.astype(dtype), domain=DOMAIN)
        cases.add("MurmurHash3", x.astype(dtype), domain=DOMAIN, positive=0, seed=42)
    cases.add("MurmurHash3", Feed(np.array([[2**40, -5]]), ["a", 2]), domain=DOMAIN)
    cases.compare_with_onnxruntime()


def test_types_that_have_no_hash():
    cases = Cases(opset=17, domains={DOMAIN: 1})
    cases.add("MurmurHash3", np.zeros(3, np.int8), domain=DOMAIN)
    with pytest.raises(InvalidModelError, match="no hash of int8"):
        import_onnx(cases.model())
