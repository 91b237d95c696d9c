"""The database that comes with graphc."""

import json

import onnx
import pytest

import graphc
from graphc.compiler.options import Options
from graphc.profiling.machine import this_machine
from graphc.tools import gc_tune
from graphc.tuning import choice, lookup
from graphc.tuning.database import TuningDatabase, TuningRecord, write_database
from graphc.tuning.lookup import find_database, model_key
from graphc.tuning.search_space import SearchSpace

MOST_BYTES = 1_000_000


def test_it_is_small_and_has_gains_only():
    path = lookup._SHIPPED_FILE
    assert path.stat().st_size < MOST_BYTES
    records = find_database("shipped").records.values()
    assert records
    for record in records:
        assert record.machine["processor"]
        assert record.seconds > 0
        assert (record.ratio < 1) == bool(record.changes), record.name


def test_its_changes_are_in_the_space():
    """A pass or an option that is renamed is renamed there."""
    for record in find_database("shipped").records.values():
        threads = record.machine["threads"]
        space = SearchSpace(Options.of("cpu:znver3", threads=threads).pipeline)
        for changes in [record.changes, *(changes for changes, _ in record.tried)]:
            assert space.changes(space.point(changes)) == changes, record.name


def test_its_text_is_the_one_that_merging_makes():
    assert lookup._SHIPPED_FILE.read_text() == find_database("shipped").to_text()


@pytest.fixture
def shipped(convolution, tmp_path, monkeypatch):
    """A shipped database with a record of the convolution, on this machine."""
    key = model_key(convolution, Options.of("cpu", threads=1))
    changes = {"graph-direct-conv.run": "false"}
    database = TuningDatabase()
    database.add(TuningRecord(key, "c", this_machine(1), "f32", "cse", changes, 0.7, seconds=120.0))
    path = tmp_path / "shipped.jsonl"
    write_database(database, path)
    monkeypatch.setattr(lookup, "_SHIPPED_FILE", path)
    return path


def _passes(model) -> set[str]:
    return {record.name for record in model.report.passes}


def test_it_is_read_if_it_is_named(convolution, shipped, monkeypatch):
    monkeypatch.delattr(choice, "search_pipeline")
    for tune in (False, "quick"):
        with graphc.compile(convolution, threads=1, tune=tune, tuning_database="shipped") as model:
            assert "graph-direct-conv" not in _passes(model)
            assert "0.700 of the default's time (shipped)" in model.report.chosen
    with graphc.compile(convolution, threads=1) as model:
        assert "graph-direct-conv" in _passes(model)
        assert model.report.chosen == ""


def test_another_cpu_takes_the_default(convolution, shipped):
    (content,) = map(json.loads, shipped.read_text().splitlines())
    content["machine"]["processor"] = "Z 80"
    shipped.write_text(json.dumps(content) + "\n")
    with graphc.compile(convolution, threads=1, tuning_database="shipped") as model:
        assert "graph-direct-conv" in _passes(model)
        assert model.report.chosen.startswith("pipeline: the default one; shipped has none")


@pytest.mark.usefixtures("machine")
def test_a_search_does_not_write_it(convolution, shipped):
    pytest.importorskip("optuna")
    before = shipped.read_text()
    with graphc.compile(convolution, threads=1, tune=200, tuning_database="shipped") as model:
        assert "nothing was faster" in model.report.chosen
    assert shipped.read_text() == before


@pytest.mark.usefixtures("machine")
def test_the_tool_does_not_write_it(convolution, shipped, tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    before = shipped.read_text()
    onnx.save(convolution, "m.onnx")
    assert gc_tune.main(["m.onnx", "--db=shipped", "--threads=1", "--budget=5"]) == 0
    assert shipped.read_text() == before
    assert not (tmp_path / "shipped").exists()
