"""gc-tune: find the fastest pipeline of passes for a model, by measurement."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..errors import UsageError
from .cli import OK, exit_with, run_tool
from .cli_options import parse_dims
from .explain_error import add_explain_option
from .feeds import add_input_options, feeds_of
from .progress import ProgressLine

EPILOG = """\
examples:
  gc-tune model.onnx --budget 600 --db tuning.jsonl
  gc-tune model.onnx --dim batch=8 --db tuning.jsonl --trials
  gc-tune model.onnx --db tuning.jsonl --choices
  gc-tune --merge mine.jsonl theirs.jsonl --db all.jsonl
Prints the pipeline for --pass-pipeline of the other tools. Ctrl-C ends the search and keeps what it
found; docs/tuning.md describes it.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    if flags.merge:
        return _merge(flags)
    if flags.model is None or Path(flags.model).suffix != ".onnx":
        raise UsageError("gc-tune takes an .onnx model, or --merge with databases")
    if flags.choices:
        return _explain(flags)
    from ..tuning import tune
    from ..tuning.executors import PROCESSES

    dims = parse_dims(flags.dims)
    with ProgressLine() as line:
        result = tune(
            flags.model,
            partial(feeds_of, flags=flags, fixed=dims),
            target=flags.target,
            budget=flags.budget,
            dims=dims,
            threads=flags.threads,
            precision=flags.precision,
            database=flags.db,
            seed=flags.seed,
            executor=None if flags.workers is None else PROCESSES,
            workers=flags.workers,
            progress=line.show,
        )
    print(result if flags.trials else f"{result.ratio:.3f} of the default pipeline's time")
    print(result.pipeline)
    return OK


def _explain(flags: argparse.Namespace) -> int:
    """Print what the database has chosen for the model."""
    from ..compiler.options import Options
    from ..tuning.explanation import explain_choices
    from ..tuning.lookup import find_database, find_record

    if flags.db is None:
        raise UsageError("--choices takes the database of --db")
    options = Options.of(
        flags.target, dims=parse_dims(flags.dims), threads=flags.threads, precision=flags.precision
    )
    record = find_record(flags.model, options, find_database(flags.db))
    if record is None:
        raise UsageError(f"{flags.db} has no record of this model on this CPU")
    print(explain_choices(flags.model, options, record))
    return OK


def _merge(flags: argparse.Namespace) -> int:
    from ..tuning.database import read_database, write_database

    if flags.db is None or flags.model is not None:
        raise UsageError("--merge takes databases, and --db the one to write")
    merged = read_database(Path(flags.db))
    for path in flags.merge:
        if not path.exists():
            raise UsageError(f"there is no database '{path}'")
        merged.merge(read_database(path))
    write_database(merged, Path(flags.db))
    print(f"{len(merged.records)} records in {flags.db}")
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-tune",
        description="Find the fastest pipeline of passes for a model, by measurement.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("model", nargs="?", help="an .onnx model")
    parser.add_argument(
        "--budget", type=float, default=600.0, metavar="SECONDS", help="time to search for (600)"
    )
    parser.add_argument("--db", metavar="FILE", help="keep the result in FILE")
    parser.add_argument(
        "--merge", type=Path, nargs="+", metavar="FILE", help="merge databases into that of --db"
    )
    parser.add_argument("--trials", action="store_true", help="list what was tried, with its time")
    parser.add_argument(
        "--choices",
        action="store_true",
        help="say what --db has chosen for each kind of node, by how much, against what, and stop",
    )
    parser.add_argument("--target", default="cpu", help="where it runs (cpu)")
    parser.add_argument("--precision", default="f32", help="f32, strict, f16 or bf16 (f32)")
    parser.add_argument("--threads", type=int, default=None, help="workers")
    parser.add_argument(
        "--workers",
        type=int,
        default=None,
        metavar="N",
        help="compile in N processes (in this one)",
    )
    parser.add_argument(
        "--dim", dest="dims", action="append", default=[], metavar="NAME=SIZE",
        help="fix a symbolic dimension",
    )  # fmt: skip
    add_input_options(parser)
    return parser


if __name__ == "__main__":
    exit_with(main)
