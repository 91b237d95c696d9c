"""The examples of the README run as they stand."""

import re
import shutil
from pathlib import Path

import graphc
from graphc.tools import gc_opt

ROOT = Path(graphc.__file__).parent
README = (ROOT / "README.md").read_text()
LONGEST = 120
"""Lines that a first reader has patience for."""


def block(kind: str) -> str:
    """The code block of this kind."""
    (text,) = re.findall(rf"^```{kind}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return text


def test_it_is_short():
    assert len(README.splitlines()) <= LONGEST


def test_the_quickstart_runs(tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "digits.onnx", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    example, names = block("python"), {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["logits"].shape == (3, 10)
    assert "graph.fused" in str(names["module"])
    assert "fuse-epilogue" in capsys.readouterr().out
    named = re.findall(r'\{"(\w+)": images\}', example)
    assert named == [spec.name for spec in names["model"].inputs]


def test_the_rewrite_turns_before_into_after(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("exps.py").write_text(block("python exps.py"))
    lines = block("diff").splitlines(keepends=True)
    before, after = ("".join(each[1:] for each in lines if each[0] in " " + s) for s in "-+")
    Path("before.mlir").write_text(before)
    (command,) = re.findall(r"`gc-opt (.* before\.mlir)`", README)
    assert printed(capsys, "before.mlir") == before
    assert printed(capsys, "--check-rewrites", *command.split()) == after


def printed(capsys, *arguments: str) -> str:
    """The program that gc-opt prints."""
    assert gc_opt.main(arguments) == 0
    return capsys.readouterr().out.rstrip() + "\n"
