"""The backend compiler as a child: what it says is passed on, and nothing of it is left."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphc.errors import (
    BackendError,
    BackendTimeoutError,
    CompilationCancelledError,
    OutputError,
    UsageError,
)
from graphc.runtime import compile_module, load, resolve_target
from graphc.runtime.cache.compile_cache import CompileCache
from graphc.runtime.iree_compile import compiler, executables

CPU = resolve_target("cpu")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake compilers are scripts")


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files, which must be empty in the end, and a cache."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield folder
    assert os.listdir(folder) == []


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """``fake("exit 3")``: a shell script in place of the compiler."""

    def install(script):
        path = tmp_path / "fake-compile"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(compiler, "find_compiler", lambda: path)

    return install


def compile_add(source=b"module {}", **options):
    return compile_module(source, target=CPU, threads=1, **options)


def alive(pid):
    # A zombie that nobody waits for counts as gone.
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids):
    """Return whether the processes end soon. A killed process ends when it is next scheduled."""
    deadline = time.monotonic() + 60
    while any(map(alive, pids)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_a_path_is_compiled_and_always_to_the_same_bytes(source, tmp_path):
    path = tmp_path / "add.mlir"
    path.write_bytes(source("add"))
    first, second = (compile_module(path, target=CPU, threads=2) for _ in range(2))
    assert first == second
    with load(first) as model:
        assert model.metadata.name == "add"
    assert os.listdir(tmp_path / "temporary") == []
    assert path.read_bytes() == source("add")


@pytest.mark.parametrize("opt_level", [0, 1, 2, 3])
@pytest.mark.parametrize("data_tiling", [False, True])
def test_options_become_flags(fake, tmp_path, opt_level, data_tiling):
    fake(f'echo "$@" > {tmp_path}/arguments; for last; do :; done; echo made > "$last"')
    module = compile_module(
        b"",
        target=resolve_target("cpu:x86-64-v3"),
        threads=7,
        opt_level=opt_level,
        data_tiling=data_tiling,
        extra_flags=["--iree-opt-const-eval=false"],
    )
    assert module == b"made\n"
    arguments = (tmp_path / "arguments").read_text().split()
    assert f"--iree-opt-level=O{opt_level}" in arguments
    assert f"--iree-opt-data-tiling={str(data_tiling).lower()}" in arguments
    assert "--iree-llvmcpu-number-of-threads=7" in arguments
    assert "--iree-llvmcpu-target-cpu=x86-64-v3" in arguments
    assert arguments[-3:-1] == ["--iree-opt-const-eval=false", "-o"]


@pytest.mark.parametrize("options", [{"opt_level": 4}, {"opt_level": -1}, {"threads": 0}])
def test_impossible_options_are_refused(options):
    with pytest.raises(UsageError, match="must be"):
        compile_module(b"", **{"target": CPU, "threads": 1} | options)


def test_a_diagnostic_names_the_node():
    text = b"""func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {
      %r = tensor.cast %x : tensor<4xf32> to tensor<5xf32> loc("conv_1")
      return %r : tensor<5xf32>
    }"""
    with pytest.raises(BackendError) as caught:
        compile_add(text)
    message = str(caught.value)
    assert message.startswith("the backend compiler failed (exit code 1):\n  at node 'conv_1': ")
    assert "are cast incompatible" in message
    assert f"reproducer: {caught.value.reproducer}" in message


def test_the_command_reproduces_the_failure(tmp_path):
    with pytest.raises(BackendError) as caught:
        compile_add(b"func.func @broken")
    error = caught.value
    assert Path(error.reproducer).is_relative_to(tmp_path / "cache" / "graphc" / "reproducers")
    again = subprocess.run(error.command, shell=True, capture_output=True, text=True)
    assert again.returncode == 1
    assert again.stderr == (Path(error.reproducer) / "diagnostics.txt").read_text().replace(
        next(iter((Path(error.reproducer) / "diagnostics.txt").read_text().split(":"))),
        f"{error.reproducer}/module.mlir",
    )
    script = Path(error.reproducer, "command.sh").read_text()
    assert script == error.command + "\n"


def test_a_crash_is_an_exception():
    # An operation that the backend's own passes cannot digest makes it dereference null.
    text = b"""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %r = "foo.bar"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    with pytest.raises(BackendError, match=r"the backend compiler (crashed \(SIG|failed)"):
        compile_add(text)


def test_what_a_killed_compiler_leaves_is_removed(fake, temporary):
    fake(f'touch "${{TMPDIR:-{temporary}}}/left" && kill -KILL $$')
    with pytest.raises(BackendError, match=r"crashed \(SIGKILL\)"):
        compile_add()
    assert os.listdir(temporary) == []


