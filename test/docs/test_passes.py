"""The worked example of docs/passes.md, run as it stands."""

import re
from pathlib import Path

from graph_programs import build_module, op_names

import graphc
from graphc.dialects import graph
from graphc.mlir import ir
from graphc.passes.infra.pipeline import run_pipeline
from graphc.passes.infra.report import Report

PAGE = Path(graphc.__file__).parent / "docs" / "passes.md"


def test_the_example_is_a_pass():
    example = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL).group(1)
    exec(compile(example, str(PAGE), "exec"), {"__name__": "passes_page"})
    with ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        module = build_module(lambda x: graph.mul(graph.sigmoid(x), x), "4xf32")
        shared = build_module(uses_sigmoid_twice, "4xf32")
        report = Report()
        run_pipeline(module, "my-fuse-swish", report=report)
        run_pipeline(shared, "my-fuse-swish", report=report)
        assert op_names(module) == ["swish"]
        assert op_names(shared) == ["sigmoid", "mul"]
        statistics = report.rewrites["mul-sigmoid-to-swish"]
        assert statistics.count == 1
        assert list(statistics.declined) == ["the sigmoid has other uses"]


def uses_sigmoid_twice(x):
    gate = graph.sigmoid(x)
    return graph.mul(x, gate), gate
