"""Declarations of a stub as syntax trees: found, replaced and dropped by name."""

import ast
from collections.abc import Mapping, Sequence

Declarations = list[ast.stmt]


def name_of(declaration: ast.stmt) -> str | None:
    """The name that `declaration` declares; None for what is none."""
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
    """`body` with `source` in place of all that declares `name`, at its end where nothing does."""
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
    """`body` with other declarations of a name, ``Class.member`` where it is one of a class."""
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
