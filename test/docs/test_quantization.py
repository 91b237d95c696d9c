"""The examples of docs/quantization.md run as they stand."""

import re
import shutil
from pathlib import Path

import onnx

import graphc

ROOT = Path(graphc.__file__).parent
PAGE = (ROOT / "docs" / "quantization.md").read_text()


def block(kind):
    (text,) = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return text


def test_the_examples(tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").mkdir()
    for name in ("digits.onnx", "digits_heldout.npz"):
        shutil.copy(ROOT / "examples" / name, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(block("python"), "quantization.md", "exec"), names)
    assert names["result"].loss <= 0.02
    assert "/features/features.0/features.0.0/Conv" in capsys.readouterr().out
    onnx.checker.check_model(onnx.load("digits.int8.onnx"))
    names["labels"] = names["np"].load("examples/digits_heldout.npz")["labels"]
    exec(compile(block("python score"), "quantization.md", "exec"), names)
    assert names["result"].metric == "accuracy"
    assert names["result"].loss <= 0.005
