"""docs/serving.md names the flags, the fields and the codes of errors that there are."""

import ast
import re
from pathlib import Path

import graphc
from graphc.serving.protocol.calls import NEUTRAL
from graphc.tools import gc_serve

ROOT = Path(graphc.__file__).parent
PAGE = (ROOT / "docs" / "serving.md").read_text()


def codes_of(source):
    """The codes of the errors that a module makes, as constants."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ApiError":
            named = [each.value for each in node.keywords if each.arg == "code"]
            for value in (*named, *node.args[2:3]):
                yield ast.literal_eval(value)


def test_flags():
    known = gc_serve._parser().format_help()
    for flag in re.findall(r"`(--[a-z-]+)", PAGE):
        assert flag in known, flag


def test_codes_of_errors():
    sources = [path.read_text() for path in (ROOT / "serving").rglob("*.py")]
    codes = {code for source in sources for code in codes_of(source)}
    rows = re.findall(r"^\| \d+ \| (.*?) \|", PAGE, re.MULTILINE)
    assert codes - {"internal_error"} == {code for row in rows for code in re.findall(r"\w+", row)}


def test_fields_that_are_rejected():
    rejected = PAGE.partition("Not supported:")[2]
    for name in re.findall(r"`(\w+)`", rejected):
        assert name in NEUTRAL
