"""The driver of a compilation of several models to one module."""

from collections.abc import Mapping
from typing import Any

from ..dialects import graph
from ..dialects.iree.joint_module import JointModule
from ..errors import InvalidModelError, UnsupportedModelError
from ..mlir import create_context, ir
from ..passes.infra.report import Report
from .driver import Compilation, begin
from .options import Options


def to_joint_module(
    models: Mapping[str, tuple[Any, Options]],
) -> tuple[bytes, dict[str, Report]]:
    """The contents of a ``.vmfb`` with an entry point for each of `models` with its `Options`, and
    their reports. Options for the backend are those of the first one."""
    joint, reports = _lower_all(models)
    contents = joint.backend()
    for report in reports.values():
        report.passes.extend(joint.report.passes)
        report.sizes.update(joint.report.sizes)
    return contents, reports


def _lower_all(
    models: Mapping[str, tuple[Any, Options]],
) -> tuple[Compilation, dict[str, Report]]:
    """The lowered programs of `models` as one, and their reports."""
    context, reports = create_context(), dict[str, Report]()
    first: Compilation | None = None
    with graph.sharing_blobs(), context:
        joint = JointModule()
        for name, (model, options) in models.items():
            compilation = _lower(name, model, options, context)
            reports[name] = compilation.report
            joint.add(compilation.module, name)
            del compilation.module
            first = first or compilation
    assert first is not None
    report = Report(title=first.name)
    return Compilation(joint.module, first.name, first.options, report), reports


def _lower(name: str, model: Any, options: Options, context: ir.Context) -> Compilation:
    try:
        compilation = begin(model, options, context)
        compilation.graph_passes()
        compilation.lower()
    except (UnsupportedModelError, InvalidModelError) as error:
        error.add_note(f"in the model of the entry point '{name}'")
        raise
    return compilation
