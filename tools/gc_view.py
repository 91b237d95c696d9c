"""gc-view: render the graph before and after every pass, its memory and rewrites, as a page."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import OutputError, UsageError
from ..runtime.files.output_file import write_atomically
from .cli import OK, exit_with, run_tool
from .cli_options import add_graph_options, graph_arguments, parse_dims, take_target
from .explain_error import add_explain_option

EPILOG = """\
examples:
  gc-view model.onnx
  gc-view model.onnx -o report.html --assume batch=8 --assume seq=128
  gc-profile model.onnx --json profile.json && gc-view model.onnx --profile profile.json
  gc-place model.onnx -o place.json && gc-view model.onnx --placement place.json
The page is one file that loads nothing. Keys: / searches, [ and ] step through the passes.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    profile = None if flags.profile is None else _read_json(flags.profile)
    placement = None if flags.placement is None else _read_json(flags.placement)
    sizes = parse_dims(flags.assume, "--assume")
    arguments = graph_arguments(flags)
    target = take_target(arguments, "shown")
    output = flags.output or Path(f"{Path(flags.model).stem}.html")
    if output.is_dir():
        raise OutputError(f"cannot write {output}: it is a folder")

    from ..compiler.explain import explain

    report = explain(flags.model, target, **arguments)
    page = report.html(profile=profile, sizes=sizes, placement=placement)
    write_atomically(output, memoryview(page.encode()))
    print(f"wrote {output}")
    return OK


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-view",
        description="Show what the passes make of a model, as a page for the browser.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("model", help="an .onnx file")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the page to write (MODEL.html)"
    )
    parser.add_argument(
        "--profile", type=Path, metavar="FILE", help="what gc-profile --json wrote for this model"
    )
    parser.add_argument(
        "--placement", type=Path, metavar="FILE", help="what gc-place -o wrote for this model"
    )
    parser.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="the size of a dimension that stays symbolic, for the memory (1)",
    )
    add_graph_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
