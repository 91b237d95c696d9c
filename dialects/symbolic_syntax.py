"""Symbolic dimensions as text.

>>> parse_dim("2*batch - batch - batch + 3")
3
"""

import ast
import functools
from collections.abc import Callable

from .symbolic import FUNCTIONS, ComplexityError, Dim, floordiv

_MAX_TEXT = 1 << 17
"""The length of a text that may be a dimension."""
_NO_DIMENSION = (SyntaxError, LookupError, TypeError, ArithmeticError, RecursionError, MemoryError)
"""Errors of Python's parser on invalid text; it raises MemoryError for deep nesting."""


@functools.lru_cache(maxsize=4096)
def parse_dim(text: str) -> "int | Dim":
    """Read what ``str(dim)`` writes. Raises ValueError on anything else."""
    if len(text) > _MAX_TEXT:
        raise ComplexityError(f"'{text[:40]}...' is too long for a dimension")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _from_syntax(tree.body)
    except _NO_DIMENSION as error:
        raise ValueError(f"'{text}' is not a dimension") from error


_OPERATORS: dict[type[ast.operator], Callable[["int | Dim", "int | Dim"], "int | Dim"]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: floordiv,
}


def _from_syntax(node: ast.expr) -> "int | Dim":
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return Dim.symbol(name)
        case ast.Attribute():
            return Dim.symbol(ast.unparse(node))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_from_syntax(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_from_syntax(left), _from_syntax(right))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name](*map(_from_syntax, arguments))
        case _:
            raise ValueError(f"'{ast.unparse(node)}' is not a dimension")
