"""gc-cache: list and clear the cache of compiled models."""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..errors import OutputError, UsageError
from ..runtime.cache.compile_cache import CompileCache, Removed
from ..runtime.cache.entry import StoredEntry
from ..runtime.cache.settings import find_cache, format_size, parse_size
from .cli import OK, exit_with, run_tool
from .explain_error import add_explain_option

EPILOG = """\
examples:
  gc-cache list
  gc-cache prune --size 2G
  gc-cache clear
The cache is $GRAPHC_CACHE, or `compiled` in the user's cache folder; --cache names another.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    cache = find_cache(flags.cache)
    if cache is None:
        raise UsageError("there is no cache: GRAPHC_CACHE is off, or you have no home; name one "
                         "with --cache DIR")  # fmt: skip
    flags.run(cache, flags)
    return OK


def _list(cache: CompileCache, flags: argparse.Namespace) -> None:
    del flags
    rows = [("model", "target", "kept", "size", "last use"), *_rows(cache.entries())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        )


def _rows(entries: Sequence[StoredEntry]) -> Iterator[tuple[str, ...]]:
    """A row for each entry, and one row for all kernels of an object file."""
    kernels = Counter(each.entry.contents for each in entries if each.entry.kind == "kernel")
    for stored in entries:
        if stored.entry.kind == "kernel":
            count = kernels.pop(stored.entry.contents, 0)
            if count:
                yield _row(stored, "1 kernel" if count == 1 else f"{count} kernels")
        elif stored.entry.kind != "files":
            yield _row(stored, stored.entry.kind)


def _row(stored: StoredEntry, kept: str) -> tuple[str, ...]:
    entry = stored.entry
    last_use = time.strftime("%Y-%m-%d %H:%M", time.localtime(stored.last_use))
    return entry.name, entry.target, kept, format_size(entry.size), last_use


def _info(cache: CompileCache, flags: argparse.Namespace) -> None:
    del flags
    entries = cache.entries()
    kinds = Counter(stored.entry.kind for stored in entries)
    print(f"folder: {cache.folder}")
    print(
        f"kept:   {kinds['model']} models, {kinds['program']} programs, {kinds['kernel']} kernels"
    )
    print(f"size:   {format_size(cache.bytes_held())} of at most {format_size(cache.limit)}")


def _clear(cache: CompileCache, flags: argparse.Namespace) -> None:
    del flags
    _say(cache, cache.clear)


def _prune(cache: CompileCache, flags: argparse.Namespace) -> None:
    limit = None if flags.size is None else parse_size(flags.size)
    _say(cache, lambda: cache.prune(limit))


def _say(cache: CompileCache, remove: Callable[[], Removed]) -> None:
    try:
        removed = remove()
    except OSError as error:
        raise OutputError(f"cannot remove from '{cache.folder}': {error.strerror}") from error
    print(f"removed {removed.entries} entries, {format_size(removed.bytes)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-cache",
        description="Show and clear the cache of compiled models.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("--cache", type=Path, metavar="DIR", help="the folder of the cache")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for run, help_ in (
        (_list, "show what is kept, the last used first"),
        (_info, "show the folder, how much it holds and how much it may"),
        (_clear, "remove everything"),
        (_prune, "remove what was not used for longest, and what was left over"),
    ):
        command = commands.add_parser(run.__name__[1:], help=help_, description=help_)
        command.set_defaults(run=run)
        if run is _prune:
            command.add_argument("--size", help="leave at most so much: 2G (default: the bound)")
    return parser


if __name__ == "__main__":
    exit_with(main)
