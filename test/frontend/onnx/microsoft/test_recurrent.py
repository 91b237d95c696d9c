"""Recurrences with quantized weights against ONNX Runtime, which quantizes the inputs as well."""

import numpy as np
from numerics import Cases, Feed, const, summable

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _weights(directions: int, rows: int, columns: int, each: bool) -> tuple:
    """Weights, scales and zero points, those of `each` column or one for all."""
    shape = (directions, columns) if each else (directions,)
    weights = summable(_random.integers(-120, 120, (directions, rows, columns), np.int8))
    scales = _random.uniform(0.002, 0.004, shape).astype(np.float32)
    return const(weights), const(scales), const(np.zeros(shape, np.int8))


def test_lstm():
    cases = Cases(opset=21, domains={DOMAIN: 1})
    for directions, each in ((1, False), (2, True)):
        w, w_scale, w_zero = _weights(directions, 5, 16, each)
        r, r_scale, r_zero = _weights(directions, 4, 16, each)
        bias = const(_floats(directions, 32))
        cases.add(
            "DynamicQuantizeLSTM", Feed(_floats(3, 2, 5), ["s", "b", 5]), w, r, bias, None, None,
            None, None, w_scale, w_zero, r_scale, r_zero, outputs=3, domain=DOMAIN, hidden_size=4,
            direction="bidirectional" if directions == 2 else "forward", tolerance=2e-2,
        )  # fmt: skip
    cases.compare_with_onnxruntime()


def test_inputs_are_quantized():
    """As ONNX Runtime does it: without a recurrence, the results are the same."""
    cases = Cases(opset=21, domains={DOMAIN: 1})
    w, w_scale, w_zero = _weights(2, 40, 16, each=False)
    r, r_scale, r_zero = _weights(2, 4, 16, each=False)
    cases.add(
        "DynamicQuantizeLSTM", Feed(_floats(3, 2, 40), ["s", "b", 40]), w, const(0 * r.array), None,
        None, None, None, None, w_scale, w_zero, r_scale, r_zero, outputs=3, domain=DOMAIN,
        hidden_size=4, direction="bidirectional", tolerance=1e-6,
    )  # fmt: skip
    cases.compare_with_onnxruntime()
