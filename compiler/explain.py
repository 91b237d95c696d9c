"""Run of the graph passes over a model, without a backend."""

import os
from collections.abc import Mapping
from typing import Any

from ..errors import UnsupportedModelError
from ..passes.infra.report import Report
from ..runtime import Target
from ..viewing import CompilationReport
from .driver import Compilation, begin, compiled_parts, make_options, model_name, plan_parts
from .options import Options


def explain(
    model: "str | os.PathLike[str] | bytes | Any",
    target: str | Target = "cpu",
    *,
    dims: Mapping[str, int] | None = None,
    pipeline: str | None = None,
    precision: str = "f32",
    host: str | bool = True,
    check_rewrites: bool = False,
) -> CompilationReport:
    """Run the passes over the graph of an ONNX model, without compiling: the report lists their
    effects, and shows the graph after each of them (`CompilationReport.html`).

    Arguments and errors are those of `graphc.compile`.
    """
    options = make_options(
        target, dims=dims, pipeline=pipeline, precision=precision, host=host,
        check_rewrites=check_rewrites,
    )  # fmt: skip
    try:
        compilation = begin(model, options)
    except UnsupportedModelError:
        if not host:
            raise
        return _explain_parts(model, options)
    compilation.graph_passes()
    return CompilationReport.of(compilation.report)


def _explain_parts(model: Any, options: Options) -> CompilationReport:
    report = Report(title=model_name(model))
    for each in compiled_parts(plan_parts(model, options, report), options, report):
        if isinstance(each, Compilation):
            each.graph_passes()
    return CompilationReport.of(report)
