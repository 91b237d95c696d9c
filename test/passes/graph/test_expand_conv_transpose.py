"""Transposed convolutions by the convolution kernels, against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Const, Feed, compare, run_onnxruntime

import graphc
from harness.marks import long

RNG = np.random.default_rng(0)

FORMS = {
    "as many taps as strides": ((9, 7), (16, 32, 2, 2), {"strides": [2, 2]}),
    "borders cut off": ((9, 7), (16, 32, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "fewer taps for some results": (
        (9, 7), (16, 32, 3, 3),
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
    ),
    "more cut off than taps reach": ((20,), (16, 24, 7), {"strides": [3], "pads": [9, 9]}),
    "fewer taps than strides": (
        (4, 5), (8, 16, 2, 2), {"strides": [3, 3], "output_padding": [1, 2]}
    ),
    "a stride along one axis": ((6, 9), (16, 32, 1, 2), {"strides": [1, 2]}),
    "groups": (
        (9, 7), (16, 8, 5, 3), {"strides": [3, 2], "pads": [4, 0, 1, 2], "group": 4}
    ),
    "depthwise": ((9, 7), (32, 1, 4, 4), {"strides": [2, 2], "group": 32}),
    "dilations without strides": (
        (9, 7), (16, 16, 3, 3), {"pads": [4, 1, 2, 1], "dilations": [3, 2]}
    ),
    "three axes": (
        (4, 5, 6), (8, 16, 3, 3, 3), {"strides": [2, 1, 2], "pads": [1] * 6}
    ),
}  # fmt: skip


@pytest.mark.parametrize("named", [long(False), True])
def test_forms(named):
    cases = Cases()
    for sizes, kernel, attributes in FORMS.values():
        x = RNG.standard_normal((2, kernel[0], *sizes)).astype(np.float32)
        weights = RNG.standard_normal(kernel).astype(np.float32) / kernel[0]
        bias = RNG.standard_normal(kernel[1] * attributes.get("group", 1)).astype(np.float32)
        names = ["n", kernel[0], *(f"d{axis}" for axis in range(len(sizes)))]
        feed = Feed(x, names) if named else x
        cases.add("ConvTranspose", feed, Const(weights), Const(bias), **attributes)
    model = cases.model()
    with graphc.compile(model, threads=2) as compiled:
        assert compiled.report.rewrites["expand-conv-transpose"].count == len(FORMS)
        # without strides, nothing moves
        assert compiled.report.rewrites["elementwise-before-interleaving"].count == len(FORMS) - 1
        found = compiled.run(None, dict(cases.feeds))
    expected = run_onnxruntime(model, cases.feeds)
    tolerances = dict.fromkeys(cases.outputs, 1e-5)
    compare(found, expected, cases.outputs, tolerances)
