"""A device that is lost is opened anew, and the call that lost it runs once more."""

import threading

import numpy as np
import pytest
from devices import needs_vulkan

from graphc.errors import DeviceLostError, UsageError
from graphc.runtime import load
from graphc.runtime.device.device import import_runtime, open_device
from graphc.runtime.execution.execution_context import ExecutionContext

pytestmark = needs_vulkan

SMALL = np.ones((2, 4), np.float32)
LOST = "vulkan/queue.c:10: DATA_LOSS; vkQueueSubmit2 failed: VK_ERROR_DEVICE_LOST"


@pytest.fixture
def add(compiled):
    with load(compiled("add", "vulkan")) as model:
        yield model


@pytest.fixture
def lose(monkeypatch):
    """Makes the next so many calls of any model lose their device."""

    def lose(calls):
        run, left = ExecutionContext.run, [None] * calls

        def run_or_lose(*arguments):
            if left:
                left.pop()
                raise RuntimeError(LOST)
            return run(*arguments)

        monkeypatch.setattr(ExecutionContext, "run", run_or_lose)

    return lose


def test_a_call_runs_once_more_on_the_device_opened_anew(compiled, add, lose, caplog):
    other, old = load(compiled("add", "vulkan")), open_device("vulkan")
    lose(1)
    np.testing.assert_array_equal(add(SMALL, SMALL), 2 * SMALL)
    assert [record.message.partition(" (")[0] for record in caplog.records] == [
        "model 'add' failed: vulkan:0 was lost in mid-run, by a fault, a limit on time, or because "
        "it went away; what was on it is gone: bring tensors there again, in a new process if that "
        "fails"
    ]
    assert caplog.records[0].message.endswith("; it is opened anew")
    assert open_device("vulkan") is not old
    assert (old.lost, open_device("vulkan").lost) == (True, False)
    np.testing.assert_array_equal(other(SMALL, SMALL), 2 * SMALL)
    other.close()


def test_a_call_that_loses_its_device_twice_has_failed(add, lose):
    lose(2)
    with pytest.raises(DeviceLostError, match="model 'add' failed: vulkan:0 was lost in mid-run"):
        add(SMALL, SMALL)
    np.testing.assert_array_equal(add(SMALL, SMALL), 2 * SMALL)


def test_tensors_on_a_lost_device_are_gone(compiled, add, lose):
    tensor = add.to_device(SMALL)
    lose(1)
    with pytest.raises(DeviceLostError, match="was lost in mid-run"):
        add(tensor, SMALL)
    with pytest.raises(DeviceLostError, match="lost in an earlier call"):
        tensor.numpy()
    with pytest.raises(DeviceLostError, match="lost in an earlier call"):
        add(tensor, SMALL)
    np.testing.assert_array_equal(add(add.to_device(SMALL), SMALL), 2 * SMALL)
    with load(compiled("add", "vulkan")) as other:
        assert add.to_device(SMALL).on(other._session.device)


def test_outputs_stay_on_the_device_opened_anew(add, lose):
    lose(1)
    (total,) = add.run(None, {"x": SMALL, "y": SMALL}, on_device=True)
    np.testing.assert_array_equal(add(total, SMALL), 3 * SMALL)


def test_calls_that_lose_their_device_together(add, lose, caplog):
    lose(1)
    begin, totals = threading.Barrier(8), []

    def call():
        begin.wait(60)
        totals.extend(add(SMALL, SMALL) for _ in range(3))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    np.testing.assert_array_equal(totals, [2 * SMALL] * 24)
    assert len(caplog.records) == 1


def test_a_closed_model_stays_closed(add, lose):
    lose(1)
    add.close()
    with pytest.raises(UsageError, match="model 'add' is closed"):
        add(SMALL, SMALL)
    add._session.device.give_up()
    with pytest.raises(UsageError, match="model 'add' is closed"):
        add(SMALL, SMALL)
    with pytest.raises(UsageError, match="model 'add' is closed"):
        add.to_device(SMALL)


@pytest.mark.parametrize("losses", [1, 2])
def test_a_device_that_is_lost_while_a_model_is_set_up(compiled, monkeypatch, losses):
    runtime, left = import_runtime(), [None] * losses
    make = runtime.VmContext

    def make_or_lose(*arguments):
        if left:
            left.pop()
            raise RuntimeError(LOST)
        return make(*arguments)

    monkeypatch.setattr(runtime, "VmContext", make_or_lose)
    if losses == 2:
        with pytest.raises(DeviceLostError, match=r"<bytes>: vulkan:0 was lost"):
            load(compiled("add", "vulkan"))
        return
    with load(compiled("add", "vulkan")) as model:
        np.testing.assert_array_equal(model(SMALL, SMALL), 2 * SMALL)
