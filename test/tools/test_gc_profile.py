"""gc-profile: a table, JSON and a trace."""

import json

import pytest

from graphc.tools.gc_profile import main


def test_table_json_and_trace(onnx_file, tmp_path, capsys):
    record, trace = tmp_path / "profile.json", tmp_path / "trace.json"
    arguments = ["--runs=2", "--threads=1", "--dim", "batch=8", "--json", record, "--trace", trace]
    assert main([str(onnx_file), *map(str, arguments)]) == 0
    out = capsys.readouterr().out
    assert "product, sum, activation" in out
    assert "2 runs" in out
    assert "MiB are allocated at once at most" in out
    assert json.loads(record.read_text())["peak_bytes"] == 8 * 3 * 4  # the output
    (row,) = json.loads(record.read_text())["rows"]
    assert row["nodes"] == ["product", "sum", "activation"]
    assert row["flops"] == 2 * 8 * 4 * 3 + 2 * 8 * 3  # the product, then sum and activation
    assert len(json.loads(trace.read_text())["traceEvents"]) == 1 + 2


def test_compiled_file(vmfb_file, capsys):
    assert main([str(vmfb_file), "--runs=2", "--threads=1", "--dim", "batch=8"]) == 0
    assert "dispatches take" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.vmfb"], 1, "missing.vmfb: No such file"),
        (["model.gcm"], 2, "only compiled code"),
        (["model.onnx", "--runs=0"], 2, "--runs"),
    ],
)
def test_errors(refused, arguments, code, message):
    refused(main, arguments, code, message)
