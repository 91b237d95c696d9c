"""Tests with hundreds of broken and malicious inputs, and of the tool that draws thousands."""

import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from graphc.errors import InvalidModelError, LimitError
from robustness import guiding, kinds, watch
from robustness.__main__ import main
from robustness.input_outcome import EscapeError, outcome_of
from robustness.minimize_model import minimized
from robustness.program_mutations import with_short_loops
from robustness.robustness_results import KindResults, RobustnessResults
from robustness.seeds import own_models

INPUTS = {"structure": 150, "bytes": 100, "external-data": 100, "file": 40, "cache": 20}


@pytest.fixture(autouse=True)
def _few_seeds(monkeypatch):
    """Only our own seed models, without those of ONNX's suite, which take long to load."""
    kinds.seed_models.cache_clear()
    monkeypatch.setattr(kinds, "suite_models", tuple)
    yield
    kinds.seed_models.cache_clear()


@pytest.mark.parametrize("name", INPUTS)
def test_nothing_but_errors_of_graphc(name, tmp_path):
    command = ["--kinds", name, "--inputs", str(INPUTS[name]), "--seed", "7"]
    results = tmp_path / "results.json"
    summary = tmp_path / "summary.json"
    files = ["--json", str(results), "--summary", str(summary), "--keep", str(tmp_path)]
    assert main([*command, *files]) == 0
    written = json.loads(results.read_text())
    assert written["inputs"] == written["kinds"][name]["inputs"] == INPUTS[name]
    assert sum(written["kinds"][name]["outcomes"].values()) == INPUTS[name]
    assert len(written["kinds"][name]["outcomes"]) > 1 or name == "cache"
    counts = json.loads(summary.read_text())["counts"]
    assert counts["inputs"] == counts["accepted"] + counts["refused"] == INPUTS[name]


@pytest.mark.parametrize("name", ["structure", "bytes", "external-data", "file"])
def test_inputs_are_those_of_their_numbers(name):
    kind = kinds.KINDS[name]
    made = [kind.make(kinds.draw_for(name, 3, number)) for number in (0, 1, 2, 3, 0)]
    assert made[0] == made[4]
    assert len(set(made)) > 2


def end_badly(number):
    """Behave like inputs with violations and like inputs without."""
    match number:
        case 1:
            raise KeyError("x")
        case 2:
            os.abort()
        case 3:
            while True:
                pass
        case 4:
            return bytes(1 << 50)
        case 5:
            raise LimitError("too much")
        case 6:
            raise EscapeError("read")
        case 7:
            os._exit(0)
    return None


def test_a_child_that_ends_badly_does_not_end_the_run(monkeypatch):
    monkeypatch.setattr(watch, "CPU_SECONDS", 0.3)
    start = time.perf_counter()
    found = dict(watch.run_all(end_badly, range(9)))
    assert time.perf_counter() - start < 30
    names = {number: outcome.name for number, outcome in found.items()}
    assert names == {
        0: "ok",
        1: "KeyError",
        2: "Crash",
        3: "Hang",
        4: "MemoryError",
        5: "LimitError",
        6: "EscapeError",
        7: "Crash",
        8: "ok",
    }
    assert [number for number, outcome in found.items() if outcome.violation] == [1, 2, 3, 4, 6, 7]


def test_a_violation_is_kept_and_made_small(monkeypatch, tmp_path, capsys):
    def fragile(data):
        model = onnx.ModelProto.FromString(data)
        if any(node.op_type == "Softmax" for node in model.graph.node):
            raise KeyError("a bug")

    kind = kinds.Kind(lambda draw: draw.choice(own_models()[:3]), fragile, ".onnx")
    monkeypatch.setitem(kinds.KINDS, "structure", kind)
    results = tmp_path / "results.json"
    arguments = ["--kinds", "structure", "--inputs", "20", "--keep", str(tmp_path)]
    assert main([*arguments, "--json", str(results)]) == 1
    (violation,) = json.loads(results.read_text())["violations"]
    assert violation["name"] == "KeyError"
    assert violation["where"].endswith("test_robustness.py:fragile")
    assert violation["file"] in capsys.readouterr().out
    kept = onnx.load(violation["file"])
    assert [node.op_type for node in kept.graph.node] == ["Softmax"]
    assert not kept.graph.initializer


def test_one_input_alone(tmp_path, capsys):
    arguments = ["--kinds", "bytes", "--number", "4", "--keep", str(tmp_path)]
    main(arguments)
    (path,) = tmp_path.iterdir()
    assert path.read_bytes() == kinds.KINDS["bytes"].make(kinds.draw_for("bytes", 0, 4))
    assert str(path) in capsys.readouterr().out


