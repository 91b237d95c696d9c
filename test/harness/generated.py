"""Pages with a generated part between two marks."""

import re
from collections.abc import Iterable
from pathlib import Path

BEGIN = "<!-- Written by `make docs` from {}; edits here are lost. -->"
END = "<!-- End of what `make docs` writes. -->"


def with_generated(page: Path, sources: str, lines: Iterable[str]) -> str:
    """The text of `page` with `lines` between the marks that name their `sources`."""
    begin = BEGIN.format(sources)
    between = re.compile(f"{re.escape(begin)}.*?{re.escape(END)}", re.DOTALL)
    text = "\n".join([begin, "", *lines, "", END])
    return between.sub(lambda _: text, page.read_text(encoding="utf-8"))
