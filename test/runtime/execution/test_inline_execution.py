import math
import time
from types import SimpleNamespace

import numpy as np
import pytest

from graphc.errors import UsageError
from graphc.runtime import load
from graphc.runtime.execution.inline_execution import (
    SHORT,
    AdaptiveSession,
    Choice,
)


@pytest.fixture
def play():
    """``play(choice, shared, alone)``: where twenty calls go that take so long either way."""

    def run(choice, shared, alone, size=64):
        ways = []
        for _ in range(20):
            ways.append(choice.alone(size))
            choice.record(ways[-1], size, alone if ways[-1] else shared)
        return ways

    return run


def test_short_calls_stay_on_the_thread_of_the_caller(play):
    choice = Choice()
    ways = play(choice, shared=SHORT / 4, alone=SHORT / 10)
    assert not any(ways[:7])
    assert all(ways[7:])


def test_workers_keep_what_they_do_faster(play):
    choice = Choice()
    ways = play(choice, shared=SHORT / 10, alone=SHORT / 4)
    assert any(ways)
    assert not any(ways[14:])
    assert choice.decided_on_workers


def test_long_calls_are_not_tried_alone(play):
    choice = Choice()
    assert not any(play(choice, shared=SHORT * 2, alone=0))
    assert choice.decided_on_workers


def test_calls_of_loops_are_tried_alone_until_that_is_hopeless(play):
    choice = Choice(math.inf)
    assert all(play(choice, shared=SHORT * 9, alone=SHORT * 7)[7:])
    choice = Choice(math.inf)
    assert play(choice, shared=SHORT * 9, alone=SHORT * 15).count(True) == 3  # two do not count
    assert choice.decided_on_workers


def test_of_calls_that_take_long_few_are_compared(play):
    choice = Choice(math.inf)
    ways = play(choice, shared=4.0, alone=2.0)
    assert not any(ways[:3])
    assert all(ways[3:])
    choice = Choice(math.inf)
    assert play(choice, shared=2.0, alone=4.0).count(True) == 2


@pytest.mark.parametrize("alone", [0.8, 1.25])
def test_loops_are_compared_at_the_same_number_of_rounds(alone):
    """Those of later calls are four times as many, so each takes longer."""
    choice = Choice(math.inf)
    rng = np.random.default_rng(4)
    for number in range(14):
        rounds = int(rng.integers(10, 60)) * (1 if number < 7 else 4)
        on_caller = choice.alone(64)
        seconds = (2e-3 + rounds * 1e-4) * (alone if on_caller else 1)
        choice.record(on_caller, 64, seconds * rng.uniform(0.95, 1.05), 16 * rounds)
    assert choice.alone(64) == (alone < 1)


def test_one_stall_does_not_decide():
    choice = Choice()
    for seconds in (0.5, 0.5, 1e-4, 1e-4, 0.2, 1e-4, 1e-4):
        choice.record(False, 64, seconds)
    assert choice.alone(64)


def test_larger_inputs_are_compared_anew(play):
    choice = Choice()
    play(choice, shared=SHORT / 4, alone=SHORT / 10)
    assert choice.alone(64)
    assert choice.alone(32)
    assert not choice.alone(65)
    ways = play(choice, shared=SHORT / 4, alone=SHORT / 10, size=100)
    assert not any(ways[:7])
    assert all(ways[7:])
    assert any(play(choice, shared=SHORT / 4, alone=SHORT / 3, size=1000))
    assert not any(choice.alone(size) for size in (101, 1000, 2000))
    assert not any(play(choice, shared=SHORT / 4, alone=0, size=2000))
    assert choice.alone(100)
    assert not choice.decided_on_workers


def test_calls_of_other_sizes_are_not_compared(play):
    choice = Choice()
    choice.record(False, 64, SHORT / 4)
    assert not any(play(choice, shared=SHORT / 4, alone=0, size=100))
    assert not choice.decided_on_workers
    assert any(play(choice, shared=SHORT / 4, alone=SHORT / 10))


def test_work_that_grows_goes_back_to_the_workers(play):
    choice = Choice()
    play(choice, shared=SHORT / 4, alone=SHORT / 10)
    for seconds in (2 * SHORT, 2 * SHORT, SHORT / 10, 2 * SHORT, 2 * SHORT):
        choice.record(True, 64, seconds)
    assert choice.alone(64)
    choice.record(True, 64, 2 * SHORT)
    assert not choice.alone(64)
    assert choice.decided_on_workers


def test_the_session_of_the_caller_is_given_up():
    """Once all calls go to the workers; one that runs in it ends there."""

    class Alone:
        def invoke(self, inputs, call_spec):
            if inputs[0][0]:  # as if another thread settled it during the call
                session._choice._settle_on_workers()
                session._give_up_if_decided()
            return ["alone"]

    shared = SimpleNamespace(device=None, invoke=lambda inputs, call_spec: ["shared"])
    session = AdaptiveSession(shared, Alone)
    session._choice.alone_up_to = 64
    found = [session.invoke([np.full(4, x)], None) for x in (0, 0, 1, 0)]
    assert found == [["alone"], ["alone"], ["alone"], ["shared"]]
    assert session._alone is None


def test_long_calls_give_up_the_session_of_the_caller():
    alone = SimpleNamespace(invoke=lambda inputs, call_spec: time.sleep(2 * SHORT))
    session = AdaptiveSession(SimpleNamespace(device=None), lambda: alone)
    session._choice.alone_up_to = 64
    for _ in range(3):
        session.invoke([np.zeros(4)], None)
    assert session._choice.decided_on_workers
    assert session._alone is None


def test_a_model_gives_the_same_either_way(compiled, monkeypatch):
    ways = []
    monkeypatch.setattr(Choice, "alone", lambda self, size: ways.append(len(ways) % 2) or ways[-1])
    monkeypatch.setattr(Choice, "record", lambda self, *call: None)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    with load(compiled("add"), threads=2) as model:
        results = [model(x, x) for _ in range(4)]
    assert ways == [0, 1, 0, 1]
    for result in results:
        np.testing.assert_array_equal(result, x + x)
    with pytest.raises(UsageError, match="closed"):
        model(x, x)
