"""The flags of gc-opt, which are those of mlir-opt."""

import argparse
from typing import Any

from ..aliases import pass_name
from ..passes.infra.options import parse_value
from .explain_error import add_explain_option
from .program_files import SEPARATOR

USAGE = "gc-opt [options] [--a-pass[=options] ...] [file]"
EPILOG = """\
Every pass is a flag, ours and MLIR's; they run in the order given:
  gc-opt --graph-simplify --cse model.onnx
  gc-opt --graph-fold-constants=max-bytes=4096 --canonicalize program.mlir -o out.mlir
  gc-opt --pass-pipeline='func.func(graph-simplify,cse),symbol-dce' program.mlir
The file is MLIR text, MLIR bytecode, or an ONNX model (by its suffix); without one, or with -,
standard input is read. --list-passes shows our passes with their options.
"""


def make_parser() -> argparse.ArgumentParser:
    """The parser of gc-opt's own flags; unknown arguments are passes and the file."""
    parser = argparse.ArgumentParser(
        prog="gc-opt",
        usage=USAGE,
        description="Run passes over an MLIR program or an ONNX model and print the result.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_explain_option(parser)
    _add_pipeline_options(parser.add_argument_group("what to run"))
    _add_output_options(parser.add_argument_group("input and output"))
    _add_check_options(parser.add_argument_group("checks"))
    _add_trace_options(parser.add_argument_group("what happens in between"))
    return parser


def _add_pipeline_options(group: Any) -> None:
    group.add_argument("--pass-pipeline", metavar="TEXT", help="the passes, in mlir-opt's grammar")
    group.add_argument(
        "--load-plugin",
        metavar="PLUGIN",
        action="append",
        default=[],
        help="a Python file or module that registers passes",
    )
    group.add_argument(
        "--run-reproducer", action="store_true", help="run the pipeline that the file carries"
    )
    group.add_argument("--list-passes", action="store_true", help="show our passes and stop")
    group.add_argument("--show-dialects", action="store_true", help="show the dialects and stop")


def _add_output_options(group: Any) -> None:
    group.add_argument("-o", metavar="FILE", default="-", help="where to write (default: stdout)")
    group.add_argument("--emit-bytecode", action="store_true", help="write MLIR bytecode")
    group.add_argument(
        "--split-input-file",
        action="store_true",
        help=f"the parts between '{SEPARATOR}' lines are programs of their own",
    )
    group.add_argument(
        "--allow-unregistered-dialect", action="store_true", help="accept ops nobody defined"
    )
    group.add_argument(
        "--mlir-elide-elementsattrs-if-larger",
        metavar="N",
        type=int,
        help="print constants of more than N elements as '...'",
    )
    group.add_argument("--mlir-print-debuginfo", action="store_true", help="print locations")
    group.add_argument("--mlir-print-op-generic", action="store_true", help="print generic form")


def _add_check_options(group: Any) -> None:
    group.add_argument(
        "--verify-each",
        type=lambda text: parse_value(text, bool),
        default=True,
        metavar="BOOL",
        help="verify after each pass that changed the program (default: true)",
    )
    group.add_argument(
        "--verify-diagnostics",
        action="store_true",
        help="compare diagnostics with the file's 'expected-error {{...}}' comments",
    )
    group.add_argument(
        "--check-rewrites",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="evaluate each rewrite that fires, before and after, on drawn inputs",
    )
    group.add_argument(
        "--verify-roundtrip",
        action="store_true",
        help="check that text and bytecode read back as the same program",
    )
    group.add_argument(
        "--mlir-pass-pipeline-crash-reproducer",
        metavar="STEM",
        help="where a failing pass leaves its reproducer, without suffix (default: a new folder)",
    )


def _add_trace_options(group: Any) -> None:
    for moment in ("before", "after"):
        group.add_argument(
            f"--mlir-print-ir-{moment}",
            metavar="PASSES",
            type=lambda text: [pass_name(name) for name in text.split(",")],
            default=[],
            help=f"print the program {moment} these passes",
        )
        group.add_argument(
            f"--mlir-print-ir-{moment}-all", action="store_true", help=f"... {moment} every pass"
        )
    group.add_argument(
        "--mlir-print-ir-after-change", action="store_true", help="... after each that changed it"
    )
    group.add_argument("--mlir-timing", action="store_true", help="print how long passes took")
    group.add_argument(
        "--report", action="store_true", help="print what was rewritten, and why not"
    )
