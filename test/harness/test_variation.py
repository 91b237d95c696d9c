"""Tests of other inputs for a model, and of the order of calls."""

import ml_dtypes
import numpy as np
import pytest

from harness.variation import order_of_calls, other_sizes, other_values, with_shape


@pytest.fixture
def random():
    return np.random.default_rng(0)


def test_every_call_comes_twice_and_the_first_inputs_come_again():
    assert order_of_calls(2) == [0, 0, 1, 1] * 3


def test_other_values_are_those_that_the_array_has(random):
    for array in (np.arange(5, 12), np.array([0.5, -3], np.float16)):
        found = other_values(np.tile(array, 9), random)
        assert found.dtype == array.dtype
        assert set(found.tolist()) <= set(array.tolist())
        assert not np.array_equal(found, np.tile(array, 9))


def test_truth_values_are_now_and_then_all_alike(random):
    shares = {float(other_values(np.zeros(64, bool), random).mean()) for _ in range(30)}
    assert {0.0, 1.0} < shares


@pytest.mark.parametrize(("dtype", "number"), [("int64", 3), ("int8", -128), ("uint8", 1)])
def test_a_single_integer_becomes_a_near_one(random, dtype, number):
    found = {int(other_values(np.array(number, dtype), random)) for _ in range(40)}
    assert number not in found
    assert all(each * number > 0 and abs(each - number) <= 2 for each in found)
    assert not other_values(np.array(0, dtype), random)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_a_single_float_stays_on_its_side_of_zero(random, dtype):
    array = np.array(-2, dtype if dtype != "bfloat16" else ml_dtypes.bfloat16)
    found = other_values(array, random)
    assert found.dtype == array.dtype
    assert -2 < float(found) < 0


def test_what_is_empty_grows(random):
    assert with_shape(np.zeros((0, 2), np.int32), (3, 2), random).tolist() == [[0, 0]] * 3
    assert with_shape(np.array(["a", "b"]), (2,), random).tolist() == ["a", "b"]


def test_sizes_that_were_equal_stay_so(random):
    dims = {"x": ["batch", 3, None], "y": [4, "n"]}
    feeds = {"x": np.ones((4, 3, 2)), "y": np.ones((4, 4))}
    for larger in (True, False):
        found = other_sizes(dims, feeds, random, larger)
        (n, *rest), wide = found["x"].shape, found["y"].shape
        assert (rest, wide[0]) == ([3, 2], 4)
        assert n == wide[1]
        assert n > 4 if larger else 0 < n < 4
    assert other_sizes({"x": [2]}, {"x": np.ones(2)}, random, larger=True) is None
    assert other_sizes({"x": ["n"]}, {"x": np.ones(1)}, random, larger=False) is None
