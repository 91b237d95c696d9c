"""gc-import-gguf and gc-generate: from a file to text."""

import os
import signal
import subprocess
import sys
import time

import onnx
import pytest
from tiny_language_models import write_gguf, write_model_folder

from graphc.tools.gc_generate import main
from graphc.tools.gc_import_gguf import main as import_gguf

pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")

QUICK = "--opt-level=0"


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    """A cache of compiled models for all of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHC_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of random weights, with a tokenizer."""
    return write_model_folder(tmp_path_factory.mktemp("model"), tokenizer=True, context=512)


def test_from_a_file_to_text(tmp_path, capsys):
    pytest.importorskip("gguf")
    file = write_gguf(tmp_path / "tiny.gguf", "llama", context=512)
    command = [str(file), "-o", str(tmp_path / "out"), "--accuracy-level", "4"]
    assert import_gguf(command) == 0
    nodes = onnx.load(tmp_path / "out" / "model.onnx", load_external_data=False).graph.node
    levels = {a.i for node in nodes for a in node.attribute if a.name == "accuracy_level"}
    assert levels == {4}
    assert f"gc-generate {tmp_path / 'out'}" in capsys.readouterr().out
    arguments = [str(tmp_path / "out"), "--prompt", "abc", "--max-new-tokens", "9"]
    assert main([*arguments, "--stats"]) == 0
    out, err = capsys.readouterr()
    assert len(out) > 1
    assert err.startswith("note: 9 tokens, first after ")
    assert " tokens/s, " in err
    assert "MiB" in err
    assert main(arguments) == 0
    assert capsys.readouterr().out == out
    assert main([str(tmp_path / "out"), "--predict-memory", "300"]) == 0
    assert capsys.readouterr().out.startswith("300 tokens take ")
    assert main([*arguments, "--temperature", "9", "--seed", "3"]) == 0
    drawn = capsys.readouterr().out
    assert drawn != out
    assert main([*arguments, "--stop", out[4]]) == 0
    assert capsys.readouterr().out == out[: out.index(out[4])] + "\n"


def test_a_broken_file(tmp_path, capsys):
    pytest.importorskip("gguf")
    whole = write_gguf(tmp_path / "tiny.gguf", "llama").read_bytes()
    for size in (0, 3, 100, 2000, len(whole) - 100):
        (tmp_path / "cut.gguf").write_bytes(whole[:size])
        assert import_gguf([str(tmp_path / "cut.gguf"), "-o", str(tmp_path / "out")]) == 1
        assert "cut.gguf: not a valid GGUF file" in capsys.readouterr().err
    (tmp_path / "text.gguf").write_bytes(whole.replace(b"gpt-2", b"gpt\xff2"))
    assert import_gguf([str(tmp_path / "text.gguf"), "-o", str(tmp_path / "out")]) == 1
    assert "text.gguf: the metadata has no text at tokenizer.ggml.pre" in capsys.readouterr().err
    assert import_gguf([str(tmp_path / "none.gguf"), "-o", str(tmp_path / "out")]) == 1
    assert "none.gguf: No such file" in capsys.readouterr().err


def test_a_conversation(folder, monkeypatch, capsys):
    questions = iter(["Hi", "", "And then?"])

    def typed(prompt):
        assert prompt == ""  # not a terminal
        try:
            return next(questions)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", typed)
    assert main([str(folder), QUICK, "--chat", "--system", "Be brief.", "--max-new-tokens=5"]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 2


def test_constraints(folder, tmp_path, capsys):
    pytest.importorskip("llguidance")
    assert main([str(folder), QUICK, "--prompt", "a", "--regex", "(yes|no)"]) == 0
    assert capsys.readouterr().out in ("yes\n", "no\n")
    schema = tmp_path / "schema.json"
    schema.write_text('{"enum": [12, 13]}')
    assert main([str(folder), QUICK, "--prompt", "a", "--json-schema", str(schema)]) == 0
    assert capsys.readouterr().out in ("12\n", "13\n")
    assert main([str(folder), QUICK, "--prompt", "a", "--regex", "("]) == 2
    assert "regex: " in capsys.readouterr().err


ERRORS = {
    "no folder": (["nowhere", "--prompt", "a"], 1, "nowhere: there is no genai_config.json"),
    "no tokens": (["FOLDER", "--prompt", "", "--chat", "--regex", "a"], 2, "are for single texts"),
    "a value out of range": (["FOLDER", "--prompt", "a", "--top-p", "2"], 2, "top_p must be"),
    "a prompt too long": (
        ["FOLDER", "--prompt", "a" * 600],
        2,
        "600 tokens, max_length is 512",
    ),
    "an empty prompt": (["FOLDER", "--prompt", ""], 2, "the prompt has no tokens"),
    "no new tokens": (["FOLDER", "--prompt", "a", "--max-new-tokens", "0"], 2, "a positive number"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case, folder, capsys):
    arguments, code, message = ERRORS[case]
    assert main([str(folder) if each == "FOLDER" else each for each in arguments]) == code
    assert message in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_ends_it(folder):
    """With the text so far, the statistics, and no traceback."""
    code = "from graphc.tools.gc_generate import main, exit_with; exit_with(main)"
    arguments = ["--prompt", "a", "--temperature", "5", "--stats"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder), QUICK, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    first = process.stdout.read(1)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    rest, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert first
    assert rest.endswith("\n")
    assert "Traceback" not in err
    assert err.endswith("interrupted\n")
