"""gc-serve: the server as a process, and its command line."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from serving_models import CHUNK, SLOTS

from graphc.tools.gc_serve import main

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("tokenizers")


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_ends_it(folder, model, cache_folder):
    """The running answer ends with an error, and the process at once, with no traceback."""
    code = "from graphc.tools.gc_serve import main, exit_with; exit_with(main)"
    options = [f"--slots={SLOTS}", f"--prefill-chunk={CHUNK}", "--opt-level=0"]
    arguments = [str(folder), "--port=0", *options]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "GRAPHC_CACHE": str(cache_folder)},
    )  # fmt: skip
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.fullmatch(r"note: (tiny\w*) at http://127.0.0.1:(\d+)/v1: 4 slots of 128 .*\n", line)
    assert found, line
    connection = http.client.HTTPConnection("127.0.0.1", int(found[2]), timeout=60)
    fields = {"model": found[1], "prompt": "Hello", "min_tokens": 100, "max_tokens": 110}
    repeat = {"n": 60, "stream": True}  # long enough to be interrupted
    headers = {"content-type": "application/json"}
    connection.request("POST", "/v1/completions", json.dumps({**fields, **repeat}), headers)
    response = connection.getresponse()
    first = response.read(20)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    rest = response.read()
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - begin < 30
    assert process.returncode == 130
    assert first.startswith(b"data: {")
    *_, last, done, _ = rest.split(b"\n\n")
    assert json.loads(last.removeprefix(b"data: "))["error"]["code"] == "server_shutdown"
    assert done == b"data: [DONE]"
    assert err == "interrupted\n"
    connection.close()


ERRORS = {
    "no folder": (["nowhere"], 1, "nowhere: there is no genai_config.json"),
    "no slots": (["FOLDER", "--slots", "0"], 2, "--slots takes a positive number"),
    "no time": (["FOLDER", "--request-timeout", "nan"], 2, "--request-timeout takes a positive"),
    "a negative queue": (["FOLDER", "--queue=-1"], 2, "--queue takes a number from 0 on"),
    "no port": (["FOLDER", "--port", "65536"], 2, "--port takes a number from 0 to 65535"),
    "another's address": (["FOLDER", "--host", "192.0.2.1"], 1, "annot assign requested address"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case, folder, capsys):
    arguments, code, message = ERRORS[case]
    arguments = [str(folder) if each == "FOLDER" else each for each in arguments]
    assert main(["--port", "0", *arguments]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_a_package_that_is_missing(package, folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    assert main([str(folder), "--port", "0"]) == 1
    expected = f"error: a server needs the package {package}: pip install 'graphc[serve]'"
    assert capsys.readouterr().err.startswith(expected)


def test_an_open_address(folder, model, monkeypatch, capsys):
    """Without a key there is a warning, with one there is none."""
    from graphc.serving.http.server import ModelServer

    served = []
    monkeypatch.setattr("graphc.generation.load", lambda *given, **options: model)
    monkeypatch.setattr(model, "close", lambda: None)
    monkeypatch.setattr(ModelServer, "serve_on", lambda self, listener: served.append(listener))
    arguments = [str(folder), "--host", "0.0.0.0", "--port", "0", "--model-name", "mine"]
    assert main(arguments) == 0
    err = capsys.readouterr().err
    assert "warning: everyone who reaches 0.0.0.0 can use the server: set --api-key\n" in err
    assert "note: mine at http://0.0.0.0:" in err
    monkeypatch.setenv("GRAPHC_API_KEY", "secret")
    assert main(arguments) == 0
    assert "warning" not in capsys.readouterr().err
    assert len(served) == 2
