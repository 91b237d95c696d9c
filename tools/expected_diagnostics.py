"""``--verify-diagnostics``: comparison of diagnostics with ``expected-error`` comments of a file.

    // expected-error@+1 {{part of the message}}
    %0 = "graph.relu"(%x) ...

The kind is ``error``, ``warning``, ``remark`` or ``note``; the line is ``@+N``, ``@-N``,
``@above``, ``@below``, or ``@unknown`` for a diagnostic without a line; ``expected-error-re`` takes
a regular expression.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..dialects.locations import leaves
from ..errors import GraphcError
from ..mlir import ir

_COMMENT = re.compile(
    r"expected-(error|warning|remark|note)(-re)?"
    r"\s*(?:@([+-]\d+|above|below|unknown))?\s*\{\{(.*?)\}\}"
)
_POSITION = re.compile(r'"?-"?:(\d+):\d+')


@dataclass(frozen=True)
class Diagnostic:
    """A diagnostic that was produced. `line` is None if it has no location in the file."""

    kind: str
    line: int | None
    message: str


@dataclass(frozen=True)
class Expectation:
    """A diagnostic that a comment expects."""

    kind: str
    line: int | None
    text: str
    is_regex: bool

    def accepts(self, diagnostic: Diagnostic) -> bool:
        if (self.kind, self.line) != (diagnostic.kind, diagnostic.line):
            return False
        if self.is_regex:
            return re.search(self.text, diagnostic.message) is not None
        return self.text in diagnostic.message


def expectations(text: str) -> list[Expectation]:
    """The expectations in the comments of `text`."""
    found: list[Expectation] = []
    for number, line in enumerate(text.splitlines(), start=1):
        for kind, regex, target, message in _COMMENT.findall(line):
            found.append(Expectation(kind, _target(number, target), message, bool(regex)))
    return found


def from_mlir(diagnostic: Any) -> list[Diagnostic]:
    """An MLIR diagnostic and its notes."""
    kind = diagnostic.severity.name.lower()
    own = Diagnostic(kind, _line(diagnostic.location), diagnostic.message)
    notes = [note for note in diagnostic.notes if "see current operation" not in note.message]
    return [own, *(part for note in notes for part in from_mlir(note))]


def from_error(error: GraphcError) -> list[Diagnostic]:
    """The diagnostics of an error; its line is that of the first location in its message."""
    cause: Any = error.__cause__
    if isinstance(cause, ir.MLIRError):
        return [part for d in cause.error_diagnostics for part in from_mlir(d)]
    target = _POSITION.search(str(error))
    return [Diagnostic("error", int(target.group(1)) if target else None, str(error))]


def mismatches(
    expected: Iterable[Expectation], produced: Iterable[Diagnostic], path: str
) -> list[str]:
    """The mismatches, one line each: unexpected diagnostics, then missing expected ones."""
    open_ = list(expected)
    problems: list[str] = []
    for diagnostic in produced:
        match = next((e for e in open_ if e.accepts(diagnostic)), None)
        if match is not None:
            open_.remove(match)
        elif diagnostic.kind != "note":  # notes need no comment
            where = _where(path, diagnostic.line)
            problems.append(f"{where}: unexpected {diagnostic.kind}: {diagnostic.message}")
    missing = (
        f"{_where(path, e.line)}: expected {e.kind} '{e.text}' was not produced" for e in open_
    )
    return [*problems, *missing]


def _target(line: int, target: str) -> int | None:
    if target == "unknown":
        return None
    offsets = {"": 0, "above": -1, "below": 1}
    return line + (offsets[target] if target in offsets else int(target))


def _line(location: ir.Location) -> int | None:
    for leaf in leaves(location):
        inner = leaf.child_loc if isinstance(leaf, ir.NameLoc) else leaf
        if isinstance(inner, ir.FileLineColLoc):
            return inner.start_line
    return None


def _where(path: str, line: int | None) -> str:
    return path if line is None else f"{path}:{line}"
