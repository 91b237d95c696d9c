"""`graphc.compile` with `tune` and a database, on a machine whose times are made up."""

from itertools import count

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphc
from graphc.compile_model import compile_to_file
from graphc.errors import FeedError, UsageError
from graphc.runtime import ValueSpec
from graphc.tools import gc_compile, gc_run
from graphc.tuning import choice
from graphc.tuning.database import parse_records
from graphc.tuning.measured_feeds import feeds_of

pytest.importorskip("optuna")
X = np.random.default_rng(0).standard_normal((1, 16, 12, 12)).astype(np.float32)


def _has_direct_convolution(report) -> bool:
    return "graph-direct-conv" in {record.name for record in report.passes}


@pytest.fixture
def faster_without(machine):
    machine["graph-direct-conv"] = 0.7


@pytest.fixture
def searches(monkeypatch):
    """The number of searches so far, in a list."""
    real, numbers = choice.search_pipeline, count(1)
    made = [0]

    def search(*args, **options):
        made[0] = next(numbers)
        return real(*args, **options)

    monkeypatch.setattr(choice, "search_pipeline", search)
    return made


@pytest.mark.usefixtures("faster_without")
def test_a_model_is_tuned_and_says_so(convolution):
    with graphc.compile(convolution, threads=1, tune=20, feeds={"x": X}) as tuned:
        (y,) = tuned.run(None, {"x": X})
    assert not _has_direct_convolution(tuned.report)
    first = str(tuned.report).splitlines()[0]
    assert first.startswith("pipeline: 0.700 of the default's time (")
    assert first.endswith(" trials): graph-direct-conv.run = false")
    assert tuned.report.to_dict()["chosen"] == first
    (expected,) = graphc.compile(convolution, "interpret").run(None, {"x": X})
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("faster_without")
def test_what_a_database_has_is_not_searched_for(convolution, tmp_path, searches):
    database = tmp_path / "tuning.jsonl"
    options = {"threads": 1, "tuning_database": database}
    graphc.compile(convolution, tune=20, **options).close()
    assert searches == [1]
    for tune in (False, 20, 5):
        with graphc.compile(convolution, tune=tune, **options) as found:
            assert not _has_direct_convolution(found.report)
            assert f"({database}): graph-direct-conv.run = false" in found.report.chosen
    assert searches == [1]
    graphc.compile(convolution, tune=21, **options).close()  # longer than what was searched
    assert searches == [2]


@pytest.mark.usefixtures("faster_without")
def test_a_database_has_nothing_to_say_of_other_models(convolution, tmp_path):
    database = tmp_path / "tuning.jsonl"
    graphc.compile(convolution, threads=1, tune=20, tuning_database=database).close()
    for options in ({"outputs": ["y"]}, {"opt_level": 2}, {"precision": "strict"}):
        with graphc.compile(convolution, threads=1, tuning_database=database, **options) as other:
            assert "the default one; " in other.report.chosen
            assert "has none for this model" in other.report.chosen
            assert _has_direct_convolution(other.report)


@pytest.mark.usefixtures("faster_without")
def test_a_record_holds_for_other_versions_but_no_other_machine(convolution, tmp_path):
    database = tmp_path / "tuning.jsonl"
    graphc.compile(convolution, threads=1, tune=20, tuning_database=database).close()
    text = database.read_text()
    database.write_text(text.replace('"graphc": "', '"graphc": "0.0.'))
    with graphc.compile(convolution, threads=1, tuning_database=database) as other:
        assert f"({database}, with other versions): graph-direct-conv" in other.report.chosen
        assert not _has_direct_convolution(other.report)
    with graphc.compile(convolution, threads=2, tuning_database=database) as other:
        assert "has none for this model on this CPU" in other.report.chosen
    database.write_text(text.replace("vector_bits=", "vector_bits=1"))
    with graphc.compile(convolution, threads=1, tuning_database=database) as other:
        assert "has none for this model on this CPU" in other.report.chosen


