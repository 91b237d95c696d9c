"""The error function of arrays, beside that of C."""

import math

import numpy as np
import pytest

from graphc.dialects.graph.error_function import erf_array

EDGES = [0.0, 0.46875, 4.0, 6.0, 27.0, 1e300, math.inf, 5e-324, 1e-310]
POINTS = np.concatenate([np.linspace(-7, 7, 100_001), EDGES, np.negative(EDGES)])


def test_it_is_that_of_c():
    expected = np.array([math.erf(x) for x in POINTS])
    with np.errstate(all="raise", under="ignore"):
        found = erf_array(POINTS)
    assert np.all(np.abs(found - expected) <= 5 * np.spacing(np.abs(expected)))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(POINTS))


def test_in_single_precision_it_is_rounded_once():
    with np.errstate(over="ignore"):
        points = POINTS.astype(np.float32)
    found = erf_array(points)
    assert found.dtype == np.float32
    exact = np.array([math.erf(x) for x in points])
    assert np.all(np.abs(found - exact) <= 0.5000001 * np.spacing(np.abs(found)))


def test_what_is_no_number():
    assert np.isnan(erf_array(np.array([np.nan]))).all()


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_shapes_stay(shape):
    np.testing.assert_allclose(erf_array(np.ones(shape)), np.full(shape, math.erf(1)), rtol=1e-15)
