"""Exponentials and logarithms of f64 from sums and products, compared with numpy's."""

import numpy as np
import pytest
from numerics import Cases

import graphc
from graphc.passes import pipelines

TINY = np.finfo(np.float64).tiny


@pytest.fixture
def expanded(monkeypatch):
    """Compile for the CPU what would be compiled for Vulkan."""
    monkeypatch.setitem(pipelines.LOWERINGS, "cpu", pipelines.LOWERINGS["vulkan"])


def compute(operator, x):
    cases = Cases(opset=13)
    cases.add(operator, x)
    (y,) = graphc.compile(cases.model(), pipeline="canonicalize").run(None, cases.feeds)
    return y


def test_exponentials(expanded):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-708, 709.7, 5000), rng.uniform(-1, 1, 5000), [0.0, 709.78]])
    np.testing.assert_allclose(compute("Exp", x), np.exp(x), rtol=1e-15)


def test_exponentials_at_the_ends(expanded):
    x = np.array([np.inf, -np.inf, np.nan, 710, 1e300, -1e300, -800])
    np.testing.assert_array_equal(compute("Exp", x), [np.inf, 0, np.nan, np.inf, np.inf, 0, 0])


def test_logarithms(expanded):
    rng = np.random.default_rng(1)
    x = np.concatenate([np.exp(rng.uniform(-700, 700, 5000)), rng.uniform(0.5, 2, 5000), [TINY]])
    y, expected = compute("Log", x), np.log(x)
    np.testing.assert_allclose(y, expected, rtol=4e-16, atol=1e-17)


def test_logarithms_at_the_ends(expanded):
    x = np.array([0.0, -0.0, -1, np.inf, -np.inf, np.nan, 1])
    expected = [-np.inf, -np.inf, np.nan, np.inf, np.nan, np.nan, 0]
    np.testing.assert_array_equal(compute("Log", x), expected)
