"""Winograd's convolution gives the numbers of the convolutions it replaces."""

from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
from convolution_models import ConvCase, convolution_model

import graphc
from graphc.cpu_model import CpuModel
from graphc.dialects import graph
from graphc.dialects.symbolic import Dim
from graphc.passes.analysis.assumed_sizes import assumed_sizes
from graphc.passes.cpu import winograd
from harness.marks import long

PIPELINE = (
    "graph-convert-layout,graph-fold-constants,canonicalize,"
    "graph-winograd{{vector-bits={} tile={}}},graph-fuse-epilogue,canonicalize"
)

CASES = [
    ConvCase((1, 16, 9, 14), (64, 16, 3, 3), "relu", (("pads", [1, 1, 1, 1]),)),
    ConvCase((2, 32, 8, 8), (16, 32, 3, 3), "residual", (("pads", [1] * 4),)),
    ConvCase((1, 48, 7, 31), (48, 48, 3, 3), "bias", (("pads", [0, 2, 3, 1]),)),
    ConvCase((3, 16, 3, 3), (32, 16, 3, 3), "hard_swish"),
    ConvCase((1, 16, 30, 5), (96, 16, 3, 3), "sigmoid", (("pads", [2, 0, 2, 0]),)),
    ConvCase((2, 64, 4, 6), (32, 64, 3, 3), "residual"),
    ConvCase((1, 64, 9, 6), (96, 32, 3, 3), "relu", (("pads", [1] * 4), ("group", 2))),
    ConvCase((2, 48, 5, 11), (48, 16, 3, 3), "bias", (("pads", [1] * 4), ("group", 3))),
    ConvCase((1, 16, 500, 390), (16, 16, 3, 3), "bias", (("pads", [1] * 4),)),
]
"""Sizes that tiles divide, and sizes that they do not, from one pixel up to more blocks than there
are workgroups."""


@pytest.mark.parametrize(
    ("vector_bits", "tile", "cases"),
    [
        long(128, 4, CASES[::2]),
        long(256, 2, CASES[1::2]),
        (512, 4, CASES),
        long(512, 2, CASES[::2]),
    ],
)
def test_compiled(vector_bits, tile, cases, monkeypatch):
    """Each case with the longest vectors, with shorter ones, and with both tiles."""
    monkeypatch.setattr(winograd, "GAIN", 0)  # also where it does not pay
    model, feeds = convolution_model(cases, vector_bits)
    expected = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    ).run(None, feeds)
    compiled = graphc.compile(model, pipeline=PIPELINE.format(vector_bits, tile))
    assert compiled.report.rewrites["winograd-conv"].count == len(cases)
    for ours, theirs in zip(compiled.run(None, feeds), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


NAMED_CASES = [
    *(case for case in CASES[:-1] if case.epilogue != "residual"),
    replace(CASES[-1], image=(1, 16, 110, 86)),  # 22 of these have as many pixels
    ConvCase((2, 32, 8, 8), (32, 32, 3, 3), "skip", (("pads", [1] * 4),)),
]


@pytest.mark.parametrize(
    ("vector_bits", "tile", "named", "cases"),
    [long(256, 2, (0, 2, 3), NAMED_CASES[::2]), (512, 4, (0,), NAMED_CASES[1::2])],
)
def test_named_sizes(vector_bits, tile, named, cases, monkeypatch):
    """One program is right for sizes that grow and shrink, down to one pixel."""
    monkeypatch.setattr(winograd, "GAIN", 0)
    model, _ = convolution_model(cases, vector_bits, named)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    compiled = graphc.compile(model, pipeline=PIPELINE.format(vector_bits, tile))
    assert compiled.report.rewrites["winograd-conv"].count == len(cases)
    for change in (0, 3, 21, 1, 0):
        resized = [case.resized(named, change) for case in cases]
        _, feeds = convolution_model(resized, change)
        results = zip(compiled.run(None, feeds), session.run(None, feeds), strict=True)
        for ours, theirs in results:
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


def test_images_without_pixels(monkeypatch):
    """Their padding has results, the bias, for which no pixel is read."""
    monkeypatch.setattr(winograd, "GAIN", 0)
    cases = [ConvCase((1, 16, 8, 8), (16, 16, 3, 3), "bias", (("pads", [2] * 4),))]
    model, _ = convolution_model(cases, 0, (0, 2, 3))
    compiled = graphc.compile(model, pipeline=PIPELINE.format(512, 4))
    bias = onnx.numpy_helper.to_array(model.graph.initializer[1])
    (found,) = compiled.run(None, {"x0": np.ones((2, 16, 0, 5), np.float32)})
    np.testing.assert_array_equal(found, np.broadcast_to(bias[:, None, None], (2, 16, 2, 7)))


@pytest.mark.parametrize(("tile", "groups"), [(2, 1), (4, 1), (4, 2)])
def test_what_it_means(tile, groups):
    """The numpy evaluation is checked far from 0, where rounding shows."""
    random = np.random.default_rng(tile)
    x = random.standard_normal((2, 13, 10, 16 * groups), np.float32) + 3
    w = random.standard_normal((3, 3, 16, 32), np.float32)
    window = {"low": [1, 0], "high": [1, 2]}
    panels = graph.winograd_kernel(w, tile, 16)
    y = graph.WinogradConvOp.evaluate(x, panels, tile=tile, mr=4, lanes=16, **window)
    truth = graph.ConvOp.evaluate(
        x.astype(np.float64), w.astype(np.float64), strides=[1, 1], dilations=[1, 1],
        groups=groups, layout="channels_last", **window,
    )  # fmt: skip
    assert np.abs(y - truth).max() <= 1e-6 * np.abs(truth).max()


@pytest.mark.parametrize("size", [7, 14, 28, 56])
def test_it_is_chosen_where_it_is_less_work(size):
    """The convolutions of ResNet-50: small images are few tiles, for which the weights are long."""
    channels = 512 * 7 // size
    shape = winograd._Sizes((1, size, size, channels), channels, groups=1)
    rewrite = winograd.WinogradConv(CpuModel(512), 4)
    tile = rewrite._tile([shape])
    assert tile == {7: 2, 14: 2, 28: 4, 56: 4}[size]
    assert (rewrite._gain(tile, shape) > winograd.GAIN) == (size > 7)


@pytest.mark.parametrize(("unknown", "bits"), [("hw", 256), ("hw", 512), ("n", 256)])
@pytest.mark.parametrize(("channels", "tile"), [(64, 4), (128, 4), (256, 4), (512, 2)])
def test_it_suits_images_of_any_size(channels, tile, unknown, bits):
    """Images of unknown size are assumed to be smaller the more channels they have; an unknown
    number of images is not assumed to be one."""
    known = {"n": 1, "h": 512 * 7 // channels, "w": 512 * 7 // channels}
    shape = tuple(Dim.symbol(n) if n in unknown else size for n, size in known.items())
    sizes = [
        winograd._Sizes((*assumed, channels), channels, groups=1)
        for assumed in assumed_sizes(shape, channels)
    ]
    rewrite = winograd.WinogradConv(CpuModel(bits), 4)
    assert rewrite._tile(sizes) == tile
    assert rewrite._mean_gain(tile, sizes) > winograd.GAIN