@pytest.mark.usefixtures("machine")
def test_a_search_may_find_nothing(convolution, tmp_path):
    database = tmp_path / "tuning.jsonl"
    with graphc.compile(convolution, threads=1, tune=20, tuning_database=database) as made:
        assert made.report.chosen.startswith("pipeline: the default one; nothing was faster (")
    (record,) = parse_records(database.read_text().splitlines(), "db").records.values()
    assert (record.changes, record.ratio, record.seconds) == ({}, 1.0, 20.0)


@pytest.mark.usefixtures("faster_without")
def test_the_same_database_makes_the_same_module(convolution, tmp_path):
    database = tmp_path / "tuning.jsonl"
    options = {"threads": 1, "cache": False, "tuning_database": database}
    compile_to_file(convolution, "cpu", tune=20, **options)
    first, second = (compile_to_file(convolution, "cpu", **options)[0] for _ in range(2))
    assert first == second != compile_to_file(convolution, "cpu", threads=1, cache=False)[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tune": "fast"}, "not 'fast'"),
        ({"tune": True}, "not True"),
        ({"tune": -1}, "not -1"),
        ({"tune": 0}, "not 0"),
        ({"tune": float("inf")}, "not inf"),
        ({"tune": 1, "pipeline": "cse"}, "a pipeline is given or tuned, not both"),
        ({"tuning_database": "x", "pipeline": "cse"}, "a pipeline is given or tuned, not both"),
        ({"tuning_database": "no.jsonl"}, "there is no database 'no.jsonl'"),
        ({"tune": 1, "target": ["cpu", "vulkan"]}, "tuned for one target, not for 2"),
        ({"tune": 1, "target": "interpret"}, "for interpret nothing is compiled"),
        ({"feeds": {"x": X}}, "feeds are for tune"),
        ({"tune": 1, "place": "auto", "target": ["cpu", "host"]}, "placed or tuned, not both"),
    ],
)
def test_contradictions_are_errors(convolution, arguments, message):
    with pytest.raises(UsageError, match=message):
        graphc.compile(convolution, **arguments)


def test_models_with_parts_on_the_host_are_not_tuned():
    word = helper.make_tensor_value_info("word", TensorProto.STRING, [1])
    node = helper.make_node("Identity", ["word"], ["same"])
    same = helper.make_tensor_value_info("same", TensorProto.STRING, [1])
    model = helper.make_model(helper.make_graph([node], "text", [word], [same]), ir_version=8)
    with pytest.raises(UsageError, match="parts on the host are not tuned: 1 unsupported"):
        graphc.compile(model, tune=1)


def test_text_is_not_random():
    spec = graphc.TensorSpec("x", (2,), "float32")
    word = ValueSpec("word", "tensor(string)")
    with pytest.raises(FeedError, match="give feeds for word"):
        feeds_of([spec, word], None)


@pytest.mark.usefixtures("faster_without")
def test_tools_tune_and_look_up(convolution, tmp_path, capsys):
    onnx.save(convolution, tmp_path / "m.onnx")
    model, database = str(tmp_path / "m.onnx"), str(tmp_path / "db")
    shared = [model, "--threads=1", f"--db={database}"]
    out = str(tmp_path / "m.vmfb")
    assert gc_compile.main([*shared, "--tune=20", "-o", out, "--report"]) == 0
    assert "pipeline: 0.700 of the default's time" in capsys.readouterr().out
    assert gc_compile.main([*shared, "--emit=graph", "-o", "-"]) == 0
    assert "direct_conv" not in capsys.readouterr().out
    assert gc_compile.main([model, "--threads=1", "--emit=graph", "-o", "-"]) == 0
    assert "direct_conv" in capsys.readouterr().out
    np.save(tmp_path / "x.npy", X)
    assert gc_run.main([*shared, "--tune=quick", f"--input=x=@{tmp_path}/x.npy"]) == 0
    assert gc_compile.main([*shared, "--tune=slow"]) == 2
    assert "not 'slow'" in capsys.readouterr().err
