"""Pipelines: the grammar, resolution of names, and running."""

import time
from dataclasses import dataclass

import numpy as np
import pytest
from graph_programs import build_module, main_of, op_names
from hypothesis import given
from hypothesis import strategies as st

from graphc.dialects import graph
from graphc.errors import PassError, PipelineError, UsageError
from graphc.mlir import ir
from graphc.passes.infra import syntax
from graphc.passes.infra.base import FUNCTION, Pass
from graphc.passes.infra.optimistic import run_optimistically
from graphc.passes.infra.pipeline import Pipeline, run_pipeline
from graphc.passes.infra.printing import IrPrinter
from graphc.passes.infra.registry import MlirPass
from graphc.passes.infra.report import Report
from graphc.passes.infra.reproducer import constant_bytes, pipeline_of
from graphc.passes.infra.stages import StageRecorder


def located_relu(x, name="the relu"):
    with ir.Location.name(name):
        return graph.relu(x)


def relu_twice(x):
    return graph.add(located_relu(x), located_relu(x))


# The grammar.

names = st.from_regex(r"[a-z][a-z0-9]{0,4}(-[a-z0-9]{1,3}){0,2}", fullmatch=True)
options = st.sampled_from(["", "a=1", "a=1 b='x y'", "list=1,2,3 flag", "nested={a b}"])
leaves = st.builds(syntax.Element, names, options)
elements = st.recursive(
    leaves,
    lambda inner: st.builds(
        syntax.Element, st.just("func.func"), nested=st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=6,
)


@given(st.lists(elements, max_size=4).map(tuple))
def test_rendered_pipelines_read_back(pipeline):
    assert syntax.parse(syntax.render(pipeline)) == pipeline


def test_blanks_are_free():
    spaced = " func.func ( a , b { x = 1 } ) , c "
    assert syntax.render(syntax.parse("func.func(a,b{x=1}),c")) == "func.func(a,b{x=1}),c"
    assert [e.name for e in syntax.parse(spaced)] == ["func.func", "c"]


@pytest.mark.parametrize("text", ["a,", "a,,b", "f(a", "f(a))", "a{x=1", "a b", "{x=1}"])
def test_grammar_errors_point_at_the_place(text):
    with pytest.raises(PipelineError, match=r"in the pipeline\n.*\n *\^"):
        syntax.parse(text)


# Names and options.


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", "builtin.module()"),
        ("builtin.module()", "builtin.module()"),
        ("cse", "builtin.module(cse)"),
        ("graph-simplify,cse", "builtin.module(func.func(graph-simplify),cse)"),
        ("func.func(cse),func.func(cse)", "builtin.module(func.func(cse,cse))"),
        (
            "builtin.module(graph-fold-constants{ max-bytes=7 },canonicalize{max-iterations=3})",
            "builtin.module(func.func(graph-fold-constants{max-bytes=7}),"
            "canonicalize{max-iterations=3})",
        ),
        (
            "graph-fold-constants{max-bytes=8388608}",
            "builtin.module(func.func(graph-fold-constants))",
        ),
    ],
)
def test_canonical_text(text, canonical):
    assert str(Pipeline.parse(text)) == canonical
    assert str(Pipeline.parse(canonical)) == canonical


def test_all_unknown_names_and_options_in_one_error():
    text = "csee,func.func(graph-simplify{exept=x}),canonicalize{depth=1},no-such-thing-at-all"
    with pytest.raises(PipelineError) as caught:
        Pipeline.parse(text)
    assert str(caught.value).splitlines() == [
        "no pass 'csee' (did you mean 'cse'?)",
        "graph-simplify: no option 'exept' (did you mean 'except'?)",
        "canonicalize: no such option depth",
        "no pass 'no-such-thing-at-all'",
    ]
    assert isinstance(caught.value, UsageError)


def test_a_module_pass_does_not_run_on_functions():
    with pytest.raises(PipelineError, match=r"runs on builtin\.module, not on func\.func"):
        Pipeline.parse("func.func(graph-specialize-dims)")


# Running.


@dataclass(frozen=True)
class Fail(Pass):
    name = "test-fail"
    anchor = FUNCTION

    def run(self, op, state):
        raise ZeroDivisionError("on purpose")


@dataclass(frozen=True)
class Refuse(Pass):
    name = "test-refuse"

    def run(self, op, state):
        raise UsageError("not like this")


