"""gc-map: run a model on all rows of a data set, on several workers, and resume where it ended."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError
from .cli import OK, exit_with, run_tool
from .cli_options import add_compile_options, compile_arguments
from .explain_error import add_explain_option
from .progress import ProgressLine

EPILOG = """\
examples:
  gc-map model.onnx --input images/ --output predictions/ --batch-size 32 --workers 4
  gc-map model.onnx --input rows.parquet --output out/ --column input_ids=tokens --keep id
  gc-map model.onnx --input s3://bucket/rows --output /shared/out --engine ray --cluster auto
The same command again computes what is missing. docs/distributed.md has the rest.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    from ..distributed import map

    columns = dict(_column(text) for text in flags.column)
    arguments = compile_arguments(flags)
    with ProgressLine() as line:
        result = map(
            flags.model, flags.input, flags.output, engine=flags.engine, cluster=flags.cluster,
            workers=flags.workers, batch_size=flags.batch_size, block_rows=flags.block_rows,
            columns=columns, keep=flags.keep, progress=line.show, **arguments,
        )  # fmt: skip
    earlier = f" ({result.reused} by an earlier run)" if result.reused else ""
    print(f"{result.rows} rows, {len(result.files)} blocks{earlier} in {result.folder}")
    return OK


def _column(text: str) -> tuple[str, str]:
    name, _, column = text.partition("=")
    if not name or not column:
        raise UsageError(f"--column {text}: write INPUT=COLUMN")
    return name, column


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _parser() -> argparse.ArgumentParser:
    from ..distributed.engines import ENGINES
    from ..distributed.mapping import ROWS_PER_BLOCK

    parser = argparse.ArgumentParser(
        prog="gc-map",
        description="Run a model on all rows of a data set, on several workers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("model", help="an .onnx model, or a compiled one")
    parser.add_argument(
        "--input", required=True, metavar="DATA",
        help="a folder or file (.npz, .npy, .parquet), or a URI of Parquet files (s3://...)",
    )  # fmt: skip
    parser.add_argument(
        "--output", required=True, type=Path, metavar="FOLDER",
        help="the folder for the results, which all workers share",
    )  # fmt: skip
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: by the CPUs)")
    parser.add_argument("--batch-size", type=int, metavar="B", help="rows of one call")
    parser.add_argument(
        "--block-rows", type=int, default=ROWS_PER_BLOCK, metavar="N",
        help=f"rows in a block of a .npy file ({ROWS_PER_BLOCK})",
    )  # fmt: skip
    parser.add_argument(
        "--column", action="append", default=[], metavar="INPUT=COLUMN",
        help="the column for an input of another name",
    )  # fmt: skip
    parser.add_argument(
        "--keep", type=_names, metavar="COLUMN,...",
        help="columns to copy to the results (default: all; --keep= for none)",
    )  # fmt: skip
    parser.add_argument("--engine", choices=ENGINES, default="processes", help="who works")
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="scheduler of Ray or Dask (default: a local one)"
    )
    add_compile_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
