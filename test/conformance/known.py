"""The lists of cases that are known not to pass, a file for each target in ``not_passing/``.

A list is groups of cases with one status and one reason. It may begin with another target's, its
``base``, of which it takes all but ``passing``::

    base = "cpu"
    passing = ["test_dft_inverse"]

    [[group]]
    status = "error"
    reason = "What is missing, and where."
    cases = ["test_a", "test_b"]

Cases that compile and fail when they run have ``compiles = true``.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .case_outcome import CaseOutcome, CaseStatus

FOLDER = Path(__file__).with_name("not_passing")


@dataclass(frozen=True)
class Known:
    """The known outcome of a case, and the reason."""

    status: CaseStatus
    reason: str
    compiles: bool = False
    """True if an error comes only when the case runs; a wrong answer always does."""

    @property
    def does_compile(self) -> bool:
        """Return whether the case compiles."""
        return self.compiles or self.status is CaseStatus.WRONG


def list_file(target: str) -> Path:
    """The list for `target`: its own, or that of its family for a variant without a list."""
    own = FOLDER / f"{target.replace(':', '-')}.toml"
    return own if own.exists() else FOLDER / f"{target.partition(':')[0]}.toml"


def load_known(target: str, executed: bool = True) -> dict[str, Known]:
    """The cases that do not pass for `target`, by name; without `executed`, those that do not
    compile.

    There are none for a target without a list.
    """
    known = _load(list_file(target))
    if executed:
        return known
    return {name: each for name, each in known.items() if not each.does_compile}


def _load(path: Path) -> dict[str, Known]:
    if not path.exists():
        return {}
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    base = written.get("base")
    known = {} if base is None else _load(path.with_name(f"{base}.toml"))
    for name in written.get("passing", ()):
        del known[name]
    for group in written.get("group", ()):
        status = CaseStatus(group["status"])
        each = Known(status, group["reason"], group.get("compiles", False))
        known |= dict.fromkeys(group["cases"], each)
    return known


def is_surprise(outcome: CaseOutcome, known: Mapping[str, Known]) -> bool:
    """Return whether the outcome of a case differs from the list."""
    listed = known.get(outcome.name)
    return outcome.status is not (CaseStatus.PASS if listed is None else listed.status)


def surprises(outcomes: Iterable[CaseOutcome], known: Mapping[str, Known]) -> list[str]:
    """A line for each case whose outcome differs from the list."""
    return [
        f"{outcome.status.upper():12} {outcome.name}: {_expected(outcome, known)}"
        for outcome in outcomes
        if is_surprise(outcome, known)
    ]


def _expected(outcome: CaseOutcome, known: Mapping[str, Known]) -> str:
    if outcome.name not in known:
        return outcome.detail
    listed = f"listed as '{known[outcome.name].status}'"
    return f"{listed}; {outcome.detail}" if outcome.detail else listed


def suggested_groups(outcomes: Iterable[CaseOutcome]) -> Iterator[str]:
    """The text of groups for a list, with messages in place of reasons."""
    groups: dict[tuple[CaseStatus, str], list[CaseOutcome]] = defaultdict(list)
    for outcome in outcomes:
        if not outcome.passed:
            kind = re.sub(r"'[^']*'|\"[^\"]*\"|\S*\d\S*", "_", outcome.detail)
            groups[outcome.status, kind].append(outcome)
    for (status, _), found in sorted(groups.items(), key=lambda group: -len(group[1])):
        yield "[[group]]"
        yield f'status = "{status}"'
        yield f"reason = {_literal(found[0].detail)}"
        yield from ["cases = [", *(f'    "{outcome.name}",' for outcome in found), "]", ""]


def _literal(text: str) -> str:
    """`text` as a TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