@dataclass(frozen=True)
class EmitError(Pass):
    name = "test-emit-error"
    anchor = FUNCTION

    def run(self, op, state):
        op.regions[0].blocks[0].operations[0].location.emit_error("something is off")


@dataclass(frozen=True)
class BreakTypes(Pass):
    name = "test-break-types"
    anchor = FUNCTION
    dtype = "float64"

    def run(self, op, state):
        result = op.regions[0].blocks[0].operations[0].operation.results[0]
        result.set_type(graph.to_mlir(graph.type_of(result).with_dtype(self.dtype)))


def test_runs_in_place_and_reports(context):
    module = build_module(relu_twice, "4xf32")
    report = Report()
    assert run_pipeline(module, "cse,canonicalize", report=report) is module
    assert op_names(module) == ["relu", "add"]
    assert [(name, changed) for name, _, changed in report.passes] == [
        ("cse", True),
        ("canonicalize", False),
    ]
    assert all(seconds >= 0 for _, seconds, _ in report.passes)


def test_runs_without_a_current_context():
    with ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        module = build_module(relu_twice, "4xf32")
    run_pipeline(module, "graph-simplify,cse")
    assert op_names(module) == ["relu", "add"]


def test_mlir_passes_run_on_functions(context):
    module = build_module(relu_twice, "4xf32")
    run_pipeline(module, "func.func(cse)")
    assert op_names(module) == ["relu", "add"]


def test_a_failing_pass_is_named_and_can_be_reproduced(context, tmp_path):
    module = build_module(relu_twice, "4xf32")
    pipeline = Pipeline.of(MlirPass("cse"), Fail(), MlirPass("canonicalize"))
    with pytest.raises(PassError, match="'test-fail' failed: ZeroDivisionError: on purpose") as e:
        run_pipeline(module, pipeline)
    assert e.value.pass_name == "test-fail"
    assert isinstance(e.value.__cause__, ZeroDivisionError)
    text = str(e.value.reproducer)
    assert pipeline_of(text) == "builtin.module(func.func(test-fail),canonicalize)"
    assert op_names(ir.Module.parse(text)) == ["relu", "add"]
    command = e.value.reproducer.save(tmp_path / "failure")
    assert command == f"gc-opt --run-reproducer {tmp_path}/failure.mlir"
    assert (tmp_path / "failure.mlir").read_text() == text


def test_large_reproducers_are_bytecode(context, tmp_path, monkeypatch):
    import numpy as np

    monkeypatch.setattr("graphc.passes.infra.reproducer.TEXT_LIMIT", 1000)
    weights = np.arange(1000, dtype=np.float32)
    module = build_module(lambda x: graph.add(x, graph.constant(value=weights)), "1000xf32")
    assert constant_bytes(module) == 4000
    with pytest.raises(PassError) as e:
        run_pipeline(module, Pipeline.of(Fail()))
    command = e.value.reproducer.save(tmp_path / "failure")
    assert command.startswith("gc-opt --pass-pipeline='builtin.module(func.func(test-fail))' ")
    again = ir.Module.parse((tmp_path / "failure.mlirbc").read_bytes())
    assert op_names(again) == ["add"]


def test_errors_on_purpose_keep_their_type(context):
    with pytest.raises(UsageError, match="not like this"):
        run_pipeline(build_module(relu_twice, "4xf32"), Pipeline.of(Refuse()))


def test_emitted_errors_fail_the_pass_and_stay_off_stderr(context, capfd):
    module = build_module(relu_twice, "4xf32")
    with pytest.raises(PassError, match="at 'the relu': something is off"):
        run_pipeline(module, Pipeline.of(EmitError()))
    assert capfd.readouterr().err == ""


def test_programs_are_verified_after_each_pass(context, capfd):
    broken = Pipeline.of(BreakTypes())
    with pytest.raises(PassError, match=r"made an invalid program: at 'the relu'.*4xf64") as e:
        run_pipeline(build_module(relu_twice, "4xf32"), broken)
    assert e.value.pass_name == "test-break-types"
    run_pipeline(build_module(relu_twice, "4xf32"), broken, verify_each=False)
    assert capfd.readouterr().err == ""


@dataclass(frozen=True)
class RepairTypes(BreakTypes):
    name = "test-repair-types"
    dtype = "float32"


