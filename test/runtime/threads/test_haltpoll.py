import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from graphc.runtime.device import device
from graphc.runtime.threads import haltpoll
from graphc.runtime.threads.haltpoll import WINDOW, Haltpoll, may_poll

pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="needs Linux")

PATIENCE = 20
CPUS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def pollers():
    """The CPU sets on which the threads of the lowest scheduling class may run."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        try:
            if os.sched_getscheduler(int(task.name)) == os.SCHED_IDLE:
                found.append(os.sched_getaffinity(int(task.name)))
        except ProcessLookupError:  # it has just ended
            pass
    return sorted(found, key=min)


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, pollers()
        time.sleep(0.001)


class Decided:
    """A trial that is over."""

    def __init__(self):
        self.uses_b = True

    def record(self, is_b, seconds):
        pass


@pytest.fixture
def polling(monkeypatch):
    """Polling in a state in which calls are known to be shorter with it."""
    monkeypatch.setattr(haltpoll, "trial", Decided)
    wait_until(lambda: not pollers())  # those of calls just before
    made = Haltpoll(CPUS)
    yield made
    wait_until(lambda: not pollers())


def test_every_processor_is_polled_from_one_short_call_to_the_next(polling, monkeypatch):
    for _ in range(2):
        monkeypatch.setattr(haltpoll, "LINGER", 1000.0)
        polling.record_call(1e-3)
        polling.record_call(1e-3)
        wait_until(lambda: pollers() == [{cpu} for cpu in CPUS])
        time.sleep(0.1)
        assert len(pollers()) == len(CPUS)
        monkeypatch.setattr(haltpoll, "LINGER", 0.0)
        with polling._changed:
            polling._changed.notify()
        wait_until(lambda: not pollers())


def test_it_ends_where_calls_are_made_without(polling, monkeypatch):
    monkeypatch.setattr(haltpoll, "LINGER", 1000.0)
    polling.record_call(1e-3)
    polling.record_call(1e-3)
    wait_until(lambda: len(pollers()) == len(CPUS))
    polling._trial.uses_b = False
    polling.record_call(1e-3)
    wait_until(lambda: not pollers())


def test_rare_long_calls_count():
    """On average, polling is worse here; in the median it is better."""
    trial = haltpoll.trial()
    for number in range(8 * WINDOW):
        polls = trial.uses_b
        long = polls and number % WINDOW == WINDOW // 2
        trial.record(polls, 10e-3 if long else 0.9e-3 if polls else 1e-3)
    assert trial.is_over
    assert not trial.uses_b


def test_nobody_polls_after_a_call_by_itself(polling, monkeypatch):
    monkeypatch.setattr(haltpoll, "LINGER", 1e-3)
    for _ in range(3):
        polling.record_call(1e-3)
        assert pollers() == []
        time.sleep(2e-3)


def test_nobody_polls_between_long_calls(polling):
    for _ in range(10):
        polling.record_call(2 * haltpoll.SHORT)
        time.sleep(1e-3)
        assert pollers() == []


def test_polling_begins_and_ends_again_and_again(polling, monkeypatch):
    monkeypatch.setattr(haltpoll, "LINGER", 1e-3)

    def call_often():
        for round_ in range(300):
            polling.record_call(1e-4)
            time.sleep(1e-4 if round_ % 3 else 2e-3)

    threads = [threading.Thread(target=call_often) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_calls_go_on_where_threads_cannot_have_the_class(polling, monkeypatch, caplog):
    caplog.set_level("INFO", "graphc")
    monkeypatch.setattr(os, "SCHED_IDLE", 1000)  # there is no such class
    polling.record_call(1e-3)
    polling.record_call(1e-3)
    wait_until(lambda: "pthread_setschedparam" in caplog.text)
    polling.record_call(1e-3)
    monkeypatch.undo()
    wait_until(lambda: not pollers())


def test_the_user_may_forbid_it(monkeypatch):
    assert may_poll()
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    assert not may_poll()


SCRIPT = """
import os
from graphc.runtime.device.device import open_device
from graphc.runtime.threads.haltpoll import Haltpoll

device = open_device("local-task", {threads})
assert isinstance(device.polling, Haltpoll) == {polls}, device
"""


def test_workers_without_a_processor_each_are_left_alone(monkeypatch):
    monkeypatch.setattr(device, "own_cpus", lambda _: [])
    monkeypatch.setattr(device, "usable_cpus", lambda: 16)
    assert device._haltpoll(4) is None


@pytest.mark.parametrize(
    ("threads", "polls"), [(1, False), (len(CPUS), len(CPUS) > 1), (len(CPUS) + 1, False)]
)
def test_cpus_of_workers_with_one_each_are_polled(threads, polls):
    script = SCRIPT.format(threads=threads, polls=polls)
    subprocess.run([sys.executable, "-c", script], check=True)
