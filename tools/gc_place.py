"""gc-place: choose a device for every node of a model, by measured cost."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..runtime.files.output_file import write_atomically
from .cli import OK, exit_with, run_tool
from .cli_options import parse_dims
from .explain_error import add_explain_option
from .feeds import add_input_options, feeds_of
from .progress import ProgressLine

EPILOG = """\
examples:
  gc-place model.onnx --devices cpu,onnxruntime
  gc-place model.onnx --explain --html placement.html
  gc-place model.onnx --devices vulkan,cpu --dim batch=8 --calibration machine.json -o place.json
Prints the predicted and measured time of a call, and a line for each region: its device, its time
on every device, and what moving it alone would cost; --explain draws it and gives the reasons in
full. The placement file may be edited; see docs/placement.md for how a model runs by it.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    from ..placement import place
    from ..placement.plan import write_plan

    if Path(flags.model).suffix != ".onnx":
        raise UsageError("gc-place takes the .onnx model, whose parts it compiles itself")
    dims = parse_dims(flags.dims)
    with ProgressLine() as line:
        plan = place(
            flags.model,
            flags.devices.split(","),
            lambda inputs: feeds_of(inputs, flags, dims),
            dims=dims,
            threads=flags.threads,
            calibration=flags.calibration,
            measure=not flags.predict,
            progress=line.show,
        )
    if flags.output is not None:
        write_plan(plan, flags.output)
    if flags.html is not None:
        write_atomically(flags.html, memoryview(_page(flags, dims, plan).encode()))
    print(plan.explanation() if flags.explain else plan)
    return OK


def _page(flags: argparse.Namespace, dims: dict[str, int], plan: Any) -> str:
    """The page of gc-view with the placement."""
    from ..compiler.explain import explain

    report = explain(flags.model, dims=dims)
    return report.html(placement=json.loads(plan.to_json()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-place",
        description="Choose a device for every node of a model, by measured cost.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser, "the placement: why each region is where it is")
    parser.add_argument("model", help="an .onnx model")
    parser.add_argument(
        "--devices",
        default="cpu,onnxruntime",
        metavar="NAME,NAME",
        help="targets of graphc, onnxruntime, or host, in order of preference (cpu,onnxruntime)",
    )
    parser.add_argument(
        "--dim", dest="dims", action="append", default=[], metavar="NAME=SIZE",
        help="fix a symbolic dimension",
    )  # fmt: skip
    add_input_options(parser)
    parser.add_argument("--threads", type=int, default=None, help="workers of each device")
    parser.add_argument(
        "--calibration",
        type=Path,
        metavar="FILE",
        help="keep measured times in FILE, for other models and later calls",
    )
    parser.add_argument(
        "--predict",
        action="store_true",
        help="run nothing: predict times from what gc-calibrate measured (--calibration)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the placement to FILE"
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="draw it as a page, as gc-view --placement does"
    )
    return parser


if __name__ == "__main__":
    exit_with(main)
