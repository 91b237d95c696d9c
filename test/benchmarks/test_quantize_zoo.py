"""Scores of quantised real models, without the models."""

import json

import numpy as np
import pytest
from onnx import helper
from quantization_models import three_layers, uniform_feeds
from tool_models import model

from graphc.benchmarks import quantize_zoo, quantized_tasks
from graphc.benchmarks.quantized_tasks import TASKS, QuantizationTask
from graphc.benchmarks.zoo.fetch import Fetched
from graphc.benchmarks.zoo.reading import (
    character_accuracy,
    characters,
    edit_distance,
    read_text,
)


@pytest.mark.parametrize(
    ("have", "want", "edits"),
    [("", "", 0), ("abc", "abc", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3),
     ("ab", "ba", 2), ("RIUER", "RIVER", 1)],
)  # fmt: skip
def test_edit_distance(have, want, edits):
    assert edit_distance(have, want) == edits
    assert edit_distance(want, have) == edits


def test_reading_drops_repetitions_and_blanks():
    made = model([helper.make_node("Relu", ["x"], ["y"])], {"x": [1]}, {"y": [1]})
    helper.set_model_props(made, {"character": "A\nB"})
    known = characters(made)
    assert known == ["", "A", "B", " "]
    steps = np.eye(4)[[1, 1, 0, 1, 2, 3, 3, 0]]
    assert read_text(steps, known) == "AAB "
    assert character_accuracy([("AAB ", "AAB "), ("A", "AB")]) == pytest.approx(1 - 1 / 6)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.zoo.name)
def test_inputs_differ_and_stay(task):
    first, other, again = (task.feed(number) for number in (0, 1, 0))
    name = next(iter(first))
    np.testing.assert_array_equal(first[name], again[name])
    assert not np.array_equal(first[name], other[name])


def test_a_task_is_measured_and_listed(monkeypatch, tmp_path, capsys):
    feeds = uniform_feeds(60)
    feed = lambda number: feeds[number % 60]  # noqa: E731
    scorer = quantized_tasks._agreement(lambda y: y > 0, feed)
    task = QuantizationTask(TASKS[0].zoo, "signs", feed, scorer, max_drop=0.5)
    from onnx import save

    path = tmp_path / "model.onnx"
    save(three_layers(), path)
    monkeypatch.setattr(quantize_zoo, "TASKS", (task,))
    monkeypatch.setattr(Fetched, "path", lambda self, model: path)
    monkeypatch.setattr(quantize_zoo, "fetch", lambda package, cache: Fetched(package, None, cache))
    summary = tmp_path / "summary.json"
    assert quantize_zoo.main(["--summary", str(summary)]) == 0
    (row,) = quantize_zoo.read_rows(summary)
    assert row.score == 1.0
    assert 0.9 < row.score_whole <= 1.0
    assert row.score_compiled == pytest.approx(row.score_kept, abs=0.02)
    assert row.candidates == 3
    assert len(json.loads(summary.read_text())) == 1
    assert f"| {TASKS[0].zoo.name} | signs (max_drop 0.5) | 100.0% |" in capsys.readouterr().out
    assert quantize_zoo.main(["-k", "nothing", "--summary", str(summary)]) == 0
    assert quantize_zoo.read_rows(summary) == [row]
