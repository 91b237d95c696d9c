"""Python programs that run in forks of a process which has imported them.

Python takes 0.4 s to start and to import graphc, and a fork of a process that did so 0.02 s. The
tests of lit start some 400 tools, one after the other: `fork_client.py` hands a command line, the
environment and the standard streams to this server, and waits for the exit code.

    python -m harness.fork_server SOCKET    # until standard input ends
"""

import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from pathlib import Path

PROGRAMS = {
    "gc-opt": "graphc.tools.gc_opt",
    "gc-compile": "graphc.tools.gc_compile",
    "gc-run": "graphc.tools.gc_run",
    "filecheck": "filecheck.main",
}
"""The modules whose function `main` is a program."""
IMPORTED = (*PROGRAMS.values(), "graphc.passes.graph_to_linalg.convert")
CRASHED = 70
"""The client's exit code if a program ends without one (EX_SOFTWARE of sysexits.h)."""
_MESSAGE_BYTES = 1 << 20


def start(path: Path) -> "subprocess.Popen[bytes]":
    """Start a server on the socket `path`; it ends with this process."""
    command = [sys.executable, "-m", "harness.fork_server", str(path)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    if server.stdout.readline() != b"ready\n":
        raise RuntimeError("the fork server did not start")
    return server


def command(program: str, path: Path) -> list[str]:
    """The command line of `program` in a fork of the server on `path`, without arguments."""
    client = Path(__file__).with_name("fork_client.py")
    return [sys.executable, "-I", "-S", str(client), str(path), program]


def serve(path: str) -> None:
    """Serve on the socket `path` until standard input ends."""
    for module in IMPORTED:
        importlib.import_module(module)
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(path)
        listener.listen(16)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # clients get the exit codes
        selector.register(listener, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        print("ready", flush=True)
        while sys.stdin not in {key.fileobj for key, _ in selector.select()}:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(connection)
            connection.close()


def _answer(connection: socket.socket) -> None:
    """Run the program that a client asks for, in this fork, and end it."""
    code = CRASHED
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        message, streams, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, 3)
        program, arguments, folder, environment = json.loads(message)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, buffering, encoding="utf-8", closefd=False)  # noqa: SIM115
            for number, (mode, buffering) in enumerate([("r", -1), ("w", -1), ("w", 1)])
        )
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        code = _run(program, arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(str(code).encode())
    except BaseException:  # at the end of this process, nobody else would show it
        traceback.print_exc()
    finally:
        os._exit(code)


def _run(program: str, arguments: list[str]) -> int:
    """The exit code of a program."""
    main = importlib.import_module(PROGRAMS[program]).main
    sys.argv = [program, *arguments]
    try:
        code = main()
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
        return 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        return 1
    return code or 0


if __name__ == "__main__":
    serve(sys.argv[1])
