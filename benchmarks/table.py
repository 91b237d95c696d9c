"""Plain-text tables and command-line options shared by the scripts in this folder."""

import argparse
from collections.abc import Mapping, Sequence


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with columns as wide as their widest cell, the first left-aligned, others right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def one_line(error: Exception, most: int = 400) -> str:
    """The class and the message of `error` in at most that many characters."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:most]


def add_dim_option(parser: argparse.ArgumentParser) -> None:
    """Add the repeatable option ``--dim seq=32``."""
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        type=_dim,
        metavar="NAME=SIZE",
        help="size of a symbolic dimension (default: batch=1, seq=128)",
    )


def dims_of(options: argparse.Namespace) -> Mapping[str, int]:
    """The sizes given by ``--dim``."""
    return dict(options.dim)


def _dim(text: str) -> tuple[str, int]:
    name, separator, size = text.partition("=")
    if not (name and separator and size.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=SIZE")
    return name, int(size)
