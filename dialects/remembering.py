"""Values that are read from types and attributes of MLIR once.

The bindings read the shape and the encoding of a type part by part, ten times as long as a look-up
takes. A program has few types, of which passes ask thousands of times.
"""

import functools
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

_tables: "ContextVar[dict[Any, dict[Any, Any]] | None]" = ContextVar("_tables", default=None)
"""The results of each function by argument, within `remembering`. They refer to MLIR's context,
which would live as long as they do."""


@contextmanager
def remembering() -> Generator[None]:
    """A context, which may be within another one, in which `remembered` functions keep results."""
    if _tables.get() is not None:
        yield
        return
    token = _tables.set({})
    try:
        yield
    finally:
        _tables.reset(token)


def remembered(function: Callable[[K], T]) -> Callable[[K], T]:
    """`function`, whose result depends on its argument alone and cannot change, called once for
    each argument within `remembering`."""

    @functools.wraps(function)
    def look_up(argument: K) -> T:
        tables = _tables.get()
        if tables is None:
            return function(argument)
        table = tables.get(look_up)
        if table is None:
            table = tables[look_up] = {}
        try:
            return table[argument]
        except KeyError:
            result = table[argument] = function(argument)
            return result

    return look_up
