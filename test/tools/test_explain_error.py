"""``--explain CODE``, and the codes at the end of errors."""

import importlib
import tomllib
from pathlib import Path

import pytest

from graphc import errors
from graphc.tools import explain_error, gc_run

SCRIPTS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
TOOLS = sorted(set(SCRIPTS["project"]["scripts"]) - {"gc-bench"})


def test_codes_are_the_names_of_the_classes():
    assert errors.InvalidModelError("").code == "invalid-model"
    assert errors.DLPackError.code == "dlpack"
    assert explain_error.kinds()["feed"] is errors.FeedError
    assert len(explain_error.kinds()) > 20


@pytest.mark.parametrize("kind", explain_error.kinds().values(), ids=explain_error.kinds())
def test_every_kind_says_what_it_is_and_what_helps(kind):
    assert explain_error.meaning(kind)
    assert "remedy" in vars(kind)


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_explains(tool, capsys):
    main = importlib.import_module(f"graphc.tools.{tool.replace('-', '_')}").main
    with pytest.raises(SystemExit) as ended:
        main(["--explain", "out-of-memory"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith("out-of-memory (OutOfMemoryError)")
    assert errors.OutOfMemoryError.remedy in out


def test_an_unknown_code_is_answered_with_a_near_one(capsys):
    with pytest.raises(SystemExit) as ended:
        gc_run.main(["--explain", "fed"])
    assert ended.value.code == 2
    assert "no error has the code 'fed' (did you mean 'feed'?)" in capsys.readouterr().err


def test_errors_end_with_their_code(tmp_path, capsys):
    (tmp_path / "noise.onnx").write_bytes(b"noise")
    assert gc_run.main([str(tmp_path / "noise.onnx")]) == 1
    assert capsys.readouterr().err.rstrip().endswith("(--explain invalid-model)")