def test_every_guided_input_is_counted(tmp_path, monkeypatch):
    pytest.importorskip("atheris")
    seeds = kinds.seed_models()[:200]
    monkeypatch.setattr(guiding, "seed_models", lambda: seeds)
    results = RobustnessResults(0, {"guided": KindResults()})
    guiding.run_guided("guided", 30, results, tmp_path)
    assert results.kinds["guided"].inputs == results.kinds["guided"].outcomes.total() == 30


def test_names_that_are_no_text_may_be_changed(monkeypatch):
    atheris = pytest.importorskip("atheris")
    from robustness.guided import change

    monkeypatch.setattr(atheris, "Mutate", lambda data, size: data)  # libFuzzer alone provides it
    node = helper.make_node("Neg", ["x"], ["marker"])
    model = helper.make_model(helper.make_graph([node], "g", [], []))
    broken = model.SerializeToString().replace(b"marker", b"mark\x80r")
    found = {change(broken, 10_000, seed) for seed in range(300)}
    assert len(found) > 100


def test_a_guided_process_that_is_ended_has_left_its_input(tmp_path, monkeypatch):
    """The process is killed by a signal that it cannot handle; then another one starts."""
    pytest.importorskip("atheris")
    commands = []

    def run(command, **_):
        commands.append(command)
        outcomes, last = map(Path, command[3:5])
        last.write_bytes(b"the last one")
        outcomes.write_text('["ok", "", ""]\n' * (2 if len(commands) == 1 else 7))
        return subprocess.CompletedProcess(command, -9 if len(commands) == 1 else 0, "", "killed")

    monkeypatch.setattr(guiding.subprocess, "run", run)
    monkeypatch.setattr(guiding, "seed_models", lambda: [b""])
    results = RobustnessResults(0, {"guided": KindResults()})
    guiding.run_guided("guided", 10, results, tmp_path)
    assert results.kinds["guided"].outcomes == {"ok": 9, "Crash": 1}
    (violation,) = results.violations
    assert violation.where == "the process ended with code -9"
    assert Path(violation.file).read_bytes() == b"the last one"


def test_kinds_that_are_none(capsys):
    assert main(["--kinds", "nothing"]) == 2
    assert (
        "no kind is called nothing; there are: structure, bytes, guided" in capsys.readouterr().err
    )


def test_what_counts_as_a_violation():
    def refuse():
        raise InvalidModelError("as it should be")

    assert outcome_of(refuse).violation == ""
    assert outcome_of(lambda: None).name == "ok"
    assert outcome_of(lambda: {}["x"]).name == "KeyError"


def test_models_are_made_small():
    nodes = [helper.make_node("Neg", ["x"], [f"v{i}"], name=f"n{i}") for i in range(20)]
    model = helper.make_model(helper.make_graph(nodes, "g", [], []))
    needed = {"n3", "n11"}
    small = minimized(
        model.SerializeToString(),
        lambda data: needed <= {n.name for n in onnx.ModelProto.FromString(data).graph.node},
    )
    assert [node.name for node in onnx.ModelProto.FromString(small).graph.node] == ["n3", "n11"]


def test_what_is_run_has_short_loops():
    """The trip count is computed, a renamed constant, or absent."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["go"]), helper.make_node("Neg", ["v"], ["w"])],
        "b",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("c", 9, []),
         helper.make_tensor_value_info("v", 1, [3])],
        [helper.make_tensor_value_info("go", 9, []), helper.make_tensor_value_info("w", 1, [3])],
    )  # fmt: skip
    nodes = [
        helper.make_node("Add", ["many", "given"], ["more"]),
        *(
            helper.make_node("Loop", [trips, "", value], [result], body=body)
            for trips, value, result in (
                ("more", "x", "a"), ("many", "a", "b"), ("", "b", "d"), ("given", "d", "y"),
            )
        ),
    ]  # fmt: skip
    inputs = [
        helper.make_tensor_value_info("x", 1, [3]),
        helper.make_tensor_value_info("given", 7, []),
    ]
    outputs = [helper.make_tensor_value_info("y", 1, [3])]
    many = helper.make_tensor("many", 7, [], [2**62])
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, [many]))
    model.opset_import[0].version, model.ir_version = 18, 10
    short = onnx.ModelProto.FromString(with_short_loops(model.SerializeToString()))
    onnx.checker.check_model(short, full_check=True)
    feeds = {"x": np.array([1, 2, 3], np.float32), "given": np.array(3)}
    (result,) = onnxruntime.InferenceSession(short.SerializeToString()).run(None, feeds)
    np.testing.assert_array_equal(result, [-1, -2, -3])
