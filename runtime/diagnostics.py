"""The backend's diagnostics, cut down to what a person wants to read."""

import re
from pathlib import Path

_HEAD = 1 << 18  # bytes of the log that are looked at, from its beginning
_MAX_ERRORS = 5
_MAX_WIDTH = 300  # of one line: a diagnostic may quote an operation with all its constants

_ERROR = re.compile(r"^(?P<where>.*?):? ?\berror: (?P<what>.*)$")
_NODE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_FATAL = re.compile(r"LLVM ERROR|Assertion .* failed|out of memory|bad_alloc|^iree-lld: error")
_NOISE = re.compile(r"^(Please report issues|PLEASE submit|Stack dump| ?#\d+ |\s*\d+\.\s|\s*$)")


def summarize(log: Path) -> str:
    """The first errors in `log`, each with the node it is about, as indented lines.

    Begins with ``:`` and a newline, or is empty where the log says nothing.
    """
    with log.open("rb") as file:
        lines = file.read(_HEAD).decode("utf-8", "replace").splitlines()
    errors = [text for line in lines if (text := _read_error(line))]
    if not errors:
        # No diagnostic: a crash. What was said before the stack trace is the best there is.
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
    where, what = match["where"], match["what"]
    if where.startswith("loc("):
        nodes = [node for node in _NODE.findall(where) if node != "-"]
        if nodes:
            return f"at node {', '.join(repr(node) for node in nodes)}: {what}"
    return f"{where}: {what}" if where else what


def _clip(text: str) -> str:
    return text if len(text) <= _MAX_WIDTH else text[:_MAX_WIDTH] + " ..."
