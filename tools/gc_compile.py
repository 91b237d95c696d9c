"""gc-compile: compile an ONNX model to a file."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import OutputError, UsageError
from ..runtime.files.output_file import write_atomically
from . import target_listings
from .cli import FAILED, OK, exit_with, run_tool
from .cli_options import (
    add_compile_options,
    add_tuning_options,
    compile_arguments,
    parse_dims,
    tuning_arguments,
)
from .explain_error import add_explain_option
from .progress import ProgressLine
from .target_listings import PrintAndStop

EPILOG = """\
examples:
  gc-compile model.onnx -o model.vmfb
  gc-compile model.onnx -o model.vmfb --dim batch=4 --report
  gc-compile model.onnx -o model.vmfb --tune full --db tuning.jsonl
  gc-compile model.onnx --emit=linalg -o -
  gc-compile model.onnx --check
A model of which some nodes run on the host becomes a .gcm, which graphc.load and gc-run take.
"""
SUFFIXES = {"graph": ".graph.mlir", "linalg": ".linalg.mlir", "vmfb": ".vmfb"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    if flags.check:
        return _check(flags)
    if flags.output == "-" and flags.emit == "vmfb":
        raise OutputError("a .vmfb is not written to a terminal's output; name a file with -o")
    contents, report = _compile(flags)
    suffix = ".gcm" if report.parts else SUFFIXES[flags.emit]
    output = flags.output or Path(flags.model).stem + suffix
    if report.parts and Path(output).suffix == ".vmfb":
        raise OutputError(
            f"'{output}' cannot hold a model of which some nodes run on the host: name it .gcm, or "
            "see them with --no-host"
        )
    if output == "-":
        print(contents.decode(), end="")
    else:
        write_atomically(Path(output), memoryview(contents))
    if flags.report:
        print(report, file=sys.stderr if output == "-" else sys.stdout)
    return OK


def _compile(flags: argparse.Namespace) -> tuple[bytes, Any]:
    arguments, tuning = compile_arguments(flags), tuning_arguments(flags)
    with ProgressLine() as line:
        if flags.emit == "vmfb":
            from ..compile_model import compile_to_file

            return compile_to_file(flags.model, progress=line.show, **tuning, **arguments)
        from ..compile_model import choose_pipeline
        from ..compiler.driver import begin, make_options

        targets = arguments.pop("target")
        reason = choose_pipeline(flags.model, targets, options=arguments, **tuning)
        options = [make_options(each, progress=line.show, **arguments) for each in targets]
        if len(options) > 1:
            raise UsageError(f"--emit={flags.emit} shows the program for one target")
        compilation = begin(flags.model, options[0])
        compilation.report.chosen = reason
        compilation.graph_passes()
        if flags.emit == "linalg":
            compilation.lower()
        return compilation.text().encode(), compilation.report


def _check(flags: argparse.Namespace) -> int:
    from ..compiler.check import check

    found = check(
        flags.model, dims=parse_dims(flags.dims), one_program=True, host=flags.host or True
    )
    print(found)
    return OK if (found.compiles if flags.host else found.native) else FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-compile",
        description="Compile an ONNX model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("model", help="an .onnx file")
    parser.add_argument("-o", "--output", help="the file to write; - for standard output")
    parser.add_argument(
        "--emit", choices=tuple(SUFFIXES), default="vmfb", help="stop after this stage (vmfb)"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="say which nodes would be compiled, run on the host or fail, and stop",
    )
    parser.add_argument("--report", action="store_true", help="print what the compiler did")
    parser.add_argument(
        "--list-targets",
        action=PrintAndStop,
        text=target_listings.targets,
        help="show the targets and their variants, and stop",
    )
    add_compile_options(parser)
    add_tuning_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
