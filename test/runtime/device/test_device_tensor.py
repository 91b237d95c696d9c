"""Outputs that stay on the device, and what becomes of them there."""

import gc
import os
import subprocess
import sys
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest
from devices import needs_vulkan

import graphc
from graphc.errors import DLPackError, FeedError, UsageError
from graphc.runtime import load
from graphc.runtime.device.dlpack import host_array
from graphc.runtime.execution.execution_context import CallSpec

HOST = (1, 0)
ROWS = 1 << 14  # of four numbers: large enough to be used where they lie


def rows(value, count=ROWS):
    return np.full((count, 4), value, np.float32)


def session_of(model):
    """The session that runs `model`, within one that chooses or recovers."""
    outer = model._session
    return getattr(outer, "_shared", getattr(outer, "_session", outer))


def contexts(model):
    return session_of(model)._contexts


def test_outputs_stay_on_the_device(model):
    add = model("add")
    (z,) = add.run(None, {"x": rows(1), "y": rows(2)}, on_device=True)
    assert isinstance(z, graphc.DeviceTensor)
    assert (z.shape, z.dtype, z.ndim, z.size) == ((ROWS, 4), np.float32, 2, 4 * ROWS)
    assert z.nbytes == 16 * ROWS
    assert z.device == add.device == ("vulkan:0" if model.target == "vulkan" else "cpu")
    assert repr(z) == f"DeviceTensor(float32[{ROWS}, 4], device='{z.device}')"
    for array in (z.numpy(), np.asarray(z), np.array(z), np.from_dlpack(z, device="cpu")):
        np.testing.assert_array_equal(array, rows(3))


def test_a_cache_never_leaves_the_device(model):
    append = model("append")
    cache = append.to_device(rows(0))
    expected = rows(0)
    for step in range(4):
        row = rows(step + 1, 1)
        total, cache = append.run(None, {"past": cache, "row": row}, on_device=["present"])
        expected = np.concatenate([expected, row])
        assert type(total) is np.ndarray
        np.testing.assert_array_equal(total, expected.sum(axis=0))
    np.testing.assert_array_equal(cache.numpy(), expected)
    past = contexts(append)[0].slots[0]
    assert getattr(past, "staging", None) is None  # on a CPU
    assert getattr(past, "_between", None) is None  # elsewhere


def test_a_model_gives_some_outputs_there_and_some_here(model):
    aliases = model("aliases")
    x = np.arange(aliases.inputs[0].shape[0], dtype=np.float32)
    one, total = aliases.run(["one", "sum"], {"x": x}, on_device=["sum"])
    assert (type(one), type(total)) == (np.ndarray, graphc.DeviceTensor)
    np.testing.assert_array_equal(total, x + 1)


@pytest.mark.parametrize(
    ("names", "on_device", "problem"),
    [
        (None, ["summ"], r"no output 'summ'; did you mean 'sum'"),
        (None, "sum", r"on_device must be a sequence of names, not the string 'sum'"),
        (["one"], ["sum"], r"on_device names 'sum', which output_names does not ask for"),
    ],
)
def test_what_on_device_cannot_name(compiled, names, on_device, problem):
    with load(compiled("aliases"), threads=1) as aliases, pytest.raises(UsageError, match=problem):
        aliases.run(names, {"x": np.zeros(1 << 16, np.float32)}, on_device=on_device)


@pytest.mark.parametrize("is_aligned", [False, True])
def test_nothing_changes_a_tensor(model, aligned, is_aligned):
    """Not the input's next contents, not an array of the same run, not the next run."""
    aliases = model("aliases")
    x = np.zeros(aliases.inputs[0].shape, np.float32)
    x = aligned(x) if is_aligned else x
    same, total, array = aliases.run(["same", "sum", "sum2"], {"x": x}, on_device=["same", "sum"])
    later, after = aliases.run(["sum2", "sum"], {"x": x}, on_device=["sum"])
    array[:] = later[:] = 100
    x[:] = 7
    aliases.run(None, {"x": x}, on_device=True)
    np.testing.assert_array_equal(same, np.zeros_like(x))
    np.testing.assert_array_equal(total, np.ones_like(x))
    np.testing.assert_array_equal(after, np.ones_like(x))
    given, again = aliases.run(["same", "same"], {"x": same}, on_device=["same"])
    np.testing.assert_array_equal(given, again)
    (array,) = aliases.run(["same"], {"x": same})
    array[:] = 100
    np.testing.assert_array_equal(same, np.zeros_like(x))
    with pytest.raises(ValueError, match="read-only"):
        np.from_dlpack(same, device="cpu")[:] = 1


def test_tensors_outlive_the_model(model):
    add, other = model("add"), model("add")
    (z,) = add.run(None, {"x": rows(1), "y": rows(2)}, on_device=True)
    array = np.asarray(z)
    add.close()
    with pytest.raises(UsageError, match="model 'add' is closed"):
        add.run(None, {"x": z, "y": z})
    with pytest.raises(UsageError, match="model 'add' is closed"):
        add.to_device(rows(1))
    del add
    gc.collect()
    np.testing.assert_array_equal(other(z, z), rows(6))
    del z
    gc.collect()
    np.testing.assert_array_equal(array, rows(3))


