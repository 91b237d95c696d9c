"""The first words of docstrings: a noun phrase or an imperative."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphc

ROOT = Path(graphc.__file__).parent
FOLDERS = sorted(
    path.name
    for path in ROOT.iterdir()
    if path.is_dir() and not path.is_symlink() and path.name not in ("build", "stubs", "models")
    if not path.name.startswith((".", "__")) and any(path.glob("**/*.py"))
)
OPENING = re.compile(r"\s*(What|Whether|Of) ")
SUSPECT = re.compile(rf"[\"']{OPENING.pattern}")
"""The beginning of any such string; parsing all files takes seconds."""


def docstrings(source: str) -> Iterator[ast.Constant]:
    """Strings that stand alone: docstrings of modules, classes, functions and attributes."""
    alone = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr))
    for value in alone:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value


@pytest.mark.parametrize("folder", [".", *FOLDERS])
def test_no_docstring_begins_with_a_clause(folder):
    files = ROOT.glob("*.py") if folder == "." else (ROOT / folder).glob("**/*.py")
    found = [
        f"{path.relative_to(ROOT)}:{string.lineno}"
        for path in files
        if SUSPECT.search(source := path.read_text(encoding="utf-8"))
        for string in docstrings(source)
        if OPENING.match(string.value)
    ]
    assert not found
