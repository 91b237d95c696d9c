"""gc-bisect: find the pass, rewrite and nodes that break a model, or the op with wrong code."""

import argparse
from collections.abc import Sequence

from .cli import OK, exit_with, run_tool
from .cli_options import (
    add_comparison_options,
    add_compile_options,
)
from .explain_error import add_explain_option
from .failure_search import command_of, search_arguments
from .feeds import add_input_options

EPILOG = """\
examples:
  gc-bisect model.onnx
  gc-bisect model.onnx --input x=@x.npy --tolerance 1e-3
  gc-bisect model.onnx --predicate 'timeout 10 gc-opt --convert-graph-to-linalg -o out.mlir {}; test $? = 124'
With --predicate, a command that exits with 0 where the program in the file {} shows what is wrong,
the graph passes are searched; without, numbers are compared, interpreted and compiled.
Exit code 1 when nothing is wrong. gc-reduce makes the model small.
"""  # noqa: E501


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    from ..debugging import bisect

    print(bisect(**search_arguments(flags), predicate=command_of(flags)))
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-bisect",
        description="Find what first breaks a model: the pass, the rewrite, the nodes.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("model", help="an .onnx model")
    parser.add_argument("--quiet", action="store_true", help="print the result alone")
    add_comparison_options(parser)
    add_input_options(parser)
    add_compile_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
