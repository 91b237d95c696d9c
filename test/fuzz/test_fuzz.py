"""Graphs drawn at random: what is drawn, and that what is wrong is found and made small."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from planted_rules import plant

from fuzz import history
from fuzz.__main__ import main
from fuzz.builder import GraphBuilder
from fuzz.check_graph import check_case, inputs_of
from fuzz.draw import DrawnGraph, draw_case
from fuzz.drawn_values import Value, is_sane
from fuzz.exporter_conventions import WAYS
from fuzz.families.reduction import fits
from fuzz.findings import chosen, reduce_findings
from fuzz.fuzz_journal import FuzzJournal, FuzzRun
from fuzz.graph_outcome import GraphOutcome, GraphStatus
from fuzz.node_evaluation import IR_VERSION, Rejected
from fuzz.rounds import ReferenceEvaluation, is_unsteady
from fuzz.run_graphs import check_graph
from fuzz.summary import sum_up
from graphc.debugging.onnx.graphs import all_nodes
from graphc.dialects import graph
from graphc.errors import UsageError
from graphc.passes.infra.registry import load_plugin
from graphc.passes.kernels import scalar_functions
from graphc.runtime import CompiledModel

DRAWN = range(250)
PLANTED = str(Path(__file__).parents[1] / "debugging" / "planted.py")


@pytest.fixture(scope="module")
def drawn():
    return [draw_case(3, index) for index in DRAWN]


def test_every_drawn_model_is_valid(drawn):
    for case in drawn:
        weights = {tensor.name for tensor in case.model.graph.initializer}
        assert {info.name for info in case.model.graph.input} - weights <= set(case.feeds)
        if not case.declared:
            onnx.checker.check_model(case.model, full_check=True)
        for array in (*case.feeds.values(), *case.expected.values()):
            assert np.isfinite(array.astype(np.float64)).all()


def test_draws_cover_much(drawn):
    operators = {node.op_type for case in drawn for node in all_nodes(case.model.graph)}
    types = {array.dtype.name for case in drawn for array in case.expected.values()}
    shapes = [info.type.tensor_type.shape.dim for c in drawn for info in c.model.graph.input]
    assert len(operators) >= 120
    assert {"If", "Loop", "Scan", "Conv", "MatMul", "QuantizeLinear"} <= operators
    assert {"LSTM", "GRU", "RNN"} & operators
    assert {"float16", "float32", "float64", "bfloat16", "int32", "int64", "bool"} <= types
    assert any(dim.dim_param for dims in shapes for dim in dims)
    assert len({case.model.opset_import[0].version for case in drawn}) >= 12
    assert any(0 in array.shape for case in drawn for array in case.expected.values())
    assert max(len(case.model.graph.node) for case in drawn) >= 20
    assert {way for case in drawn for way in case.declared} == {way.__name__ for way in WAYS}


def test_a_graph_is_the_same_whenever_it_is_drawn(drawn):
    for case in drawn[::50]:
        again = draw_case(case.seed, case.index)
        assert again.model.SerializeToString() == case.model.SerializeToString()
        assert all(np.array_equal(again.feeds[name], case.feeds[name]) for name in case.feeds)
    assert draw_case(4, 0).model != drawn[0].model


def test_what_may_decide_is_exact_or_far_from_where_it_does():
    near, far = np.array([0.999999, 2.5]), np.array([0.7, 2.5])
    assert not Value("x", near, "float64", exact=False).clear_of()
    assert Value("x", near, "float64", exact=True).clear_of()
    assert Value("x", far, "float64", exact=False).clear_of()


def test_nothing_is_computed_with_what_may_count_as_zero():
    for dtype in (np.float32, np.float64, ml_dtypes.bfloat16):
        assert is_sane(np.array([0.0, -1e-20, 1.0], dtype))
        assert not is_sane(np.array([float(ml_dtypes.finfo(dtype).tiny) / 4, 1.0], dtype))
    assert is_sane(np.array([1e-7], np.float16))


def test_integers_are_combined_as_long_as_they_fit():
    """The order does not matter: a product of zero may have been too large before."""
    values = np.array([[2**20, 2**20, 0], [1, -2, 3]], np.int64)

    def status(op_type, axes, array):
        return fits(Value("x", array, array.dtype.name, exact=True), op_type, axes)

    narrow = values.astype(np.int32)
    assert not status("ReduceProd", None, narrow)
    assert not status("ReduceProd", [1], narrow)
    assert status("ReduceProd", [0], narrow)
    assert status("ReduceProd", None, values)
    assert not status("ReduceProd", None, 8192 * values)
    assert status("ReduceSum", None, narrow)
    assert not status("ReduceSum", None, 1024 * narrow)


def test_what_does_not_fit_is_no_part_of_the_graph():
    b = GraphBuilder(np.random.default_rng(0), 12)
    x = b.new([2, 3], "float32", 0.5, 1)
    for op_type, message in (("Mish", "no reference"), ("Concat", "no reference")):
        with pytest.raises(Rejected, match=message):
            b.add(op_type, [x])
    with pytest.raises(Rejected, match="not sane"):
        b.add("Div", [x, b.known(np.zeros(3, np.float32))])
    assert not b.nodes


def test_a_run(tmp_path, capsys):
    """Some correct graphs are checked in two runs."""
    folder = tmp_path / "out"
    summed_up = folder / "summed_up.json"
    arguments = ["--seed=11", "-o", str(folder), "-j1", f"--summary={summed_up}"]
    assert main([*arguments, "--graphs=6"]) == 0
    assert main([*arguments, "--graphs=8"]) == 2  # what is there is not written over
    assert main([*arguments, "--graphs=8", "--resume"]) == 0
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["graphs"] == summary["counts"]["pass"] == 8
    run = json.loads(summed_up.read_text())
    assert run["counts"]["models"] == run["counts"]["pass"] == 8
    assert run["counts"]["nodes"] == summary["nodes"]
    assert len((folder / "outcomes.jsonl").read_text().splitlines()) == 9
    assert "8 pass, 0 do not" in capsys.readouterr().out


def test_wrong_code_is_found_and_reduced(tmp_path, capsys, monkeypatch):
    """The lowering of Tanh is replaced by another function; processes are forked with it."""
    plant(monkeypatch, graph.TanhOp, lambda op, x: scalar_functions.sigmoid(x))
    index = next(
        case.index
        for case in map(lambda i: draw_case(5, i), range(200))
        if {"Tanh"} < {n.op_type for n in case.model.graph.node}
        and case.reference == "onnxruntime" and len(case.model.graph.node) < 6
        and not case.declared
    )  # fmt: skip
    assert main(["--seed=5", f"--only={index}", "-o", str(tmp_path)]) == 1
    assert "WRONG ANSWER" in capsys.readouterr().out
    folder = tmp_path / f"5-{index:06}"
    finding = json.loads((folder / "finding.json").read_text())
    assert finding["operators"] == ["Tanh"]
    assert "lowering" in finding["bisection"]
    reduced = onnx.load(folder / "model.onnx")
    assert [node.op_type for node in reduced.graph.node] == ["Tanh"]
    assert (folder / "reproduce.sh").exists()
    assert len(onnx.load(folder / "whole" / "model.onnx").graph.node) > 1


def case_of(node, feeds, expected, tolerances):
    infos = [onnx.helper.make_tensor_value_info(name, 1, a.shape) for name, a in feeds.items()]
    outputs = [onnx.helper.make_tensor_value_info("y", 1, [None] * expected.ndim)]
    made = onnx.helper.make_model(
        onnx.helper.make_graph([node], "one", infos, outputs),
        opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=IR_VERSION,
    )  # fmt: skip
    return DrawnGraph(0, 0, made, feeds, {"y": expected}, tolerances, "onnxruntime", {})


def test_how_a_graph_is_judged():
    """A difference is excused only if the reference is as far from float64."""
    x = np.array([1.0, 2.0, 3.0], np.float32)
    node = onnx.helper.make_node("Exp", ["x"], ["y"])

    def status(expected):
        case = case_of(node, {"x": x}, expected, {"y": 1e-4})
        return check_case(case, 60, target="interpret")[0]

    assert status(np.exp(x)) is GraphStatus.PASS
    assert status(np.exp(x) * np.float32(1.01)) is GraphStatus.ILL_CONDITIONED
    assert status(np.exp(x[:2])) is GraphStatus.WRONG
    assert status(np.exp(x).astype(np.float64)) is GraphStatus.WRONG


def test_a_call_may_show_that_a_model_is_beyond_a_limit():
    """The program for weights that a call replaces is compiled for that call."""
    x, weights = np.arange(6, dtype=np.float32), {"sizes": [2, 3, 7], "from": [0], "to": [2]}
    graph_ = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Slice", list(weights), ["shape"]),
            onnx.helper.make_node("Reshape", ["x", "shape"], ["y"]),
        ],
        "two",
        [
            onnx.helper.make_tensor_value_info("x", 1, [6]),
            onnx.helper.make_tensor_value_info("to", 7, [1]),
        ],
        [onnx.helper.make_tensor_value_info("y", 1, [None, None])],
        [onnx.numpy_helper.from_array(np.array(v), name) for name, v in weights.items()],
    )
    opsets = [onnx.helper.make_opsetid("", 18)]
    model = onnx.helper.make_model(graph_, opset_imports=opsets, ir_version=IR_VERSION)
    expected = {"y": x.reshape(2, 3)}
    for feeds, status in (
        ({"x": x}, GraphStatus.PASS),
        ({"x": x, "to": np.array([2])}, GraphStatus.UNSUPPORTED),
    ):
        case = DrawnGraph(0, 0, model, feeds, expected, {"y": 0.0}, "onnxruntime", {})
        ending = check_case(case, 60, target="interpret")
        assert ending.status is status, ending.detail


class Forgetful(dict):
    """Results by the shapes of feeds: what those of the first call were, all later ones are."""

    def of(self, model, run, names, feeds):
        shapes = model, *(array.shape for array in feeds.values())
        return self.setdefault(shapes, run(model, names, feeds))


def test_what_depends_on_the_calls_before_is_found_and_reduced(tmp_path, monkeypatch, capsys):
    run, remembered = CompiledModel.run, Forgetful()
    monkeypatch.setattr(
        CompiledModel, "run", lambda model, names, feeds: remembered.of(model, run, names, feeds)
    )
    x = np.array([1.0, 2.0, 3.0], np.float32)
    node = onnx.helper.make_node("Neg", ["x"], ["y"])
    case = case_of(node, {"x": x}, -x, {"y": 1e-4})
    ending = check_case(case, 60)
    assert (ending.status, ending.inputs, ending.alone) == (GraphStatus.WRONG, 1, False)
    assert "after other calls: 'y' is off by" in ending.detail
    np.save(tmp_path / "input0.npy", x)
    onnx.save(case.model, tmp_path / "model.onnx")
    assert history.main([str(tmp_path / "model.onnx")]) == 0
    monkeypatch.undo()
    assert history.main([str(tmp_path / "model.onnx")]) == 1
    assert check_case(case, 60).status is GraphStatus.PASS


def test_graphs_are_called_with_other_values_and_sizes(drawn):
    values = sizes = 0
    for case in drawn[:30]:
        first, *others = inputs_of(case)
        for each in others:
            assert set(each.expected) == set(first.expected)
            same = all(a.shape == first.feeds[name].shape for name, a in each.feeds.items())
            values, sizes = values + same, sizes + (not same)
    assert values > 30
    assert sizes > 12


def test_sizes_follow_values(drawn):
    """In some of the graphs, inputs of the same shapes give outputs of different shapes."""
    follow = 0
    for case in drawn[:50]:
        first, *others = inputs_of(case)
        follow += any(
            all(array.shape == first.feeds[name].shape for name, array in each.feeds.items())
            and any(a.shape != first.expected[name].shape for name, a in each.expected.items())
            for each in others
        )
    assert follow >= 5


def test_rounding_may_decide_what_other_inputs_give():
    """The exception holds for other inputs, not for the inputs that a graph was drawn with."""
    x = np.array([0.5, 1.5, 2.5], np.float32)

    def unsteady(op_type, feeds):
        case = case_of(onnx.helper.make_node(op_type, ["x"], ["y"]), {"x": x}, x, {"y": 1e-4})
        inputs = ReferenceEvaluation(case.model, "onnxruntime").of({"x": feeds})
        return is_unsteady(
            case.model, inputs, case.tolerances, "onnxruntime", np.random.default_rng(0)
        )

    assert unsteady("Round", x)
    assert not unsteady("Round", x + np.float32(0.25))
    assert not unsteady("Exp", x)
    log = case_of(onnx.helper.make_node("Log", ["x"], ["y"]), {"x": x}, x, {}).model
    assert ReferenceEvaluation(log, "onnxruntime").of({"x": -x}) is None


def test_of_errors_that_read_alike_only_some_are_reduced():
    outcomes = [
        GraphOutcome(i, GraphStatus.ERROR, f"node 'n_{i}' of {i} elements") for i in range(9)
    ]
    outcomes += [
        GraphOutcome(9, GraphStatus.PASS),
        GraphOutcome(10, GraphStatus.WRONG),
        GraphOutcome(11, GraphStatus.CRASH),
    ]
    assert [each.index for each in chosen(outcomes)] == [0, 1, 2, 10, 11]


def test_what_is_not_right_is_a_violation():
    ended = [GraphStatus.PASS, *GraphStatus]
    outcomes = [GraphOutcome(i, each, nodes=3, operators=["Add"]) for i, each in enumerate(ended)]
    run = sum_up(FuzzRun(0, "cpu", {}, "2026-01-31"), outcomes).long_run(jobs=2)
    assert run.violations == 4
    assert run.counts == {
        "models": 8, "nodes": 24, "operators": 1, "pass": 2, "ill-conditioned": 1,
        "declared limit": 1,
    }  # fmt: skip


def test_a_file_of_another_run_is_not_taken_up(tmp_path):
    assert main(["--graphs=0", "-o", str(tmp_path), "-j1"]) == 0
    assert main(["--graphs=0", "--seed=9", "-o", str(tmp_path), "-j1", "--resume"]) == 2
    with pytest.raises(UsageError, match="is no file of results"):
        FuzzJournal.read(tmp_path / "summary.json")


def test_a_wrong_rewrite_is_found_and_named(tmp_path, monkeypatch):
    """The rewrite is from test/debugging/planted.py: a sum that is wrong at one node."""
    case = next(
        case
        for case in map(lambda i: draw_case(6, i), range(200))
        if 3 <= len(case.model.graph.node) < 8 and case.reference == "onnxruntime"
        and not case.declared
        and any(n.op_type == "Add" and n.output[0] in case.expected for n in case.model.graph.node)
    )  # fmt: skip
    sums = [n for n in case.model.graph.node if n.op_type == "Add"]
    node = next(each for each in sums if each.output[0] in case.expected)
    monkeypatch.setenv("GRAPHC_PLANT_AT", node.name)
    load_plugin(PLANTED)
    options = {"target": "interpret", "pipeline": "canonicalize,cse,test-turn-sums,canonicalize"}
    outcome = check_graph(6, 60, options, case.index)
    assert outcome.status is GraphStatus.WRONG, outcome
    (said,) = reduce_findings([outcome], 6, tmp_path, jobs=1, options=options)
    assert "nodes became 1 (Add)" in said
    bisection = json.loads((tmp_path / case.name / "finding.json").read_text())["bisection"]
    assert "turn-sum" in bisection
    assert node.name in bisection