@pytest.mark.parametrize("threads", [1, 2])
def test_tensors_outlive_their_device_and_the_interpreter(compiled, tmp_path, threads):
    path = tmp_path / "add.vmfb"
    path.write_bytes(compiled("add"))
    script = f"""
import gc
import numpy as np
from graphc.runtime import load
from graphc.runtime.device import device
model = load({str(path)!r}, threads={threads})
x = np.ones((1 << 14, 4), np.float32)
array = model(x, x)
kept, given = (model.run(None, {{"x": x, "y": x}}, on_device=True)[0] for _ in range(2))
given = np.from_dlpack(given)
model.close()
del model
device._devices.clear()
gc.collect()
print(kept.numpy().sum() + given.sum() + array.sum())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "393216.0\n", "")


def test_a_tensor_that_is_not_used_any_more_is_freed(model):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    append = model("append")
    cache = append.to_device(rows(0, 1 << 18))  # 4 MiB
    for step in range(24):
        _, cache = append.run(None, {"past": cache, "row": rows(1, 1)}, on_device=["present"])
        if step == 8:
            before = resident()
    assert resident() - before < 24 << 20


def test_values_come_to_the_device(model):
    add = model("add")
    for value in (rows(1, 3), np.asfortranarray(rows(1, 3)), rows(1, 6)[::2], [[1.0] * 4] * 3):
        tensor = add.to_device(value)
        np.testing.assert_array_equal(tensor, np.asarray(value))
        assert add.to_device(tensor) is tensor
    assert add.to_device(np.float32(3)).shape == ()
    assert add.to_device(np.empty((0, 4), np.float32)).numpy().shape == (0, 4)
    swapped = add.to_device(np.arange(3, dtype=">i4"))
    assert swapped.dtype.isnative
    np.testing.assert_array_equal(swapped, [0, 1, 2])
    for value, problem in (
        (None, "a NoneType cannot be read as an array: there is no value"),
        (np.array(["a"]), "no model takes arrays of str"),
    ):
        with pytest.raises(FeedError, match=problem):
            add.to_device(value)


def test_a_profile_gets_arrays(model):
    add = model("add")
    x, y = add.bind({"x": add.to_device(rows(1, 2)), "y": rows(2, 2)})
    assert (type(x), type(y)) == (np.ndarray, np.ndarray)
    np.testing.assert_array_equal(x, rows(1, 2))


def test_a_tensor_must_fit_as_an_array_must(model):
    add = model("add")
    tensor = add.to_device(np.zeros((2, 3), np.float64))
    with pytest.raises(FeedError) as caught:
        add.run(None, {"x": tensor, "y": rows(1, 2)})
    assert "input 'x' must be float32[batch, 4], given float64[2, 3]" in str(caught.value)
    add.run(None, {"x": add.to_device(rows(1, 2)), "y": rows(1, 2)})
    with pytest.raises(FeedError, match="input 'y' has batch = 2, but input 'x' has batch = 3"):
        add.run(None, {"x": add.to_device(rows(1, 3)), "y": rows(1, 2)})


def test_every_element_type_is_given_away_or_refused(model):
    doubled = model("doubled")
    for spec in doubled.inputs:
        dtype = np.dtype(getattr(ml_dtypes, spec.dtype, spec.dtype))
        values = np.arange(2, 7).astype(dtype)
        tensor = doubled.to_device(values)
        if dtype.name.startswith("float8"):
            with pytest.raises(DLPackError, match=f"{dtype.name} cannot be given away"):
                tensor.__dlpack__(dl_device=HOST)
            continue
        array = host_array(OnHost(tensor))
        assert array.dtype == dtype
        assert array.tobytes() == values.tobytes()


class OnHost:
    """A tensor as a library sees it that asks for it on the host."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack__(self):
        return self._tensor.__dlpack__(dl_device=HOST)


def test_a_processor_gives_its_memory_away_without_a_copy(compiled):
    with load(compiled("add"), threads=1) as add:
        (z,) = add.run(None, {"x": rows(1), "y": rows(2)}, on_device=True)
        array = np.from_dlpack(z)
        assert np.shares_memory(array, np.asarray(z))
        assert np.shares_memory(array, np.asarray(z, copy=False))
        assert not np.shares_memory(array, np.from_dlpack(z, copy=True))
        assert not np.shares_memory(array, np.array(z))
        with pytest.raises(ValueError, match="becomes no such array without a copy"):
            np.asarray(z, np.float64, copy=False)
        assert np.asarray(z, np.float64).dtype == np.float64
        with pytest.raises(BufferError, match="cannot be given as one on CUDA device 0"):
            z.__dlpack__(dl_device=(2, 0))


def test_a_model_that_gives_a_tensor_back_copies_nothing(compiled):
    with load(compiled("aliases"), threads=1) as aliases:
        x = aliases.to_device(np.ones(1 << 16, np.float32))
        (same,) = aliases.run(["same"], {"x": x}, on_device=True)
        assert np.shares_memory(np.asarray(same), np.asarray(x))


