"""Summaries of the backend's diagnostics for users."""

import re
from pathlib import Path

_HEAD = 1 << 18  # bytes read from the beginning of the log
_MAX_ERRORS = 5
_MAX_WIDTH = 300  # of one line: a diagnostic may quote an operation with all its constants

# ``<unknown>:0: error: loc("node"): text``, or with another kind of location in front.
_ERROR = re.compile(r"^(?:(?P<where>.*?): )?error: (?:loc\((?P<loc>.*?)\): )?(?P<what>.*)$")
_NODE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_FATAL = re.compile(r"LLVM ERROR|Assertion .* failed|out of memory|bad_alloc|^iree-lld: error")
_NOISE = re.compile(r"^(Please report issues|PLEASE submit|Stack dump| ?#\d+ |\s*\d+\.\s|\s*$)")


def summarize(log: Path) -> str:
    """The first errors in `log`, each with the node concerned, as indented lines.

    Begins with ``:`` and a newline, or is empty if the log has no messages.
    """
    with log.open("rb") as file:
        lines = file.read(_HEAD).decode("utf-8", "replace").splitlines()
    errors = [text for line in lines if (text := _read_error(line))]
    if not errors:
        # No diagnostic: a crash. The output before the stack trace is the best information.
        errors = [line.strip() for line in lines if not _NOISE.match(line)]
    shown = list(dict.fromkeys(errors))
    more = len(shown) - _MAX_ERRORS
    shown = [_clip(text) for text in shown[:_MAX_ERRORS]]
    if more > 0:
        shown.append(f"... and {more} more")
    return "".join([":", *(f"\n  {text}" for text in shown)]) if shown else ""


def _read_error(line: str) -> str | None:
    match = _ERROR.match(line)
    if match is None:
        return line.strip() if _FATAL.search(line) else None
    where, nodes, what = match["where"], _NODE.findall(match["loc"] or ""), match["what"]
    if nodes:
        return f"at node {', '.join(map(repr, nodes))}: {what}"
    if where and "<unknown>" not in where:
        return f"{Path(where).name}: {what}"  # the folder is a temporary one
    return what


def _clip(text: str) -> str:
    return text if len(text) <= _MAX_WIDTH else text[:_MAX_WIDTH] + " ..."
