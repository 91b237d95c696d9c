"""Programs in forks behave as in processes of their own."""

import os
import subprocess
import sys
import time

import pytest

from harness import fork_server

PROGRAM = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n"


@pytest.fixture(scope="module")
def socket_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("fork_server") / "socket"
    with fork_server.start(path) as server:
        yield path
        server.stdin.close()


def _run(path, program, *arguments, **options):
    command = [*fork_server.command(program, path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize(
    "arguments",
    [["--graph-simplify", "-"], ["--graph-simplfy", "-"], ["-", "no-such-file.mlir"], ["--help"]],
)
def test_output_and_exit_code_are_the_same(socket_path, arguments):
    found = _run(socket_path, "gc-opt", *arguments, input=PROGRAM)
    alone = subprocess.run(
        [sys.executable, "-m", "graphc.tools.gc_opt", *arguments],
        input=PROGRAM, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == alone.returncode
    assert found.stdout.replace("gc-opt", "gc_opt.py") == alone.stdout.replace(
        "gc-opt", "gc_opt.py"
    )
    assert found.stderr == alone.stderr


def test_folder_and_environment_are_those_of_the_client(socket_path, tmp_path):
    (tmp_path / "here.mlir").write_text(PROGRAM)
    for _ in range(2):  # a fork leaves nothing behind for the next one
        found = _run(socket_path, "gc-opt", "--cse", "here.mlir", cwd=tmp_path)
        assert (found.returncode, found.stderr) == (0, "")
        assert "@main" in found.stdout


def test_a_check_that_fails(socket_path, tmp_path):
    checks = tmp_path / "checks"
    checks.write_text("// CHECK: 3\n")
    assert _run(socket_path, "filecheck", str(checks), input="123\n").returncode == 0
    assert _run(socket_path, "filecheck", str(checks), input="12\n").returncode == 1


def test_a_crash_is_no_success(socket_path, tmp_path):
    plugin = tmp_path / "crash.py"
    plugin.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    found = _run(socket_path, "gc-opt", "--load-plugin", str(plugin), "-", input=PROGRAM)
    assert (found.returncode, found.stderr) == (fork_server.CRASHED, "gc-opt crashed\n")


def test_the_server_ends_with_the_process_that_started_it(tmp_path):
    script = (
        "import pathlib, sys; from harness import fork_server; "
        "print(fork_server.start(pathlib.Path(sys.argv[1])).pid)"
    )
    started = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "socket")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while _is_running(int(started.stdout)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
