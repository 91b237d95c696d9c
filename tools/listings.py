"""Listings of gc-opt: passes with their options, and dialects."""

import inspect
import textwrap

from ..dialects import graph
from ..passes.infra import options
from ..passes.infra.base import Pass
from ..passes.infra.registry import MLIR_PASSES, known_passes
from . import program_files

MLIR_DIALECTS = (
    "affine",
    "arith",
    "bufferization",
    "builtin",
    "cf",
    "complex",
    "func",
    "linalg",
    "math",
    "memref",
    "ml_program",
    "quant",
    "scf",
    "shape",
    "tensor",
    "tosa",
    "transform",
    "vector",
)


def passes() -> str:
    """All passes: graphc's with options and documentation, MLIR's by name."""
    parts = [_pass(cls) for cls in known_passes().values()]
    names = textwrap.fill(
        ", ".join(MLIR_PASSES),
        96,
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
    )
    return "\n\n".join([*parts, f"MLIR's own, among others:\n{names}"])


def dialects() -> str:
    """The dialects that programs may use."""
    context = program_files.new_context()
    with context:
        known = [name for name in MLIR_DIALECTS if context.is_dialect_loaded(name)]
    ours = f"{graph.Graph.DIALECT_NAMESPACE} ({len(graph.GraphOp.op_classes)} ops)"
    return f"Available Dialects: {', '.join(sorted([ours, *known]))}"


def _pass(cls: type[Pass]) -> str:
    lines = [f"--{cls.name}    (on {cls.anchor})"]
    lines.append(textwrap.indent(inspect.cleandoc(cls.__doc__ or ""), "    "))
    for name, type_, default in options.describe(cls):
        lines.append(f"      {name}={type_}    default: {default or 'empty'}")
    return "\n".join(lines)
