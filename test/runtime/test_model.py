"""`CompiledModel` as a user meets it."""

import gc
import os
import signal
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest

from graphc.errors import DeviceError, ExecutionError, FeedError, OutputError, UsageError
from graphc.runtime import TensorSpec, load


def batch(rows, value):
    return np.full((rows, 4), value, np.float32)


def test_run_gives_a_list_of_the_outputs(model):
    outputs = model("add").run(None, {"x": batch(3, 1), "y": batch(3, 2)})
    assert isinstance(outputs, list)
    assert type(outputs[0]) is np.ndarray
    np.testing.assert_array_equal(outputs[0], batch(3, 3))


def test_run_gives_the_outputs_asked_for_in_that_order(model):
    aliases = model("aliases")
    x = np.arange(aliases.inputs[0].shape[0], dtype=np.float32)
    total, one = aliases.run(["sum", "one"], {"x": x})
    np.testing.assert_array_equal(total, x + 1)
    np.testing.assert_array_equal(one, np.ones_like(x))


def test_an_unknown_output_name_is_refused(compiled):
    with (
        load(compiled("add")) as add,
        pytest.raises(UsageError, match="no output 'zz'; did you mean 'z'"),
    ):
        add.run(["zz"], {"x": batch(1, 1), "y": batch(1, 1)})


def test_one_string_is_no_list_of_output_names(compiled):
    with load(compiled("add")) as add, pytest.raises(UsageError, match="sequence of names"):
        add.run("z", {"x": batch(1, 1), "y": batch(1, 1)})


def test_call_by_position_by_name_and_both(model):
    add = model("add")
    for result in (
        add(batch(2, 1), batch(2, 5)),
        add(y=batch(2, 5), x=batch(2, 1)),
        add(batch(2, 1), y=batch(2, 5)),
    ):
        np.testing.assert_array_equal(result, batch(2, 6))


def test_call_gives_a_tuple_of_several_outputs(model):
    aliases = model("aliases")
    outputs = aliases(np.zeros(aliases.inputs[0].shape, np.float32))
    assert isinstance(outputs, tuple)
    assert len(outputs) == 4


def test_inputs_outputs_metadata_and_report(compiled):
    with load(compiled("add")) as add:
        assert add.inputs == (
            TensorSpec("x", ("batch", 4), "float32"),
            TensorSpec("y", ("batch", 4), "float32"),
        )
        assert add.outputs == (TensorSpec("z", ("batch", 4), "float32"),)
        assert add.metadata.name == "add"
        assert add.report is None
        assert "x: float32[batch, 4]" in repr(add)


def test_shapes_may_change_from_call_to_call(model):
    add = model("add")
    for rows in (1, 5, 1, 4096, 2):
        np.testing.assert_array_equal(add(batch(rows, rows), batch(rows, 1)), batch(rows, rows + 1))


def test_every_element_type_goes_in_and_out_unchanged(model):
    doubled = model("doubled")
    random = np.random.default_rng(0)
    feeds = {}
    for spec in doubled.inputs:
        dtype = np.dtype(getattr(ml_dtypes, spec.dtype, spec.dtype))
        raw = random.integers(0, 2 if spec.dtype == "bool" else 120, 7 * dtype.itemsize, np.uint8)
        feeds[spec.name] = raw.view(dtype)
    outputs = doubled.run(None, feeds)
    for spec, output in zip(doubled.outputs, outputs, strict=True):
        given = feeds[spec.name.replace("out_", "in_")]
        assert output.dtype == given.dtype, spec.name
        assert output.tobytes() == given.tobytes() * 2, spec.name


def test_empty_tensors(model):
    doubled = model("doubled")
    feeds = {
        spec.name: np.empty(0, getattr(ml_dtypes, spec.dtype, spec.dtype))
        for spec in doubled.inputs
    }
    assert [output.shape for output in doubled.run(None, feeds)] == [(0,)] * len(feeds)
    add = model("add")
    if model.target == "vulkan":
        with pytest.raises(ExecutionError, match=r"on Vulkan, .* tensors that have no elements"):
            add(batch(0, 1), batch(0, 1))
    else:
        assert add(batch(0, 1), batch(0, 1)).shape == (0, 4)


