"""Fast Fourier transforms, by stages and by convolution with a chirp, against numpy's in f64."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphc
from graphc.passes.kernels.fft_plan import (
    chirp,
    chirp_spectrum,
    padded_length,
    radices,
    stages,
    twiddle_count,
    twiddles,
)
from harness.marks import long

ROWS = 3
ERROR = {np.float32: 4e-7, np.float64: 1e-15}
"""Maximum error relative to the largest frequency."""

CASES = {  # points read and transformed, parts, inverse, onesided
    "pairs": (1000, 1000, 1, False, True),
    "continued pairs": (700, 2048, 1, False, False),
    "pairs, inverse": (600, 600, 1, True, False),
    "pairs by chirp": (2042, 2042, 1, False, True),
    "odd, real": (257, 375, 1, False, True),
    "odd, real, by chirp": (1021, 1021, 1, False, True),
    "scattered stages": (2197, 2197, 2, False, False),
    "complex by chirp, cut": (1100, 1021, 2, True, False),
    "spectrum of pairs": (301, 600, 2, True, True),
    "spectrum, continued": (100, 600, 2, True, True),
    "spectrum of an odd length": (578, 1155, 2, True, True),
}


def _model(cases, dtype, named=False):
    """A DFT for each case, every second one of a known number of rows. `named` says that the points
    read are known only at run time; so is a length of None."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes, inputs, outputs, constants = [], [], [], [numpy_helper.from_array(np.int64(1), "axis")]
    for i, (used, length, parts, inverse, onesided) in enumerate(cases):
        shape = ["rows" if i % 2 else ROWS, f"n{i}" if named else used, parts]
        inputs.append(helper.make_tensor_value_info(f"x{i}", element, shape))
        outputs.append(helper.make_tensor_value_info(f"y{i}", element, [None] * 3))
        given = "" if length is None and not (inverse and onesided) else f"length{i}"
        if length is not None:
            constants.append(numpy_helper.from_array(np.int64(length), given))
        elif given:
            inputs.append(helper.make_tensor_value_info(given, TensorProto.INT64, []))
        flags = {"inverse": int(inverse), "onesided": int(onesided)}
        nodes.append(helper.make_node("DFT", [f"x{i}", given, "axis"], [f"y{i}"], **flags))
    return helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs, constants),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=10,
    )


def _signal(used, parts, dtype):
    return np.random.default_rng(used).standard_normal((ROWS, used, parts)).astype(dtype)


def _expected(x, length, inverse, onesided):
    z = x[..., 0].astype(np.float64) + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    if inverse and onesided:
        return np.fft.irfft(z, length)[..., None]
    y = np.fft.ifft(z, length) if inverse else np.fft.fft(z, length)
    y = y[:, : length // 2 + 1] if onesided else y
    return np.stack([y.real, y.imag], -1)


def _check(found, expected, dtype):
    assert (found.dtype, found.shape) == (dtype, expected.shape)
    assert np.abs(found - expected).max() < ERROR[dtype] * np.abs(expected).max()


@pytest.mark.parametrize("dtype", [np.float32, long(np.float64)])
def test_lengths(dtype):
    cases = list(CASES.values())[:: 1 if dtype == np.float32 else 3]
    compiled = graphc.compile(_model(cases, dtype))
    declined = compiled.report.rewrites["dense-dft"].declined
    assert sum(map(len, declined.values())) == len(cases)  # all are by the kernel
    signals = [_signal(used, parts, dtype) for used, _, parts, _, _ in cases]
    found = compiled.run(None, {f"x{i}": x for i, x in enumerate(signals)})
    for y, x, (_, length, _, inverse, onesided) in zip(found, signals, cases, strict=True):
        _check(y, _expected(x, length, inverse, onesided), dtype)


def test_lengths_of_the_run():
    """A few points, powers of two with an odd and an even number of stages, and others."""
    kinds = [(0, None, 1, False, True), (0, None, 2, True, False), (0, None, 2, True, True)]
    compiled = graphc.compile(_model(kinds, np.float32, named=True))
    for length in (1, 2, 31, 32, 100, 256, 512, 1000):
        extents = (length, length, length // 2 + 1)
        signals = [
            _signal(n, parts, np.float32)
            for n, (_, _, parts, _, _) in zip(extents, kinds, strict=True)
        ]
        feeds = {f"x{i}": x for i, x in enumerate(signals)} | {"length2": np.int64(length)}
        for y, x, (*_, inverse, onesided) in zip(
            compiled.run(None, feeds), signals, kinds, strict=True
        ):
            _check(y, _expected(x, length, inverse, onesided), np.float32)


def test_signals_of_the_run():
    """The signal, of any size, is cut or continued to a known length."""
    kinds = [(0, 300, 1, False, True), (0, 600, 2, True, True), (0, 1155, 2, True, True)]
    compiled = graphc.compile(_model(kinds, np.float32, named=True))
    for used in (5, 301, 1200):
        signals = [_signal(used, parts, np.float32) for _, _, parts, _, _ in kinds]
        found = compiled.run(None, {f"x{i}": x for i, x in enumerate(signals)})
        for y, x, (_, length, _, inverse, onesided) in zip(found, signals, kinds, strict=True):
            _check(y, _expected(x, length, inverse, onesided), np.float32)


def _by_stages(x, lanes):
    """The transform of `x` by the plan, in numpy."""
    length, table = len(x), twiddles(len(x), lanes)
    for stage in stages(length, lanes):
        radix, stride, groups = stage.radix, stage.stride, stage.groups
        points = np.fft.fft(x.reshape(radix, groups, stride), axis=0).transpose(1, 0, 2)
        if groups > 1:
            factors = table[stage.offset : stage.offset + twiddle_count(stage, lanes)]
            if stride >= lanes:
                real, imaginary = np.moveaxis(factors.reshape(groups, radix - 1, 2, 1), 2, 0)
            else:
                parts = factors.reshape(radix - 1, 2, groups, stride)
                real, imaginary = parts.transpose(1, 2, 0, 3)
            points[:, 1:] *= real + 1j * imaginary
        x = points.ravel()
    return x


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_plans(lanes):
    """Every length from 64 on has a plan, by stages or by a chirp, for vectors of any width."""
    random = np.random.default_rng(0)
    for length in [*range(64, 300), 1000, 2187, 15015]:
        x = random.standard_normal(length) + 1j * random.standard_normal(length)
        if radices(length, lanes):
            y = _by_stages(x, lanes)
        else:
            padded = padded_length(length, lanes)
            assert radices(padded, lanes)
            signal = np.fft.fft(np.pad(x * chirp(length), (0, padded - length)))
            spectrum = chirp_spectrum(length, padded) * padded
            y = np.fft.ifft(signal * spectrum)[:length] * chirp(length)
        np.testing.assert_allclose(y, np.fft.fft(x), rtol=0, atol=1e-12)
