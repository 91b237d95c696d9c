"""Stubs of the dialects' modules, from the Python that MLIR generates for them.

A module has a class and a builder function for each op; handwritten additions of MLIR are in a
derived class of the same name. The stub has one class of each name, with the members of both.
"""

import ast
import copy
import enum
import functools
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from .declarations import Declarations, name_of, parsed
from .spelling import Spelling

_BUILT_LIKE_OPERAND = "results = [operands[0].type] * 1"


def op_stub(module: ModuleType) -> Declarations:
    """The declarations of `module`, the module of a dialect."""
    spelling = Spelling({name for name in vars(module) if not _is_of(module, name)})
    body: Declarations = []
    for name in vars(module):
        if name.startswith("_") or not _is_of(module, name):
            continue
        member = getattr(module, name)
        if isinstance(member, FunctionType):
            body.append(_builder(module, member))
        elif issubclass(member, enum.Enum):
            body.append(_enumeration(member))
        elif not name.endswith("Adaptor"):
            body.append(_op(member))
    return [spelling.visit(each) for each in body]


def _is_of(module: ModuleType, name: str) -> bool:
    """True if `module`, or a generated part of it, defines its member `name`."""
    member = getattr(module, name)
    package, _, dialect = module.__name__.rpartition(".")
    parts = (dialect, f"_{dialect}_ops_gen", f"_{dialect}_enum_gen")
    defined = getattr(member, "__module__", "") in [f"{package}.{part}" for part in parts]
    return defined and isinstance(member, FunctionType | type)


def _enumeration(member: type[enum.Enum]) -> ast.ClassDef:
    lines = [f"    {each.name} = {each.value}" for each in member]
    base = member.__mro__[1].__name__
    (cls,) = parsed("\n".join([f"class {member.__name__}(enum.{base}):", *lines]))
    assert isinstance(cls, ast.ClassDef)
    return cls


def _op(member: type[Any]) -> ast.ClassDef:
    """The class of an op: its constructor and its properties."""
    members: dict[str | None, ast.stmt] = {}
    for part in reversed(_parts(member)):
        source = _source(part)
        assert isinstance(source, ast.ClassDef)
        members |= {
            name_of(each): _signature(each)
            for each in source.body
            if isinstance(each, ast.FunctionDef) and not _is_setter(each)
        }
    (cls,) = parsed(f"class {member.__name__}(ir.OpView): ...")
    assert isinstance(cls, ast.ClassDef)
    cls.body = list(members.values()) or cls.body
    return cls


def _parts(member: type[Any]) -> list[type[Any]]:
    """The class, and its base classes of the same name."""
    return [each for each in member.__mro__ if each.__name__ == member.__name__]


def _is_setter(function: ast.FunctionDef) -> bool:
    """True if `function` sets or deletes a property, or is an overload."""
    return any(
        ast.unparse(each).endswith((".setter", ".deleter", "overload"))
        for each in function.decorator_list
    )


def _builder(module: ModuleType, member: FunctionType) -> ast.FunctionDef:
    """The builder of an op: generic if the type of the result is that of an operand, or given."""
    source = _source(member)
    assert isinstance(source, ast.FunctionDef)
    like_operand = _is_like_operand(module, source)
    function = _signature(source)
    if ast.unparse(function.returns or ast.Constant(None)) == "_ods_ir.OpResult":
        first = function.args.args[0] if function.args.args else None
        kind = ast.unparse(first.annotation) if first is not None and first.annotation else ""
        generic = {"_ods_ir.Type": "_T", "_ods_ir.Value": "ir.Value[_T]"}.get(kind)
        given = kind == "_ods_ir.Type"
        if first is not None and generic and (given or like_operand):
            first.annotation = ast.Name(generic)
            function.returns = ast.Name("ir.OpResult[_T]")
    return function


def _is_like_operand(module: ModuleType, builder: ast.FunctionDef) -> bool:
    """True if the result of `builder` has the type of its first operand."""
    for node in ast.walk(builder):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            cls = getattr(module, node.func.id, None)
            if isinstance(cls, type):
                return any(_BUILT_LIKE_OPERAND in _text(each) for each in _parts(cls))
    return False


def _source(member: type[Any] | Callable[..., Any]) -> ast.stmt:
    """The definition of a member of a module; callers may change it."""
    return copy.deepcopy(_definition(member))


@functools.cache
def _text(member: type[Any]) -> str:
    return ast.unparse(_definition(member))


def _definition(member: type[Any] | Callable[..., Any]) -> ast.stmt:
    plain = inspect.unwrap(member)
    file = inspect.getsourcefile(plain)
    assert file is not None
    by_line, by_name = _definitions(Path(file))
    if isinstance(plain, type):
        return by_name[plain.__name__]
    return by_line[plain.__code__.co_firstlineno]


@functools.cache
def _definitions(file: Path) -> tuple[dict[int, ast.stmt], dict[str, ast.stmt]]:
    """The functions of a file by their first lines, and its classes by name.

    `inspect.getsource` would parse the whole file for each of its classes.
    """
    by_line: dict[int, ast.stmt] = {}
    by_name: dict[str, ast.stmt] = {}
    for each in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(each, ast.ClassDef):
            by_name.setdefault(each.name, each)
        elif isinstance(each, ast.FunctionDef):
            by_line[min(part.lineno for part in (each, *each.decorator_list))] = each
    return by_line, by_name


def _signature(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function without its body, all its parameters annotated."""
    arguments = function.args
    _join_where(arguments)
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if each.annotation is not None:
            each.annotation = _any_value(each.annotation)
        elif each.arg not in ("self", "cls", "FuncOp"):
            each.annotation = ast.Name("Any")
    function.body = parsed("...")
    if function.returns is None:
        function.returns = ast.Name("None" if function.name == "__init__" else "Any")
    return function


def _any_value(annotation: ast.expr) -> ast.expr:
    """The type of a parameter, widened to values of any type, which the verifier checks.

    Code that builds ops has values of many origins, rarely of a statically known type.
    """
    plain = re.sub(r"\bValue\[[\w.]+\]", "Value", ast.unparse(annotation))
    return ast.parse(plain, mode="eval").body


def _join_where(arguments: ast.arguments) -> None:
    """Join ``loc`` and ``ip``, which every builder of an op has, to one parameter."""
    kept = [
        (each, default)
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if each.arg not in ("loc", "ip")
    ]
    if len(kept) < len(arguments.kwonlyargs):
        arguments.kwonlyargs = [each for each, _ in kept]
        arguments.kw_defaults = [default for _, default in kept]
        arguments.kwarg = ast.arg("where", ast.Name("Unpack[ir.Where]"))
