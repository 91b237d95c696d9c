"""A `Comparison` as a self-contained HTML page."""

import math
from collections.abc import Iterable
from html import escape

from ..runtime.metadata import format_shape
from .comparison import Comparison, ValueComparison
from .verification_text import measure, verdict

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; color: #222 }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 2rem }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #ddd }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap }
td.bar { width: 9rem } td.bar div { height: .7rem; background: #4a90d9 }
tr.wrong { background: #fdecea } tr.wrong td.bar div { background: #c0392b }
.verdict { padding: .6rem 1rem; background: #eaf6ea } .verdict.wrong { background: #fdecea }
code { font-size: .93em }
"""
SMALLEST = 1e-9
"""Smallest difference with a bar; bars have a logarithmic scale up to 1."""


def make_page(found: Comparison) -> str:
    """The HTML of the page."""
    title = f"{found.model} on {found.target} against {found.reference}"
    kind = "verdict" if found.within else "verdict wrong"
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="{kind}">{escape(verdict(found))}</p>',
        "<h2>Outputs, compiled as ever</h2>",
        _table(found.outputs),
    ]
    if found.layers:
        body += ["<h2>Values inside, worst first</h2>", _table(found.worst_first())]
    if found.fused:
        body += [
            f"<h2>{len(found.fused)} values that are not in the compiled program</h2>",
            "<table><tr><th>value</th><th>part of</th></tr>",
            *(
                f"<tr><td><code>{escape(name)}</code></td><td>{escape(_origin(where))}</td></tr>"
                for name, where in found.fused.items()
            ),
            "</table>",
        ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return (
        f"<!doctype html>\n<html><head>{head}</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _origin(where: str) -> str:
    return where or "rewritten, or computed at compile time"


def _table(rows: Iterable[ValueComparison]) -> str:
    headings = ("", "difference", "", "value", "node", "type", "where")
    lines = ["<table>", "<tr>" + "".join(f"<th>{each}</th>" for each in headings) + "</tr>"]
    lines += [_line(row) for row in rows]
    return "\n".join([*lines, "</table>"])


def _line(row: ValueComparison) -> str:
    kind = "" if row.within else ' class="wrong"'
    cells = (
        f"<td>{'ok' if row.within else 'WRONG'}</td>",
        f'<td class="number">{escape(measure(row))}</td>',
        f'<td class="bar"><div style="width: {_length(row.difference.relative):.0f}%"></div></td>',
        f"<td><code>{escape(row.name)}</code></td>",
        f"<td>{escape(row.node)} ({escape(row.op_type)})</td>",
        f"<td>{row.dtype}{format_shape(row.shape)}</td>",
        f"<td>{'' if row.within else escape(row.difference.place)}</td>",
    )
    return f"<tr{kind}>{''.join(cells)}</tr>"


def _length(relative: float) -> float:
    """The length of the bar in percent."""
    if relative <= SMALLEST:
        return 0.0
    return min(100.0, 100 * (1 - math.log10(min(relative, 1.0)) / math.log10(SMALLEST)))
