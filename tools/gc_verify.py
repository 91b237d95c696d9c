"""gc-verify: compare a compiled model with ONNX Runtime or ONNX's evaluator, value by value."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..runtime.files.output_file import write_atomically
from .cli import FAILED, OK, exit_with, run_tool
from .cli_options import (
    add_compile_options,
    add_reference_options,
    compile_arguments,
    take_target,
)
from .explain_error import add_explain_option
from .feeds import add_input_options, feeds_for
from .progress import ProgressLine

EPILOG = """\
examples:
  gc-verify model.onnx
  gc-verify model.onnx --input x=@x.npy --truth --html report.html
  gc-verify model.onnx --target=interpret --pass-pipeline='graph-simplify'
Exit code 1 when a value lies beyond the tolerance. Inputs that are not given are drawn at random
(see --seed); --dim also sizes these. docs/debugging.md says how to go on from here.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    found = _verify(flags)
    if flags.html is not None:
        write_atomically(flags.html, memoryview(found.page().encode()))
    print(found.table(flags.rows or None))
    return OK if found.within else FAILED


def _verify(flags: argparse.Namespace) -> Any:
    from ..debugging import verify

    if Path(flags.model).suffix != ".onnx":
        raise UsageError("gc-verify takes the .onnx model, which it compiles itself")
    arguments = compile_arguments(flags)
    target = take_target(arguments, "verified")
    with ProgressLine() as line:
        return verify(
            flags.model,
            lambda model: feeds_for(model, flags),
            target,
            reference=flags.reference,
            tolerance=flags.tolerance,
            truth=flags.truth,
            layers=flags.layers,
            unfused=flags.unfused,
            progress=line.show,
            **arguments,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-verify",
        description="Compare a compiled model with a reference, as a whole and value by value.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("model", help="an .onnx model")
    add_reference_options(parser)
    parser.add_argument(
        "--truth", action="store_true", help="also compare both with ONNX's evaluator in float64"
    )
    parser.add_argument(
        "--layers",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="compare the values inside the model, too",
    )
    parser.add_argument(
        "--unfused",
        action="store_true",
        help="compare all values; fusions that would hide them do not happen then",
    )
    parser.add_argument(
        "--rows", type=int, default=30, metavar="N", help="worst values to show; 0: all (30)"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write all of it as a page")
    add_input_options(parser)
    add_compile_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
