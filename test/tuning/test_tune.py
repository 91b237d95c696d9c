"""Models tuned on a machine whose times are made up, so that the outcome is known."""

import numpy as np
import onnx
import pytest

import graphc
from graphc import tuning
from graphc.errors import VerificationError
from graphc.tools import gc_tune
from graphc.tuning import trials
from graphc.tuning.candidate import require_equal_results

pytest.importorskip("optuna")
X = np.random.default_rng(0).standard_normal((1, 16, 12, 12)).astype(np.float32)


def test_a_faster_pipeline_is_found_and_kept(convolution, machine, tmp_path):
    machine["graph-direct-conv"] = 0.7
    database = tmp_path / "tuning.jsonl"
    result = tuning.tune(convolution, {"x": X}, threads=1, database=database)
    assert result.ratio == pytest.approx(0.7)
    assert "graph-direct-conv" not in result.pipeline
    assert result.record.changes == {"graph-direct-conv.run": "false"}
    assert "0.700  graph-direct-conv.run = false: the best so far" in str(result)
    assert tuning.pipeline_for(convolution, database, threads=1) == result.pipeline
    (expected,) = graphc.compile(convolution, "interpret").run(None, {"x": X})
    tuned = graphc.compile(convolution, pipeline=result.pipeline, threads=1)
    np.testing.assert_allclose(tuned.run(None, {"x": X})[0], expected, rtol=1e-4, atol=1e-4)
    again = tuning.tune(convolution, {"x": X}, threads=1, database=database)
    assert again.trials[0].changes == result.record.changes


def test_the_default_stays_where_nothing_is_faster(convolution, machine):
    machine["graph-direct-conv"] = 1.05
    result = tuning.tune(convolution, {"x": X}, threads=1)
    assert result.ratio == 1.0
    assert result.record.changes == {}
    assert result.pipeline == graphc.compiler.options.Options.of("cpu", threads=1).pipeline


def test_programs_that_are_the_same_are_measured_once(convolution, machine):
    result = tuning.tune(convolution, {"x": X}, threads=1)
    changed = [name for trial in result.trials for name in trial.changes]
    assert not any(name.startswith(("graph-merge-matmuls", "cpu-fuse-depth")) for name in changed)


def test_wrong_results_never_win(convolution, machine, monkeypatch):
    machine["graph-direct-conv"] = 0.5

    def refuse(contest):
        if "graph-direct-conv" not in contest.candidate.pipeline:
            raise VerificationError("output 'y' differs")

    monkeypatch.setattr(trials, "check_results", refuse)
    result = tuning.tune(convolution, {"x": X}, threads=1)
    assert result.ratio == 1.0
    assert any(trial.outcome.startswith("wrong: output 'y'") for trial in result.trials)


def test_results_are_compared(convolution):
    with graphc.compile(convolution, threads=1) as model:
        (y,) = model.run(None, {"x": X})
        require_equal_results(model, [y], {"x": X})
        with pytest.raises(VerificationError, match="output 'y' differs by"):
            require_equal_results(model, [y + np.abs(y).max()], {"x": X})


def test_an_interrupted_search_keeps_what_it_found(convolution, machine, tmp_path):
    machine["graph-direct-conv"] = 0.7

    def interrupt(event):
        if "best 0.7" in event.stage:
            raise KeyboardInterrupt

    database = tmp_path / "tuning.jsonl"
    tuning.tune(convolution, {"x": X}, threads=1, database=database, progress=interrupt)
    assert "graph-direct-conv" not in tuning.pipeline_for(convolution, database, threads=1)


def test_no_time_is_no_search(convolution, machine):
    assert tuning.tune(convolution, {"x": X}, threads=1, budget=0).trials == ()


def test_the_tool_prints_a_pipeline(convolution, machine, tmp_path, capsys):
    machine["graph-direct-conv"] = 0.7
    onnx.save(convolution, tmp_path / "m.onnx")
    arguments = [str(tmp_path / "m.onnx"), "--db", str(tmp_path / "db"), "--threads", "1"]
    assert gc_tune.main([*arguments, "--trials"]) == 0
    printed = capsys.readouterr().out
    assert "graph-direct-conv.run = false" in printed
    assert "graph-direct-conv" not in printed.splitlines()[-1]
    assert gc_tune.main(["model.bin"]) == 2
    assert "takes an .onnx model" in capsys.readouterr().err
