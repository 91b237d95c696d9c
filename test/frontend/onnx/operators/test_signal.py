"""Fourier transforms against ONNX Runtime and ONNX's reference evaluator."""

import numpy as np
import pytest
from numerics import Cases, Feed, compare, const, evaluate, run_compiled

from graphc.errors import InvalidModelError

_random = np.random.default_rng(0)
LOOSE = 3e-5


def _floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


REAL, COMPLEX = _floats(2, 10, 3, 1), _floats(2, 10, 3, 2)


def test_dft():
    cases = Cases(opset=20)
    cases.add("DFT", REAL, None, const(1), tolerance=LOOSE)
    cases.add("DFT", COMPLEX, None, const(-2), tolerance=LOOSE)
    cases.add("DFT", COMPLEX, None, const(0), inverse=1, tolerance=LOOSE)
    cases.add("DFT", REAL, None, const(1), onesided=1, tolerance=LOOSE)
    cases.add("DFT", REAL, const(7), const(1), onesided=1, tolerance=LOOSE)
    cases.add("DFT", COMPLEX, const(16), const(1), tolerance=LOOSE)
    cases.add("DFT", REAL.astype(np.float64), None, const(1), tolerance=LOOSE)
    cases.compare_with_onnxruntime()


def test_dft_of_lengths_and_axes_of_the_run():
    cases = Cases(opset=20)
    cases.add("DFT", Feed(REAL, ["n", "length", 3, 1]), None, const(1), tolerance=LOOSE)
    cases.add("DFT", COMPLEX, np.array(12), const(1), tolerance=LOOSE)
    cases.add("DFT", REAL, None, np.array(1), tolerance=LOOSE)
    cases.add("DFT", REAL, np.array(6), np.array(-3), onesided=1, tolerance=LOOSE)
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_narrow_types_are_computed_in_f32():
    x = np.random.default_rng(0).standard_normal((2, 300, 1)).astype(np.float16)
    cases = Cases(opset=20)
    cases.add("DFT", x, None, const(1), onesided=1)
    y = np.fft.rfft(x[..., 0].astype(np.float64))
    expected = np.stack([y.real, y.imag], -1).astype(np.float16)
    compare(evaluate(cases.model(), cases.feeds), [expected], cases.outputs)
    found = run_compiled(cases.model(), cases.feeds)
    compare(found, [expected], cases.outputs, dict.fromkeys(cases.outputs, 1e-3))


def test_signals_of_no_points():
    """Frequencies of nothing are 0, whether the run or the model says how many there are."""
    cases = Cases(opset=20)
    nothing = np.zeros((2, 0, 1), np.float32)
    cases.add("DFT", nothing, const(4), const(1))
    cases.add("DFT", Feed(nothing, ["n", "length", 1]), const(300), const(1), onesided=1)
    cases.add("DFT", Feed(nothing, ["rows", "points", 1]), None, const(1))
    cases.compare_compiled_with_evaluation()


def test_onesided_inverse():
    cases = Cases(opset=20)
    cases.add("DFT", COMPLEX, None, const(1), inverse=1, onesided=1, tolerance=LOOSE)
    cases.add("DFT", COMPLEX, const(9), const(1), inverse=1, onesided=1, tolerance=LOOSE)
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_stft():
    cases = Cases(opset=17)
    signal, window = _floats(2, 40, 1), np.hanning(16).astype(np.float32)
    cases.add("STFT", signal, const(8), window, tolerance=LOOSE)
    cases.add("STFT", signal, const(5), None, const(12), onesided=0, tolerance=LOOSE)
    cases.add("STFT", _floats(1, 40, 2), const(8), const(window), onesided=0, tolerance=LOOSE)
    named = Feed(signal, ["batch", "length", 1])
    cases.add("STFT", named, np.array(8), window, const(16), tolerance=LOOSE)
    cases.add("STFT", _floats(2, 20, 1), const(8), const(window), tolerance=LOOSE)  # one frame
    cases.add("STFT", _floats(2, 40), const(8), window, tolerance=LOOSE)  # real, without parts
    cases.add("STFT", Feed(_floats(3, 40), ["batch", "n"]), const(8), window, tolerance=LOOSE)
    named = Feed(_floats(1, 300, 1), ["batch", "samples", 1])
    cases.add("STFT", named, const(40), const(np.hanning(256).astype(np.float32)), tolerance=LOOSE)
    cases.compare_with_onnxruntime()


def test_dft_17_and_mel_weights():
    cases = Cases(opset=17)
    cases.add("DFT", REAL, axis=1, onesided=1, tolerance=LOOSE)
    given = (8, 16, 8192, np.float32(0), np.float32(4096))
    cases.add("MelWeightMatrix", *map(const, given))
    cases.add("MelWeightMatrix", *map(np.asarray, (4, 64, 8000, np.float32(20), np.float32(3800))))
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ((REAL, None, const(3)), {}, "holds the parts of a number"),
        ((COMPLEX, None, const(1)), {"onesided": 1}, "onesided is for real signals"),
        ((_floats(2, 3), None, const(0)), {}, "one or two parts"),
        ((REAL, None, const(7)), {}, "axis 7 is outside"),
    ],
)
def test_refused(inputs, attributes, message):
    cases = Cases(opset=20)
    cases.add("DFT", *inputs, **attributes)
    with pytest.raises(InvalidModelError, match=message):
        evaluate(cases.model(), cases.feeds)
