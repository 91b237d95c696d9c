"""gc-profile: profile the runs of a model by node of the ONNX model."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..runtime.files.output_file import write_atomically
from .cli import OK, exit_with, run_tool
from .cli_options import add_compile_options, compile_arguments, take_target
from .explain_error import add_explain_option
from .feeds import add_input_options, feeds_for
from .progress import ProgressLine

EPILOG = """\
examples:
  gc-profile model.onnx
  gc-profile model.onnx --threads 1 --rows 10 --json profile.json --trace trace.json
  gc-profile model.vmfb --dim batch=8
A trace opens in https://ui.perfetto.dev. A .vmfb has the kernels' names alone; the .onnx model has
those of its nodes, too. Operations are additions and multiplications; Winograd's are its own.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    flags = _parser().parse_args(argv)
    return run_tool(lambda: _run(flags))


def _run(flags: argparse.Namespace) -> int:
    if flags.runs < 1 or flags.rows < 0:
        raise UsageError("--runs takes a number from 1 on, --rows one from 0 on")
    found = _profile(flags)
    for path, contents in ((flags.json, found.to_dict), (flags.trace, found.trace)):
        if path is not None:
            write_atomically(path, memoryview(json.dumps(contents(), indent=1).encode()))
    print(found.table(flags.rows or None))
    return OK


def _profile(flags: argparse.Namespace) -> Any:
    from ..profiling import profile, profile_compiled
    from ..runtime.threads.usable_cpus import usable_cpus

    def feeds(model: Any) -> dict[str, Any]:
        return feeds_for(model, flags)

    if Path(flags.model).suffix == ".gcm":
        raise UsageError(
            "only compiled code can be profiled: a .gcm has nodes that run on the host"
        )
    if Path(flags.model).suffix == ".vmfb":
        contents = Path(flags.model).read_bytes()
        threads = flags.threads or usable_cpus()
        return profile_compiled(contents, feeds, threads=threads, runs=flags.runs)
    arguments = compile_arguments(flags)
    target = take_target(arguments, "profiled")
    with ProgressLine() as line:
        return profile(flags.model, feeds, target, runs=flags.runs, progress=line.show, **arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-profile",
        description="Measure each dispatch of a model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("model", help="an .onnx model, or a .vmfb that gc-compile wrote")
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="runs to measure (20)")
    parser.add_argument(
        "--rows", type=int, default=30, metavar="N", help="slowest dispatches to show; 0: all (30)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of it as JSON")
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="write a trace, which Perfetto opens"
    )
    add_input_options(parser)
    add_compile_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
