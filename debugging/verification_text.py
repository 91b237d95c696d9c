"""A `Comparison` as text."""

from collections.abc import Iterable, Sequence

from ..runtime.metadata import format_shape
from .comparison import Comparison, ValueComparison

SHOWN_ORIGINS, SHOWN_WORDS = 10, 4
"""Maximum number of ops listed with their fused values, and of names in a line."""
HEADINGS = ("", "difference", "value", "node", "type", "where")


def format_verification(found: Comparison, most: int | None) -> str:
    """The outputs, the intermediate values (worst first), and the values that were fused away."""
    lines = [f"{found.model} on {found.target} against {found.reference}", ""]
    lines += ["outputs, compiled as ever:", *_table(found.outputs)]
    layers = found.worst_first()
    if layers:
        wrong = sum(not row.within for row in layers)
        shown = layers if most is None else layers[:most]
        lines += ["", f"values inside, {wrong} of {len(layers)} beyond the tolerance, worst first:"]
        lines += _table(shown)
        if len(shown) < len(layers):
            lines.append(f"and {len(layers) - len(shown)} more")
    if found.fused:
        lines += ["", *_fused(found)]
    lines += ["", verdict(found)]
    return "\n".join(lines)


def verdict(found: Comparison) -> str:
    """The overall result, in a sentence."""
    first = found.first
    if first is None:
        return "all values agree within the tolerance"
    return (
        f"the first value beyond the tolerance is '{first.name}', of node '{first.node}' "
        f"({first.op_type}): {first.difference.relative:.2e} > {first.tolerance:g}{_steps(first)}"
    )


def measure(row: ValueComparison) -> str:
    """The difference as text, in steps of a quantised value, too, and with `truth` the differences
    of both from float64."""
    text = f"{row.difference.relative:.2e}{_steps(row)}"
    if row.truth is None:
        return text
    ours, theirs = row.truth
    return f"{text} (from float64: ours {ours:.2e}, theirs {theirs:.2e})"


def _steps(row: ValueComparison) -> str:
    return "" if row.steps is None else f" ({row.steps:.3g} steps)"


def _table(rows: Sequence[ValueComparison]) -> list[str]:
    cells = [
        (
            "ok" if row.within else "WRONG",
            measure(row),
            row.name,
            f"{row.node} ({row.op_type})",
            f"{row.dtype}{format_shape(row.shape)}",
            "" if row.within else row.difference.place,
        )
        for row in rows
    ]
    return ["  " + line for line in align([HEADINGS, *cells])]


def align(rows: Iterable[Sequence[str]]) -> list[str]:
    """`rows` as lines with aligned columns."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def _fused(found: Comparison) -> list[str]:
    """The lines about values that the program does not have, grouped by op."""
    by_origin: dict[str, list[str]] = {}
    for name, where in found.fused.items():
        by_origin.setdefault(where, []).append(name)
    rewritten = by_origin.pop("", [])
    lines = [
        f"{len(found.fused)} values are not in the compiled program (--unfused computes them, in "
        "another program):"
    ]
    lines += [
        f"  {shorten(names, ', ')}: part of {shorten(where.split(' + '), ' + ')}"
        for where, names in [*by_origin.items()][:SHOWN_ORIGINS]
    ]
    if len(by_origin) > SHOWN_ORIGINS:
        lines.append(f"  and those of {len(by_origin) - SHOWN_ORIGINS} more ops")
    if rewritten:
        lines.append(f"  {shorten(rewritten, ', ')}: rewritten, or computed at compile time")
    return lines


def shorten(words: Sequence[str], separator: str) -> str:
    """The first few of `words`, and the number of others."""
    rest = len(words) - SHOWN_WORDS
    return separator.join(words[:SHOWN_WORDS]) + (f" and {rest} more" if rest > 0 else "")
