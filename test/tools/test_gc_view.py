"""gc-view: a page, and clear errors."""

import json

import pytest

from graphc.tools.gc_view import main


def test_a_page(onnx_file, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert main([str(onnx_file), "-o", str(page), "--assume", "batch=8"]) == 0
    assert capsys.readouterr().out == f"wrote {page}\n"
    text = page.read_text()
    assert "<title>dense · graphc</title>" in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_page_is_called_as_the_model(onnx_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([str(onnx_file), "--dim", "batch=8"]) == 0
    assert (tmp_path / "dense.html").exists()


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--assume", "bach=8"], 2, "no dimension 'bach' is symbolic (those that are: batch)"),
        (["--assume", "batch"], 2, "--assume batch: write NAME=SIZE"),
        (["--profile", "{missing}"], 1, "No such file"),
        (["--profile", "{text}"], 2, "is not JSON"),
        (["--profile", "{json}"], 2, "has no rows"),
        (["--target", "cpu,vulkan"], 2, "one target"),
        (["-o", "{folder}"], 1, "it is a folder"),
        (["--pass-pipeline", "graph-convert-layuot"], 2, "graph-convert-layout"),
    ],
)
def test_errors(onnx_file, tmp_path, refused, flags, code, message):
    (tmp_path / "a.txt").write_text("rows?")
    (tmp_path / "a.json").write_text(json.dumps({"events": []}))
    files = {"missing": "missing.json", "text": "a.txt", "json": "a.json", "folder": "."}
    paths = {name: tmp_path / path for name, path in files.items()}
    refused(main, [onnx_file, *(flag.format(**paths) for flag in flags)], code, message)
