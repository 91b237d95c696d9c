"""Measuring beside other runtimes: what is counted, and what becomes of runtimes that fail."""

import json
import multiprocessing
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from numerics import Cases

from graphc.benchmarks import contestant, loaders
from graphc.benchmarks.compare import Setting, compare, show, summary
from graphc.benchmarks.feeds import example_inputs
from graphc.benchmarks.flops import count_flops
from graphc.benchmarks.measure import MeasurementPlan
from graphc.benchmarks.peers import Terms
from graphc.tools import gc_bench

DIGITS = Path(__file__).parents[2] / "examples" / "digits.onnx"
SHORT = MeasurementPlan(rounds=2, burst_seconds=0.01, burst_runs=2, warmup_runs=1)


def _saved(cases: Cases, folder: Path) -> Path:
    path = folder / "model.onnx"
    onnx.save(cases.model(), path)
    return path


def test_products_and_convolutions_are_counted(tmp_path):
    """Each counts with its multiplications, and as many additions."""
    cases = Cases()
    cases.add("MatMul", np.ones((3, 4, 5), np.float32), np.ones((5, 7), np.float32))
    cases.add("Conv", np.ones((2, 6, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32), group=2)
    cases.add("Relu", np.ones((100, 100), np.float32))
    path = _saved(cases, tmp_path)
    expected = 3 * 4 * 5 * 7 + 2 * 4 * 6 * 6 * (3 * 9)
    assert count_flops(path, example_inputs(path)) == 2 * expected


def test_a_comparison_has_a_row_for_each_runtime():
    setting = Setting(["graphc", "onnxruntime"], Terms(1), SHORT, {}, peak=100.0)
    result = compare(DIGITS, setting)
    assert not result.failures
    ours, theirs = result.rows
    assert theirs.ratio_to_best_peer == theirs.ratio_to_onnxruntime == 1
    assert ours.ratio_to_best_peer == ours.ratio_to_onnxruntime > 0
    assert ours.difference < 1e-5
    assert ours.share_of_peak > 0
    assert min(ours.compile_seconds, ours.compile_peak_bytes, ours.run_peak_bytes) > 0
    assert "graphc" in show(result)
    assert "geometric mean" in summary([result])


def _die(path, terms):
    os._exit(7)


def _raise(path, terms):
    raise RuntimeError("no such operator\nand more")


@pytest.mark.parametrize(
    ("loader", "reason"),
    [(_die, "ended with code 7"), (_raise, "RuntimeError: no such operator")],
)
def test_a_runtime_that_fails_is_named(monkeypatch, loader, reason):
    """The processes are forked here, or they would not know the loader."""
    forking = multiprocessing.get_context("fork")
    monkeypatch.setattr(contestant.multiprocessing, "get_context", lambda kind: forking)
    monkeypatch.setitem(loaders.LOADERS, "broken", loader)
    result = compare(DIGITS, Setting(["broken"], Terms(1), SHORT, {}, peak=100.0))
    assert reason in result.failures["broken"]
    assert not result.rows


def test_a_file_that_is_no_model_is_an_error(tmp_path, capsys):
    path = tmp_path / "noise.onnx"
    path.write_bytes(b"\xff\xfe not a model")
    assert gc_bench.main([str(path), "--compare", "onnxruntime"]) != 0
    assert "is not an ONNX model" in capsys.readouterr().err


def test_figures_are_written_as_json(tmp_path):
    target = tmp_path / "figures.json"
    arguments = ["--threads", "1", "--rounds", "1", "--burst", "0.01", "--json", str(target)]
    assert gc_bench.main([str(DIGITS), "--compare", "onnxruntime", *arguments]) == 0
    record = json.loads(target.read_text())
    assert [row["runtime"] for row in record["models"][0]["rows"]] == ["graphc", "onnxruntime"]
    assert record["peak_gflops"] > 1
