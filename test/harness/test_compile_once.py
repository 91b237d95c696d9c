"""Calls of the backend that are alike."""

import os

import pytest

from graphc.runtime.iree_compile.kernel_cache import KEEP_OBJECTS
from harness.compile_once import CompileOnce, prune


class Backend:
    """Writes its input to its output; counts calls."""

    def __init__(self, code=0, said=""):
        self.code, self.said, self.calls = code, said, 0

    def __call__(self, command, log, **_):
        self.calls += 1
        log.write_text(self.said)
        if self.code == 0:
            source, output = command[1], command[-1]
            with open(source, "rb") as read, open(output, "wb") as write:
                write.write(read.read())
        return self.code


@pytest.fixture
def calls(tmp_path):
    """``calls(backend, *calls)``: number of calls of `backend` for programs, with flags."""

    def count(backend, *calls, **options):
        folder = tmp_path / "kept"
        folder.mkdir(exist_ok=True)
        compile_once = CompileOnce(folder, backend, "iree-compile")
        for number, (program, *flags) in enumerate(calls):
            source, output = tmp_path / f"{number}.mlir", tmp_path / f"{number}.vmfb"
            source.write_text(program)
            command = ["iree-compile", str(source), *flags, "-o", str(output)]
            assert compile_once(command, tmp_path / "log", **options) == backend.code
            assert backend.code or output.read_text() == program
        return backend.calls

    return count


def test_equal_programs_are_compiled_once(calls):
    assert calls(Backend(), ("a", "--x=1"), ("a", "--x=1"), ("b", "--x=1"), ("a", "--x=2")) == 3


def test_failures_and_warnings_are_not_kept(calls):
    assert calls(Backend(code=1), ("a",), ("a",)) == 2
    assert calls(Backend(said="warning"), ("a",), ("a",)) == 2


@pytest.mark.parametrize("flag", [KEEP_OBJECTS, "--iree-hal-dump-executable-files-to=x"])
def test_calls_that_write_other_files_are_made(calls, flag):
    assert calls(Backend(), ("a", flag), ("a", flag)) == 2


@pytest.mark.parametrize("options", [{"timeout": 0.1}, {"progress": print}])
def test_calls_that_may_be_stopped_are_made(calls, options):
    assert calls(Backend(), ("a",), ("a",), **options) == 2
    assert calls(Backend(), ("b",), ("b",), timeout=100.0) == 1


def test_substitutes_of_tests_are_always_called(tmp_path):
    backend = Backend()
    compile_once = CompileOnce(tmp_path, backend, "iree-compile")
    source = tmp_path / "program.mlir"
    source.write_text("program")
    for _ in range(2):
        compile_once(["other", str(source), "-o", str(tmp_path / "out")], tmp_path / "log")
    assert backend.calls == 2


def test_the_modules_used_last_are_kept_for_the_next_run(tmp_path):
    for age, name in enumerate(("newest", "newer", "old")):
        (tmp_path / name).write_bytes(b"x" * 100)
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    prune(tmp_path, 250)
    assert {path.name for path in tmp_path.iterdir()} == {"newest", "newer"}