def test_optimists_verify_the_result_and_name_the_pass(context, capfd):
    steps = [MlirPass("cse"), BreakTypes()]
    with pytest.raises(PassError, match=r"made an invalid program: at 'the relu'.*4xf64") as e:
        run_optimistically(build_module(relu_twice, "4xf32"), Pipeline.of(*steps))
    assert e.value.pass_name == "test-break-types"
    assert op_names(e.value.reproducer.module) == ["relu", "add"]
    assert capfd.readouterr().err == ""
    report = Report()
    steps.append(RepairTypes())
    run_optimistically(build_module(relu_twice, "4xf32"), Pipeline.of(*steps), report=report)
    assert [changed for _, _, changed in report.passes] == [True, True, True]


def test_optimists_run_again_for_the_reproducer_alone(context):
    with pytest.raises(PassError, match="'test-fail' failed: ZeroDivisionError") as e:
        run_optimistically(build_module(relu_twice, "4xf32"), Pipeline.of(MlirPass("cse"), Fail()))
    assert pipeline_of(str(e.value.reproducer)) == "builtin.module(func.func(test-fail))"
    with pytest.raises(UsageError, match="not like this"):
        run_optimistically(build_module(relu_twice, "4xf32"), Pipeline.of(Refuse()))


def test_nobody_needs_to_look_for_changes(context):
    """Programs are verified all the same, and reproducers begin where the pass began."""
    report = Report()
    run_pipeline(build_module(relu_twice, "4xf32"), "cse", report=report, find_changes=False)
    assert [(name, changed) for name, _, changed in report.passes] == [("cse", None)]
    steps = Pipeline(Pipeline.parse("cse").steps + Pipeline.of(BreakTypes()).steps)
    with pytest.raises(PassError, match=r"invalid program: at 'the relu'.*4xf64") as e:
        run_pipeline(build_module(relu_twice, "4xf32"), steps, find_changes=False)
    assert e.value.reproducer is not None
    assert str(e.value.reproducer.module).count("graph.relu") == 1
    recorder = StageRecorder(report, "observed")
    run_pipeline(
        build_module(relu_twice, "4xf32"), "cse,canonicalize", report=report, observers=[recorder],
        find_changes=False,
    )  # fmt: skip
    assert [changed for _, _, changed in report.passes[1:]] == [True, False]


def test_mlir_diagnostics_become_the_message(context, capfd):
    module = build_module(relu_twice, "4xf32")
    with pytest.raises(PassError, match="does not define a symbol table"):
        run_pipeline(module, "func.func(symbol-dce)")
    assert capfd.readouterr().err == ""


def test_printing(context, capsys):
    pipeline = "cse,canonicalize"
    run_pipeline(build_module(relu_twice, "4xf32"), pipeline, observers=[IrPrinter(before=["cse"])])
    printed = capsys.readouterr().err
    assert "IR Dump before cse" in printed
    assert printed.count("graph.relu") == 2
    printer = IrPrinter(after=True, only_changes=True)
    run_pipeline(build_module(relu_twice, "4xf32"), pipeline, observers=[printer])
    printed = capsys.readouterr().err
    assert "IR Dump after cse" in printed
    assert "canonicalize" not in printed


def test_the_module_outlives_its_backups(context):
    module = build_module(relu_twice, "4xf32")
    for _ in range(3):
        run_pipeline(module, "cse,canonicalize,graph-simplify")
    assert main_of(module).name.value == "main"


@pytest.mark.usefixtures("context")
def test_stages_are_kept_as_text_without_large_constants():
    weights = np.arange(100, dtype=np.float32)
    module = build_module(
        lambda x: graph.add(relu_twice(x), graph.constant(value=weights)), "100xf32"
    )
    report = Report()
    recorder = StageRecorder(report, "model")
    recorder.record("imported", module)
    run_pipeline(module, "cse,cse,canonicalize", report=report, observers=[recorder])
    assert [(stage.program, stage.name) for stage in report.stages] == [
        ("model", "imported"),
        ("model", "cse"),  # the second changes nothing
    ]
    counts = [stage.text.count('"graph.relu"') for stage in report.stages]
    assert counts == [2, 1]
    assert "the relu" in report.stages[0].text
    assert "57.0" not in report.stages[0].text


@pytest.mark.usefixtures("context")
def test_keeping_a_stage_costs_nothing_by_the_weights():
    """The text of a program leaves the data of its weights where it lies."""
    weights = np.zeros(32 << 20, np.float32)
    module = build_module(lambda x: graph.add(x, graph.constant(value=weights)), "1xf32")
    report = Report()
    start = time.process_time()
    StageRecorder(report, "model").record("imported", module)
    assert time.process_time() - start < 0.2
    assert len(report.stages[0].text) < 2000
