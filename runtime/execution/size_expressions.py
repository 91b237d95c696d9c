"""Formulas over named sizes, as compiled modules carry them: ``4*batch*floordiv(seq + 1, 2)``."""

import ast
import operator
from collections.abc import Iterator, Mapping

from ...errors import ModuleFileError

_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_FUNCTIONS = {
    "floordiv": operator.floordiv,
    "max": max,
    "min": min,
    "broadcast": lambda a, b: b if a == 1 else a,
}


def names(expression: str) -> set[str]:
    """The names of sizes in `expression`. Raises `ModuleFileError` if it is malformed."""
    return set(_names(_parse(expression)))


def evaluate(expression: str, sizes: Mapping[str, int]) -> int | None:
    """The value of `expression`; None if it has names that are not in `sizes`.

    Raises `ModuleFileError` if it is malformed.
    """
    try:
        return _value(_parse(expression), sizes)
    except KeyError:
        return None
    except (ArithmeticError, TypeError) as error:
        raise _no_expression(expression) from error


def _parse(expression: str) -> ast.expr:
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise _no_expression(expression) from error


def _no_expression(expression: str) -> ModuleFileError:
    return ModuleFileError(f"the module has '{expression}' for a size expression")


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name() | ast.Attribute():  # names may have dots
            yield ast.unparse(node)
        case ast.Call(args=arguments):
            for argument in arguments:
                yield from _names(argument)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _names(child)


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name() | ast.Attribute():  # names may have dots
            return sizes[ast.unparse(node)]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, sizes)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, sizes), _value(right, sizes))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument, sizes) for argument in arguments))
    raise TypeError(f"{ast.unparse(node)} is no size expression")
