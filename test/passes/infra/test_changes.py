"""The changes of programs that pipelines find."""

import ast
import inspect
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmark_models import PATHS, load_shortened
from graph_programs import build_module, op_names

import graphc.passes
from graphc.compiler.driver import begin, make_options
from graphc.dialects import graph
from graphc.passes.infra.base import FUNCTION, Pass
from graphc.passes.infra.greedy import apply_rewrites
from graphc.passes.infra.pipeline import Pipeline, distinct_text, run_pipeline
from graphc.passes.infra.registry import known_passes
from graphc.passes.infra.report import Report
from graphc.passes.infra.rewrite import rewrite
from harness.marks import long


def test_passes_that_only_rewrite_say_so():
    """Those of which `run` hands the function to the greedy driver and to nothing else."""
    ours = {name: each for name, each in known_passes().items() if _is_of_package(each)}
    found = {name for name, each in ours.items() if _only_rewrites(each)}
    assert found == {name for name, each in ours.items() if each.only_rewrites}
    assert len(found) > 20


def _is_of_package(pass_class):
    """Other tests load plug-ins, and examples of the documentation, which have no file."""
    file = getattr(sys.modules.get(pass_class.__module__), "__file__", None)
    return file is not None and Path(graphc.passes.__file__).parent in Path(file).parents


def _only_rewrites(pass_class):
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(pass_class.run))).body
    op = tree.args.args[1].arg
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == op]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    rewriting = [each for each in calls if getattr(each.func, "id", "") == "apply_rewrites"]
    return bool(uses) and uses == [each.args[0] for each in rewriting]


class Texts:
    """An observer that notes whether the text of the program changes."""

    def __init__(self):
        self.changed = []

    def before(self, step, module):
        self.text = distinct_text(module)

    def after(self, step, module, changed):
        self.changed.append((step.pass_.name, distinct_text(module) != self.text))


@pytest.mark.parametrize("name", ["mobilenetv2", long("gpt2")])
def test_reports_say_what_changed_the_program(name):
    (path,) = (path for path in PATHS if path.stem == name)
    options = make_options("cpu:x86-64-v4", cache=False)
    module, report, texts = begin(load_shortened(path), options).module, Report(), Texts()
    run_pipeline(module, options.pipeline, report=report, observers=[texts])
    assert [(each.name, each.changed) for each in report.passes] == texts.changed
    assert len(texts.changed) > 30


@rewrite(graph.SqrtOp)
def build_in_vain(op):
    """Build an op, and change nothing."""
    graph.sqrt(op.x)


@rewrite(graph.ReluOp)
def leave_alone(op):
    """Do nothing."""


@dataclass(frozen=True)
class Idle(Pass):
    name = "test-idle"
    anchor = FUNCTION
    only_rewrites = True

    def run(self, op, state):
        apply_rewrites(op, [leave_alone, build_in_vain], state)


@pytest.mark.parametrize("dead", [False, True])
def test_dead_ops_that_the_driver_erases_are_a_change(context, dead):
    def program(x):
        if dead:
            graph.exp(x)
        return graph.relu(x)

    module, report = build_module(program, "4xf32"), Report()
    run_pipeline(module, Pipeline.of(Idle(), Idle()), report=report)
    assert [changed for _, _, changed in report.passes] == [dead, False]
    assert op_names(module) == ["relu"]


def test_ops_that_a_rewrite_leaves_behind_are_a_change(context):
    module, report = build_module(graph.sqrt, "4xf32"), Report()
    run_pipeline(module, Pipeline.of(Idle()), report=report)
    assert [changed for _, _, changed in report.passes] == [op_names(module) != ["sqrt"]]
