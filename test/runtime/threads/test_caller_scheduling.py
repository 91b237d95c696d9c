"""The caller's class of scheduling while workers compute."""

import os

import numpy as np
import pytest

from graphc.errors import ExecutionError
from graphc.runtime import load
from graphc.runtime.execution.execution_context import ExecutionContext

pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="the system has no classes")

FEEDS = {name: np.ones((2, 4), np.float32) for name in "xy"}


@pytest.fixture
def classes(monkeypatch):
    """The classes that calls had."""
    found = []
    run = ExecutionContext.run

    def noted(self, *arguments):
        found.append(os.sched_getscheduler(0))
        return run(self, *arguments)

    monkeypatch.setattr(ExecutionContext, "run", noted)
    return found


@pytest.mark.parametrize(("threads", "class_"), [(1, "SCHED_OTHER"), (2, "SCHED_BATCH")])
def test_while_a_call_lasts(compiled, classes, threads, class_):
    with load(compiled("add"), threads=threads) as model:
        model.run(None, FEEDS)
        assert classes[0] == getattr(os, class_)
        assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_after_an_error(compiled, monkeypatch):
    def fail(self, *arguments):
        raise RuntimeError("no")

    with load(compiled("add"), threads=2) as model:
        monkeypatch.setattr(ExecutionContext, "run", fail)
        with pytest.raises(ExecutionError):
            model.run(None, FEEDS)
        assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_a_class_that_somebody_chose_stays(compiled, classes):
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        with load(compiled("add"), threads=2) as model:
            model.run(None, FEEDS)
        assert classes[0] == os.sched_getscheduler(0) == os.SCHED_BATCH
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def test_where_the_system_refuses(compiled, classes, monkeypatch):
    def refuse(*arguments):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with load(compiled("add"), threads=2) as model:
        model.run(None, FEEDS)
    assert classes[0] == os.SCHED_OTHER
