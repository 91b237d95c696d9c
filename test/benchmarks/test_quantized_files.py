"""Rows of files in quantized forms, without measuring."""

import json
from contextlib import nullcontext
from dataclasses import asdict

import numpy as np
import pytest
from onnx import helper, save
from tool_models import model

from graphc.benchmarks import quantized_files
from graphc.benchmarks.quantized_files import (
    FileMeasurement,
    FileRow,
    main,
    names_of_sizes,
    read_rows,
    steps_between,
)

ROW = FileRow("net", "qdq", {"graphc": 2.0, "f32": 4.0, "onnxruntime": 5.0, "openvino": 2.5})


def test_ratios_are_of_times():
    assert (ROW.to_original, ROW.to_best_peer) == (0.5, 0.8)
    refused = FileRow("net", "f16", problems={"graphc": "no"})
    assert (refused.to_original, refused.to_best_peer) == (None, None)


def test_steps_are_of_the_range_of_each_output():
    truth = [np.float32([0, 1, 2, 5]), np.float32([-1, 1])]
    given = [np.float32([0, 1, 2, 4.9]), np.float32([-1, 1.1])]
    assert steps_between(given, truth) == pytest.approx(0.05 * 255, rel=1e-5)
    assert steps_between([np.float32([np.nan, 1])], [np.float32([1, 1])]) == np.inf
    assert steps_between([np.float32([1])], [np.float32([1, 1])]) == np.inf


def test_known_cases_are_not_measured_again(tmp_path, monkeypatch, capsys):
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    paths, results = [tmp_path / "net.onnx", tmp_path / "other.onnx"], tmp_path / "rows.jsonl"
    for path in paths:
        save(model(nodes, {"x": ["n", 3]}, {"y": ["n", 3]}), path)
    results.write_text(json.dumps(asdict(ROW)) + '\n{"file": "ot')
    measured = []
    monkeypatch.setattr(quantized_files, "prepared", _unchanged)
    monkeypatch.setattr(
        FileMeasurement, "row", lambda self, file, source, form: measured.append(file.path) or ROW
    )
    assert main([*map(str, paths), "--results", str(results), "--forms", "qdq"]) == 0
    assert measured == [paths[1]]
    assert read_rows(results) == [ROW, ROW]
    assert "qdq / the f32 original: 0.50 of 2 files, worst 0.50 (net)" in capsys.readouterr().out
    assert names_of_sizes(paths[0]) == {"n"}


def _unchanged(source, path):
    del path
    return nullcontext(source)


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(asdict(ROW)) + '\n{"file": "ot')
    assert read_rows(path) == [ROW]
