"""gc-compile: from an ONNX model to a file that runs."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import OutputError
from .cli import OK, exit_with, run_tool
from .options import add_compile_options, compile_arguments
from .progress import ProgressLine

EPILOG = """\
examples:
  gc-compile model.onnx -o model.vmfb
  gc-compile model.onnx -o model.vmfb --dim batch=4 --report
  gc-compile model.onnx --emit=linalg -o -
"""
SUFFIXES = {"graph": ".graph.mlir", "linalg": ".linalg.mlir", "vmfb": ".vmfb"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    flags = _parser().parse_args(argv)
    return run_tool(lambda: _run(flags))


def _run(flags: argparse.Namespace) -> int:
    from ..driver import begin, make_options
    from ..runtime.output_file import write_atomically

    output = flags.output or Path(flags.model).stem + SUFFIXES[flags.emit]
    if output == "-" and flags.emit == "vmfb":
        raise OutputError("a .vmfb is not written to a terminal's output; name a file with -o")
    arguments = compile_arguments(flags)
    with ProgressLine() as line:
        target, dims, threads, pipeline = (
            arguments.pop(name) for name in ("target", "dims", "threads", "pipeline")
        )
        options = make_options(target, dims, threads, pipeline, progress=line.show, **arguments)
        compilation = begin(flags.model, options)
        compilation.graph_passes()
        if flags.emit != "graph":
            compilation.lower()
        contents = compilation.backend() if flags.emit == "vmfb" else compilation.text().encode()
    if output == "-":
        print(contents.decode(), end="")
    else:
        write_atomically(Path(output), memoryview(contents))
    if flags.report:
        print(compilation.report, file=sys.stderr if output == "-" else sys.stdout)
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-compile",
        description="Compile an ONNX model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="an .onnx file")
    parser.add_argument("-o", "--output", help="the file to write; - for standard output")
    parser.add_argument(
        "--emit", choices=tuple(SUFFIXES), default="vmfb", help="stop after this stage (vmfb)"
    )
    parser.add_argument("--report", action="store_true", help="print what the compiler did")
    add_compile_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
