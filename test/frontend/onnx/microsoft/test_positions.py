"""Biases by relative position: ONNX Runtime has them on other devices; against their formulas."""

import numpy as np
import pytest
from numerics import Cases, compare, const, evaluate, run_compiled

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

DOMAIN = "com.microsoft"
_random = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _check(cases: Cases, expected: list) -> None:
    tolerances = dict.fromkeys(cases.outputs, 1e-5)
    compare(evaluate(cases.model(), cases.feeds), expected, cases.outputs, tolerances)
    compare(run_compiled(cases.model(), cases.feeds), expected, cases.outputs, tolerances)


def _bucket(distance: int, buckets: int, farthest: int, both_ways: bool) -> int:
    first = 0
    if both_ways:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    share = np.log(np.float32(distance) / exact) / np.log(farthest / exact)
    return first + min(exact + int(share * (buckets - exact)), buckets - 1)


def test_relative_positions():
    cases, expected = Cases(opset=17, domains={DOMAIN: 1}), []
    for both_ways in (0, 1):
        table = _floats(12, 3)
        for length in (const([40]), np.array([37])):
            cases.add("RelativePositionBias", table, length, length, max_distance=21,
                      is_bidirectional=both_ways, domain=DOMAIN)  # fmt: skip
            (size,) = length.array if hasattr(length, "array") else length
            bucket_of = [[_bucket(k - q, 12, 21, bool(both_ways)) for k in range(size)]
                      for q in range(size)]  # fmt: skip
            expected.append(table.reshape(1, 3, 12)[:, :, bucket_of])
    _check(cases, expected)


def test_gated_relative_positions():
    cases = Cases(opset=17, domains={DOMAIN: 1})
    q, bias, rel = _floats(2, 5, 6), _floats(6), _floats(1, 2, 5, 5)
    weight, offset, a = _floats(3, 8), _floats(8), _floats(1, 2, 1, 1)
    cases.add("GatedRelativePositionBias", q, bias, rel, weight, offset, a, num_heads=2,
              domain=DOMAIN)  # fmt: skip
    heads = (q + bias).reshape(2, 5, 2, 3).swapaxes(1, 2)
    gates = (heads @ weight + offset).reshape(2, 2, 5, 2, 4).sum(-1)
    u, r = np.split(1 / (1 + np.exp(-gates)), 2, axis=-1)
    _check(cases, [((u * (r * a - 1) + 2) * rel).astype(np.float32)])


def test_too_few_buckets():
    cases = Cases(opset=17, domains={DOMAIN: 1})
    size = const([4])
    cases.add("RelativePositionBias", _floats(8, 2), size, size, max_distance=4, domain=DOMAIN)
    with pytest.raises(InvalidModelError, match="8 buckets for distances up to 4"):
        import_onnx(cases.model())
