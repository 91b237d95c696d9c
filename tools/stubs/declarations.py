"""Declarations of a stub as syntax trees: lookup, replacement and removal by name."""

import ast
from collections.abc import Mapping, Sequence

Declarations = list[ast.stmt]


def name_of(declaration: ast.stmt) -> str | None:
    """The name that `declaration` declares; None if it is no declaration."""
    if isinstance(declaration, ast.ClassDef | ast.FunctionDef):
        return declaration.name
    if isinstance(declaration, ast.AnnAssign) and isinstance(declaration.target, ast.Name):
        return declaration.target.id
    if isinstance(declaration, ast.Assign) and isinstance(declaration.targets[0], ast.Name):
        return declaration.targets[0].id
    return None


def has(cls: ast.ClassDef, name: str) -> bool:
    return any(name_of(each) == name for each in cls.body)


def drop(cls: ast.ClassDef, names: set[str]) -> None:
    """Remove the members called `names`."""
    cls.body = [each for each in cls.body if name_of(each) not in names] or parsed("...")


def replace(body: Declarations, name: str, source: str) -> Declarations:
    """`body` with all declarations of `name` replaced by `source`, appended if there are none."""
    kept: Declarations = []
    new = parsed(source)
    for each in body:
        if name_of(each) == name:
            kept += new
            new = []
        elif not _is_ellipsis(each):
            kept.append(each)
    return [*kept, *new]


def correct(body: Declarations, corrections: Mapping[str, str]) -> Declarations:
    """`body` with replaced declarations; a key is a name, or ``Class.member`` for a member."""
    for path, source in corrections.items():
        outer, _, member = path.rpartition(".")
        if not outer:
            body = replace(body, member, source)
            continue
        cls = _class(body, outer)
        cls.body = replace(cls.body, member, source)
    return body


def _class(body: Sequence[ast.stmt], name: str) -> ast.ClassDef:
    for each in body:
        if isinstance(each, ast.ClassDef) and each.name == name:
            return each
    raise KeyError(f"the bindings have no class {name}; see corrections.py")


def parsed(source: str) -> Declarations:
    """The statements of `source`."""
    return ast.parse(source).body


def _is_ellipsis(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