@needs_vulkan
def test_a_device_in_software_is_closed_with_its_last_user(compiled):
    """Its threads would keep cores busy for as long as the process lives."""
    gc.collect()
    with load(compiled("add", "vulkan")) as add:
        if not add._session.device.in_software:
            pytest.skip("Vulkan's device is none in software")
        kept = add.to_device(rows(1))
    closed = weakref.ref(add._session.device)
    del add
    gc.collect()
    assert closed() is not None
    assert np.all(kept.numpy() == 1)
    del kept
    gc.collect()
    assert closed() is None


@needs_vulkan
def test_vulkan_gives_copies_alone(compiled):
    with load(compiled("add", "vulkan")) as add:
        z = add.to_device(rows(1))
        assert z.__dlpack_device__() == (7, 0)
        with pytest.raises(DLPackError, match=r"vulkan:0 gives no memory .* use \.numpy\(\)"):
            z.__dlpack__()
        with pytest.raises(DLPackError, match="cannot be given without a copy"):
            z.__dlpack__(dl_device=HOST, copy=False)
        with pytest.raises(ValueError, match="becomes no such array without a copy"):
            np.asarray(z, copy=False)
        assert not add._session.device._pinned, "it would keep cores busy to the end"


@needs_vulkan
def test_tensors_of_other_devices(compiled):
    with load(compiled("add"), threads=1) as local, load(compiled("add", "vulkan")) as remote:
        here, there = local.to_device(rows(1)), remote.to_device(rows(2))
        np.testing.assert_array_equal(remote(here, there), rows(3))
        assert remote.to_device(here).device == "vulkan:0"
        with pytest.raises(FeedError) as caught:
            local(here, there)
        assert str(caught.value) == (
            "input 'y' cannot be read as an array: DeviceTensor: it is on vulkan:0, "
            "the model takes it from cpu: pass .numpy()"
        )


def test_sets_of_workers_share_memory(compiled):
    with load(compiled("add"), threads=1) as one, load(compiled("add"), threads=2) as two:
        x, y = one.to_device(rows(1)), two.to_device(rows(2))
        for model in (one, two):
            (z,) = model.run(None, {"x": x, "y": y}, on_device=True)
            np.testing.assert_array_equal(z, rows(3))
            assert all(slot.staging is None for slot in contexts(model)[0].slots)
    with load(compiled("aliases"), threads=2) as aliases:
        x = one_shot = None
        with load(compiled("aliases"), threads=1) as other:
            x = other.to_device(np.ones(1 << 16, np.float32))
        (one_shot,) = aliases.run(["same"], {"x": x}, on_device=True)
        del x
        gc.collect()
        np.testing.assert_array_equal(one_shot, np.ones(1 << 16, np.float32))


def test_threads_pass_tensors_on(model):
    append = model("append")
    wrong = []

    def work(number):
        cache, expected = rows(0, number), np.zeros(4, np.float32)
        for step in range(12):
            feeds = {"past": cache, "row": rows(number + step, 1)}
            total, cache = append.run(None, feeds, on_device=["present"])
            expected += number + step
            if not np.array_equal(total, expected) or cache.shape != (number + step + 1, 4):
                wrong.append((number, step))

    run_threads(work, range(1, 7))
    assert wrong == []


def test_two_calls_of_one_model_are_under_way_at_once(model, monkeypatch):
    add = model("add")
    session = session_of(add)
    meeting, real, results = threading.Barrier(2, timeout=60), session._vm_context, {}

    class Context:
        def invoke(self, *arguments):
            meeting.wait()  # for the other call, which would never come if they took turns
            real.invoke(*arguments)

    monkeypatch.setattr(session, "_vm_context", Context())
    feeds = {number: rows(number) for number in (1, 2)}

    def work(number):
        results[number] = session.invoke([feeds[number], feeds[number]], CallSpec([0]))[0]

    run_threads(work, feeds)
    for number in feeds:
        np.testing.assert_array_equal(results[number], rows(2 * number))


def test_closing_waits_for_the_calls_that_are_under_way(compiled, monkeypatch):
    add, results = load(compiled("add"), threads=1), []
    begun, go_on, real = threading.Event(), threading.Event(), add._session._vm_context

    class Context:
        def invoke(self, *arguments):
            begun.set()
            go_on.wait()
            real.invoke(*arguments)

    monkeypatch.setattr(add._session, "_vm_context", Context())
    caller = threading.Thread(target=lambda: results.append(add(rows(1), rows(2))))
    closer = threading.Thread(target=add.close)
    caller.start()
    begun.wait()
    closer.start()
    closer.join(0.2)
    assert closer.is_alive()
    go_on.set()
    caller.join()
    closer.join()
    np.testing.assert_array_equal(results[0], rows(3))
    with pytest.raises(UsageError, match="model 'add' is closed"):
        add(rows(1), rows(2))


def run_threads(work, numbers):
    workers = [threading.Thread(target=work, args=(number,)) for number in numbers]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
