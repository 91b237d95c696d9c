"""gc-quantize as its users call it, with what they get wrong."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from quantization_models import DIGITS, batches, heldout
from tool_models import dense, write

from graphc.tools import gc_quantize


@pytest.fixture
def calib(tmp_path):
    """A folder with four batches of digits."""
    folder = tmp_path / "calib"
    folder.mkdir()
    for index, images in enumerate(batches(4)):
        np.save(folder / f"{index}.npy", images)
    return folder


def test_a_model_is_quantised_and_described(calib, tmp_path, capsys):
    np.save(tmp_path / "labels.npy", heldout()[1][:80])
    output, page = tmp_path / "digits.int8.onnx", tmp_path / "page.html"
    code = gc_quantize.main(
        [
            *(str(DIGITS), "--data", str(calib), "-o", str(output), "--html", str(page)),
            *("--metric", "argmax", "--labels", str(tmp_path / "labels.npy"), "--max-drop", "0.02"),
        ]
    )
    assert code == 0
    onnx.checker.check_model(onnx.load(output), full_check=True)
    out, err = capsys.readouterr()
    for text in (
        "error of the outputs: ",
        "loss by argmax: ",
        "features.0.0/Conv",
        f"wrote {output}",
    ):
        assert text in out
    assert err == ""
    assert "<title>digits" in page.read_text()
    assert not list(tmp_path.glob(".*.tmp"))


def test_the_default_output_is_beside_the_caller(calib, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert gc_quantize.main([str(DIGITS), "--data", str(calib), "--rows", "1", "--limit", "2"]) == 0
    assert (tmp_path / "digits.int8.onnx").exists()
    assert "more" in capsys.readouterr().out


def test_dynamic_needs_no_data(tmp_path, capsys):
    source, output = write(dense(), tmp_path / "dense.onnx"), tmp_path / "out.onnx"
    assert gc_quantize.main([str(source), "--dynamic", "-o", str(output)]) == 0
    assert "MatMulInteger" in {node.op_type for node in onnx.load(output).graph.node}
    assert "accuracy is unknown without data" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], 2, "--dynamic"),
        (["--data", "missing"], 1, "there is no calibration data at 'missing'"),
        (["--data", "{calib}", "-o", "{tmp}"], 1, "it is a folder"),
        (["--data", "{calib}", "-o", "{tmp}/no/out.onnx"], 1, "there is no folder"),
        (["--data", "{calib}", "-o", "{model}"], 1, "is the model itself"),
        (["--data", "{calib}", "--exclude", "Conv_7"], 2, "no node is named 'Conv_7'"),
        (["--data", "{calib}", "--max-drop", "-0.5"], 2, "max_drop is -0.5"),
        (["--data", "{calib}", "--labels", "{tmp}/none.npy"], 1, "cannot read"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_and_nothing_is_written(
    refused, calib, tmp_path, arguments, code, text
):
    model = tmp_path / "model.onnx"
    model.write_bytes(DIGITS.read_bytes())
    values = {"calib": calib, "tmp": tmp_path, "model": model}
    before = {path: path.read_bytes() for path in tmp_path.glob("*.*")}
    given = [each.format(**values) for each in arguments]
    if "-o" not in given:
        given += ["-o", str(tmp_path / "out.onnx")]
    refused(gc_quantize.main, [model, *given], code, text)
    assert {path: path.read_bytes() for path in tmp_path.glob("*.*")} == before


def test_files_that_are_no_models(refused, calib, tmp_path):
    (tmp_path / "page.onnx").write_text("<html>not found</html>")
    refused(gc_quantize.main, [tmp_path / "page.onnx", "--data", calib], 1, "is not an ONNX model")
    refused(gc_quantize.main, [tmp_path / "none.onnx", "--data", calib], 1, "cannot read")


def test_ctrl_c_leaves_nothing(calib, tmp_path):
    for index in range(4, 2000):
        (calib / f"{index}.npy").hardlink_to(calib / "0.npy")
    command = [sys.executable, "-m", "graphc.tools.gc_quantize", str(DIGITS), "--data", str(calib)]
    output, temporary = tmp_path / "out.onnx", tmp_path / "temporary"
    temporary.mkdir()
    started = subprocess.Popen(
        [*command, "-o", str(output)], stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    while not any(temporary.glob("graphc-quantize-*/augmented.onnx")):  # it calibrates
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert (started.returncode, err) == (130, "interrupted\n")
    assert not output.exists()
    assert not list(tmp_path.glob(".*"))
    assert not list(temporary.glob("[a-z]*"))  # ONNX Runtime leaves a hidden file