def test_a_full_disk_is_named(fake, temporary, monkeypatch):
    fake("echo 'error: failed to link' >&2; exit 1")
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=4096))
    with pytest.raises(
        BackendError, match=r"failed to link\n  no space is left .*TMPDIR"
    ) as caught:
        compile_add()
    assert str(temporary) in str(caught.value)


def test_a_missing_folder_for_temporary_files_is_named(fake, tmp_path, monkeypatch):
    fake("exit 1")
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
        with pytest.raises(OutputError, match=r"make a temporary folder: .*none.* TMPDIR"):
            compile_add()


@pytest.mark.parametrize("name", ["ABRT", "SEGV", "KILL"])
def test_a_signal_is_named(fake, name):
    fake(f"kill -{name} $$")
    with pytest.raises(BackendError, match=rf"crashed \(SIG{name}\)") as caught:
        compile_add()
    assert not isinstance(caught.value, BackendTimeoutError)


def test_a_flood_of_diagnostics_is_cut_down(fake):
    fake(
        'i=0; while [ $i -lt 20000 ]; do echo "<unknown>:0: error: loc(\\"n$i\\"): bad" >&2;'
        " i=$((i+1)); done; exit 1"
    )
    with pytest.raises(BackendError) as caught:
        compile_add()
    lines = str(caught.value).splitlines()
    assert lines[1:6] == [f"  at node 'n{i}': bad" for i in range(5)]
    assert lines[6].startswith("  ... and ")
    assert len(lines) == 8


def test_a_diagnostic_with_all_constants_is_cut_down(fake):
    fake("echo 'error: op with dense<' >&2; head -c 3000000 /dev/zero | tr '\\0' 7 >&2; exit 1")
    with pytest.raises(BackendError) as caught:
        compile_add()
    assert len(str(caught.value)) < 2000


def test_fused_locations_name_all_nodes(fake):
    fake("""echo '<unknown>:0: error: loc(fused["conv", "relu"]): no' >&2; exit 1""")
    with pytest.raises(BackendError, match="at node 'conv', 'relu': no"):
        compile_add()


def test_success_without_a_module_is_a_failure(fake):
    fake("exit 0")
    with pytest.raises(BackendError, match="wrote no module"):
        compile_add()


def test_a_compiler_that_cannot_start_is_an_error(fake, tmp_path):
    fake("exit 0")
    (tmp_path / "fake-compile").chmod(0o644)
    with pytest.raises(BackendError, match="cannot be run"):
        compile_add()
    with pytest.raises(BackendError, match=r"cannot be run|could not open|No such file"):
        compile_module(tmp_path / "missing.mlir", target=CPU, threads=1)


def test_the_compiler_has_no_input_to_wait_for(fake):
    fake('read line && exit 5; for last; do :; done; echo made > "$last"')
    assert compile_add(timeout=60) == b"made\n"


def hanging(tmp_path):
    """A script that waits for a child of its own, and says who both are."""
    return f"sleep 60 & echo $! $$ > {tmp_path}/pids; wait"


def pids(tmp_path):
    """The process ids of the script and its child, once both run."""
    path = tmp_path / "pids"
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def test_a_timeout_ends_the_compiler_and_its_children(fake, tmp_path):
    fake(hanging(tmp_path))
    start = time.monotonic()
    with pytest.raises(BackendTimeoutError, match=r"did not finish within 0.8 s") as caught:
        compile_add(timeout=0.8)
    assert time.monotonic() - start < 50, "the script would hang for a minute"
    assert gone(pids(tmp_path))
    assert caught.value.command.endswith("module.vmfb")
    assert Path(caught.value.reproducer, "module.mlir").read_bytes() == b"module {}"


def test_progress_beats_and_cancels(fake, tmp_path):
    fake(hanging(tmp_path))
    events = []

    def progress(event):
        events.append(event)
        if event.elapsed > 0.7 and pids(tmp_path):
            raise CompilationCancelledError("enough")

    with pytest.raises(CompilationCancelledError, match="enough"):
        compile_add(progress=progress)
    assert {event.stage for event in events} == {"backend"}
    assert len(events) >= 2
    assert [event.elapsed for event in events] == sorted(event.elapsed for event in events)
    assert gone(pids(tmp_path))


def test_ctrl_c_ends_the_compiler(fake, tmp_path):
    fake(hanging(tmp_path))

    def interrupt(event):
        if pids(tmp_path):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        compile_add(progress=interrupt)
    assert gone(pids(tmp_path))


def test_save_temps_keeps_a_success(source, tmp_path):
    folder = tmp_path / "kept" / "here"
    module = compile_add(source("add"), save_temps=folder)
    assert (folder / "module.mlir").read_bytes() == source("add")
    assert (folder / "module.vmfb").read_bytes() == module
    (folder / "module.vmfb").unlink()
    subprocess.run(shlex.split((folder / "command.sh").read_text()), check=True)
    with load(folder / "module.vmfb") as model:
        assert model.metadata.name == "add"


