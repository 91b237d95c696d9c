"""Assumptions about sizes decide comparisons where they are used, and nowhere else."""

import pytest

from graphc.dialects.assumptions import assuming, using_assumptions
from graphc.dialects.symbolic import Dim, at_least, maximum, minimum
from graphc.dialects.symbolic_syntax import parse_dim

LOOP = ("n - 1 - i", "16777216 - n")

# the facts, what they imply to be 0 at least
IMPLIED = [
    (LOOP, "n - i - 1"),
    (LOOP, "n - 1"),
    (LOOP, "16777215 - i"),
    (LOOP, "1000000000 - n + i"),
    (LOOP, "2*n - 2*i - 2"),
    (LOOP, "n - max(i, 1)"),
    (LOOP, "min(n, 3) + n - i - 1"),
    (("n - 2*i - 1",), "n - i - 1"),
    (("m - 1 - i", "n - 1 - j", "i - n"), "m - 2 - j"),
]
OPEN = [
    (LOOP, "n - i - 2"),
    (LOOP, "n - 2"),
    (LOOP, "16777215 - n"),
    (LOOP, "n - max(i, 2)"),
    (LOOP, "min(i, 1) - 1"),
    (LOOP, "m - i"),
]


def _dim(text) -> Dim:
    dim = parse_dim(text)
    assert isinstance(dim, Dim)
    return dim


@pytest.mark.parametrize(("facts", "text"), IMPLIED)
def test_implied(facts, text):
    size = _dim(text)
    assert not at_least(size, 0)
    with assuming(map(_dim, facts)):
        assert not at_least(size, 0)
        with using_assumptions():
            assert at_least(size, 0)
    with using_assumptions():
        assert not at_least(size, 0)


@pytest.mark.parametrize(("facts", "text"), OPEN)
def test_open(facts, text):
    with assuming(map(_dim, facts)), using_assumptions():
        assert not at_least(_dim(text), 0)


def test_the_extremes_of_a_position():
    i, n = Dim.symbol("i"), Dim.symbol("n")
    with assuming([n - 1 - i]), using_assumptions():
        assert minimum(maximum(i, 0), n) == i
    with using_assumptions():
        assert str(minimum(i, n)) == "min(i, n)"
