"""Online A/B tests, of calls that take given times."""

import statistics

import pytest

from graphc.runtime.threads.ab_testing import ABTest

HOLD = 50


def make(statistic=statistics.fmean, hold=HOLD):
    return ABTest(statistic, windows=4, window=5, ignored=2, hold=hold)


def call(test, a, b, count):
    """Where `count` calls go that take `a` seconds in way A and `b` in way B."""
    ways = []
    for _ in range(count):
        ways.append(test.uses_b)
        test.record(ways[-1], b if ways[-1] else a)
    return ways


def test_windows_alternate():
    test = make()
    ways = call(test, 1.0, 2.0, 20)
    assert ways == [*[False] * 5, *[True] * 5] * 2
    assert test.is_over


@pytest.mark.parametrize("b", [0.9, 1.0, 1.1])
def test_the_way_that_takes_less_time_is_kept(b):
    test = make()
    call(test, 1.0, b, 20)
    assert set(call(test, 1.0, b, HOLD)) == {b < 1.0}


def test_the_first_calls_of_a_window_do_not_count():
    test = make()
    for number in range(20):
        start = number % 5 < 2
        test.record(test.uses_b, (9.0 if start else 1.0) if test.uses_b else 2.0)
    assert test.seconds == ([2.0] * 6, [1.0] * 6)
    assert test.uses_b


@pytest.mark.parametrize(
    ("statistic", "b_wins"), [(statistics.fmean, False), (statistics.median, True)]
)
def test_the_statistic_decides_about_rare_long_calls(statistic, b_wins):
    test = make(statistic)
    for number in range(20):
        test.record(test.uses_b, 9.0 if number == 9 else 0.9 if test.uses_b else 1.0)
    assert test.is_over
    assert test.uses_b == b_wins


def test_it_begins_anew_after_a_while():
    test = make()
    assert call(test, 2.0, 1.0, 20 + HOLD)[-1]
    assert not test.is_over
    call(test, 1.0, 2.0, 20)
    assert set(call(test, 1.0, 2.0, HOLD)) == {False}


def test_without_a_hold_it_never_does():
    test = make(hold=None)
    call(test, 2.0, 1.0, 20)
    assert set(call(test, 1.0, 2.0, 200)) == {True}


def test_calls_that_began_before_a_window_do_not_count():
    test = make()
    call(test, 1.0, 2.0, 5)
    assert test.uses_b
    test.record(False, 9.0)
    assert call(test, 1.0, 2.0, 5) == [True] * 5
    assert test.seconds == ([1.0] * 3, [2.0] * 3)