def test_rank_zero(model):
    result = model("scalar")(np.float32(21))
    assert result.shape == ()
    assert result == 42


@pytest.mark.parametrize("rows", [2, 1 << 15], ids=["small", "large"])
def test_outputs_outlive_the_next_call_and_the_model(model, rows):
    add = model("add")
    first = add(batch(rows, 1), batch(rows, 1))
    second = add(batch(rows, 2), batch(rows, 2))
    view = first[1:]
    add.close()
    del add
    gc.collect()
    np.testing.assert_array_equal(first, batch(rows, 2))
    np.testing.assert_array_equal(second, batch(rows, 4))
    del first
    gc.collect()
    np.testing.assert_array_equal(view, batch(rows - 1, 2))


@pytest.mark.parametrize("threads", [1, 2])
def test_outputs_outlive_the_device(compiled, tmp_path, threads):
    # Device memory goes with the device: an array in it keeps the device. In another process,
    # because it would crash.
    path = tmp_path / "aliases.vmfb"
    path.write_bytes(compiled("aliases"))
    script = f"""
import gc
import numpy as np
from graphc.runtime import load
from graphc.runtime.device import device
model = load({str(path)!r}, threads={threads})
outputs = model(np.ones(1 << 16, np.float32))
model.close()
del model
device._devices.clear()
gc.collect()
print(outputs[2].sum())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "131072.0\n"


def test_outputs_belong_to_the_caller(model, aligned):
    # Writing to an output changes no input, no constant, no other output and no later call.
    aliases = model("aliases")
    x = np.zeros(aliases.inputs[0].shape, np.float32)
    for fed in (x, aligned(x)):
        outputs = aliases(fed)
        for number, output in enumerate(outputs):
            output[:] = 100 + number
        np.testing.assert_array_equal(fed, x)
        for number, output in enumerate(outputs):
            np.testing.assert_array_equal(output, np.full_like(x, 100 + number))
    same, one, total, _ = aliases(x)
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(one, x + 1)
    np.testing.assert_array_equal(total, x + 1)


def test_a_large_aligned_input_is_used_where_it_lies(compiled, aligned):
    # The copy of an input is as large as the input: without one, none is kept.
    with load(compiled("aliases"), threads=1) as aliases:
        x = np.zeros(aliases.inputs[0].shape, np.float32)
        aliases(aligned(x))
        assert aliases._session._contexts[0].slots[0].staging is None
        aliases(aligned(np.append(x, x))[1:-1][: x.size])  # misaligned
        assert aliases._session._contexts[0].slots[0].staging is not None


def test_a_long_run_needs_no_more_memory(model):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    aliases = model("aliases")
    x = np.zeros(aliases.inputs[0].shape, np.float32)
    for _ in range(20):
        aliases(x)
    before = resident()
    for _ in range(model.calls):
        aliases(x)  # 1 MiB of outputs each
    assert resident() - before < 30 << 20


def test_sixteen_threads_share_one_model(model):
    add = model("add")
    wrong = []

    def work(number):
        for rows in range(1, model.calls // 2):
            x = batch(rows * (1 if number % 2 else 40), number)
            result = add(x, x)
            if result.shape != x.shape or not (result == 2 * number).all():
                wrong.append((number, rows))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_sixteen_threads_load_run_and_close_models_of_their_own(compiled):
    wrong = []

    def work(number):
        for rows in range(1, 3):
            try:
                with load(compiled("add"), threads=2) as add:
                    for _ in range(10):
                        result = add(batch(rows, number), batch(rows, 1))
                        assert (result == number + 1).all()
            except Exception as error:
                wrong.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_models_with_different_thread_counts_run_side_by_side(compiled):
    models = [load(compiled("add"), threads=threads) for threads in (1, 2, 3)]
    wrong = []

    def work(add, number):
        results = [add(batch(9, number), batch(9, 1)) for _ in range(200)]
        wrong.extend(number for result in results if not (result == number + 1).all())

    workers = [
        threading.Thread(target=work, args=(add, number))
        for number, add in enumerate([*models, *models])
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
    for add in models:
        add.close()


def test_other_threads_go_on_while_a_model_runs(compiled):
    # A run does not hold the interpreter.
    with load(compiled("spin"), threads=1) as spin:
        x = np.eye(256, dtype=np.float32)
        runner = threading.Thread(target=spin, args=(x,))
        runner.start()
        ticks = 0
        while runner.is_alive():
            runner.join(0.001)
            ticks += 1
        assert ticks > 10


def test_peak_memory_is_that_of_one_run(compiled):
    """Outputs count, inputs do not, nor what other runs and models have allocated."""
    with load(compiled("add")) as add:
        small, large = ({"x": batch(n, 1), "y": batch(n, 2)} for n in (16, 1024))
        add.run(None, large)
        assert add.peak_memory(small) == 16 * 4 * 4
        assert add.peak_memory(large) == 1024 * 4 * 4
        with pytest.raises(FeedError):
            add.peak_memory({"x": batch(1, 1)})


def test_use_after_close_is_refused(compiled, tmp_path):
    add = load(compiled("add"))
    with add:
        pass
    add.close()
    with pytest.raises(UsageError, match="model 'add' is closed"):
        add(batch(1, 1), batch(1, 1))
    with pytest.raises(UsageError, match="model 'add' is closed"):
        add.save(tmp_path / "add.vmfb")
    with pytest.raises(UsageError, match="model 'add' is closed"):
        add.peak_memory({})
    assert add.inputs[0].name == "x"


def test_a_failing_run_is_an_execution_error_and_the_model_lives_on(model):
    allocate = model("allocate")
    with pytest.raises(ExecutionError, match=r"model 'allocate' failed: .*RESOURCE_EXHAUSTED"):
        allocate(np.int64(1 << 60))
    np.testing.assert_array_equal(allocate(np.int64(5)), np.zeros(5, np.float32))


@pytest.mark.parametrize("code", range(1, 17))
def test_every_status_is_an_execution_error(model, code):
    """Its runtime has an exception of Python for each code; none of them gets out."""
    with pytest.raises(ExecutionError, match="model 'status' failed: "):
        model("status")(np.int32(code))
    assert model("status")(np.int32(0)) == 0


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_impossible_thread_counts_are_refused(compiled, threads):
    with pytest.raises(UsageError, match="threads must be a positive integer"):
        load(compiled("add"), threads=threads)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_told_instead_of_left_waiting(compiled):
    models = [load(compiled("add"), threads=threads) for threads in (1, 2)]
    for add in models:
        add(batch(1, 1), batch(1, 1))
    child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(20)  # what used to wait forever must not
        try:
            refused = 0
            for add in models:
                try:
                    add(batch(1, 1), batch(1, 1))
                except DeviceError:
                    refused += 1
            # Freeing a device waits for its threads, which are not here.
            del add
            models.clear()
            gc.collect()
            again = load(compiled("add"), threads=2)
            code = 0 if refused == 2 and (again(batch(1, 1), batch(1, 1)) == 2).all() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(models[1](batch(1, 1), batch(1, 1)), batch(1, 2))
    for add in models:
        add.close()


def test_save_writes_what_load_reads(compiled, tmp_path):
    path = tmp_path / "add.vmfb"
    with load(compiled("add")) as add:
        add.save(path)
    assert path.read_bytes() == compiled("add")
    with load(path) as again, load(str(path)) as third:
        np.testing.assert_array_equal(again(batch(1, 1), batch(1, 2)), batch(1, 3))
        again.save(path)  # onto the very file it is mapped from
        np.testing.assert_array_equal(third(batch(1, 1), batch(1, 2)), batch(1, 3))
    assert os.listdir(tmp_path) == ["add.vmfb"]


def test_save_to_an_impossible_path_leaves_nothing(compiled, tmp_path):
    with load(compiled("add")) as add:
        with pytest.raises(OutputError, match="No such file or directory"):
            add.save(tmp_path / "missing" / "add.vmfb")
        with pytest.raises(OutputError, match="not a regular file"):
            add.save(tmp_path)
        with pytest.raises(OutputError, match="not a regular file"):
            add.save(os.devnull)
    assert os.listdir(tmp_path) == []


def test_a_save_that_fails_half_way_keeps_the_old_file(compiled, tmp_path, monkeypatch):
    path = tmp_path / "add.vmfb"
    path.write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with load(compiled("add")) as add, pytest.raises(OutputError, match="No space left"):
        add.save(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["add.vmfb"]
