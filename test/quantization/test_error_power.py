"""Powers of errors, by hand."""

import math

import numpy as np
import pytest

from graphc.quantization.error_power import ErrorPower


def power(have, want):
    made = ErrorPower()
    made.add(np.asarray(have), np.asarray(want))
    return made


def test_ratios():
    found = power([3.0, 4.5], [3.0, 4.0])
    assert found.relative == pytest.approx(0.1)
    assert found.sqnr == pytest.approx(20.0)
    found.add(np.array([0.0]), np.array([5.0]))
    assert found.relative == pytest.approx(math.sqrt(25.25 / 50))


def test_exact_and_hopeless():
    assert power([1.0], [1.0]).sqnr == math.inf
    assert power([0.0], [0.0]).relative == 0.0
    assert power([1.0], [0.0]).relative == math.inf
    assert power([math.nan], [1.0]).relative == math.inf
    assert power([math.nan], [1.0]).sqnr == -math.inf


def test_integers_count_and_shapes_of_data_are_all_error():
    assert power([1, 2, 3, 4], [1, 2, 3, 5]).relative == pytest.approx(0.5)
    assert power([1, 2], [1, 2, 3]).relative == 1.0
    assert power([1.0, 2.0], [1.0, 2.0, 3.0]).relative == 1.0