def test_save_temps_keeps_a_failure(fake, tmp_path):
    fake("echo 'error: no' >&2; exit 1")
    with pytest.raises(BackendError) as caught:
        compile_add(save_temps=tmp_path / "kept")
    assert caught.value.reproducer == str(tmp_path / "kept")
    assert (tmp_path / "kept" / "diagnostics.txt").read_text() == "error: no\n"
    assert not (tmp_path / "cache").exists()


def test_what_fails_is_compiled_again_and_verified(fake, tmp_path):
    """The second compilation gives a message with the place, or a program after all."""
    calls = tmp_path / "calls"
    fake(
        f'echo "$1" >> {calls}; case "$1" in --verify=false) exit 1;; esac; '
        'for last; do :; done; echo made > "$last"'
    )
    assert compile_add() == b"made\n"
    assert [line.startswith("--verify") for line in calls.read_text().split()] == [True, False]
    fake('case "$1" in --verify=false) echo "error: late" >&2; exit 134;; esac; '
         'echo "error: early" >&2; exit 1')  # fmt: skip
    with pytest.raises(BackendError, match="early") as caught:
        compile_add()
    assert "late" not in str(caught.value)
    assert "--verify" not in caught.value.command


def test_a_program_that_does_not_verify(fake):
    """IREE's own passes leave such programs; the message is that of what fails in the end."""
    fake(
        'case "$1" in --verify=false) echo "error: late" >&2; exit 1;; esac; '
        'echo "error: explicit execution regions must only contain explicit ops" >&2; exit 1'
    )
    with pytest.raises(BackendError, match="late") as caught:
        compile_add()
    assert "explicit" not in str(caught.value)
    assert "--verify=false" in caught.value.command


def test_both_compilations_share_the_time(fake):
    fake('case "$1" in --verify=false) sleep 0.5; exit 1;; esac; sleep 60')
    start = time.monotonic()
    with pytest.raises(BackendTimeoutError, match="within 1 s"):
        compile_add(timeout=1)
    assert time.monotonic() - start < 30


def test_what_is_in_the_cache_is_not_compiled_again(fake, tmp_path):
    counted = tmp_path / "count"
    fake(f'echo >> {counted}; for last; do :; done; wc -l < {counted} > "$last"')
    cache = CompileCache(tmp_path / "kept")
    calls = [
        ({}, b"1"),
        ({}, b"1"),
        ({"opt_level": 0}, b"2"),
        ({"target": resolve_target("cpu:x86-64-v3")}, b"3"),
        ({"source": b"module { }"}, b"4"),
        ({"save_temps": tmp_path / "temps"}, b"5"),  # which are wanted
        ({"extra_flags": ["--dump-to=x"]}, b"6"),
        ({"extra_flags": ["--dump-to=x"]}, b"7"),
        ({}, b"5"),
    ]
    for options, expected in calls:
        source = options.pop("source", b"module {}")
        options = {"target": CPU, "threads": 1, "cache": cache, **options}
        assert compile_module(source, **options).strip() == expected
    assert cache.hits == 2


def test_a_failure_is_not_kept(fake, tmp_path):
    fake("exit 1")
    cache = CompileCache(tmp_path / "kept")
    for _ in range(2):
        with pytest.raises(BackendError, match="exit code 1"):
            compile_add(cache=cache)
    assert cache.entries() == []


def test_save_temps_that_cannot_be_written(source, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        compile_add(source("add"), save_temps=tmp_path / "file" / "kept")


def test_a_cache_that_cannot_be_written_does_not_hide_the_failure(fake, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    fake("echo 'error: the real reason' >&2; exit 1")
    with pytest.raises(BackendError, match=r"(?s)the real reason.*no reproducer") as caught:
        compile_add()
    assert caught.value.reproducer is None


def test_only_the_newest_reproducers_stay(fake, tmp_path):
    fake("exit 1")
    for number in range(12):
        with pytest.raises(BackendError) as caught:
            compile_add(b"// %d" % number)
    folders = list((tmp_path / "cache" / "graphc" / "reproducers").iterdir())
    assert len(folders) == 8
    assert Path(caught.value.reproducer) in folders


def test_a_missing_compiler_package_is_named(monkeypatch):
    monkeypatch.setattr(executables.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BackendError, match="needs the package iree-base-compiler"):
        compile_add()


def test_running_a_model_imports_no_compiler(compiled, tmp_path):
    path = tmp_path / "add.vmfb"
    path.write_bytes(compiled("add"))
    script = f"""
import sys
import graphc.runtime
assert "numpy" not in sys.modules and "iree" not in sys.modules
import numpy as np
x = np.ones((1, 4), np.float32)
graphc.runtime.load({str(path)!r})(x, x)
print([name for name in sys.modules if name.startswith(("iree.compiler", "onnx", "torch", "mlir"))])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
