"""Terms of symbolic dimensions: monomials of named sizes and of calls."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


class UndecidableError(Exception):
    """A question about symbolic sizes whose answer depends on their values."""


class ComplexityError(ValueError):
    """A size whose formula exceeds `MAX_ATOMS`; no meaningful size is that long."""


MAX_ATOMS = 1 << 14
"""Names, numbers and calls in a formula; long names count more. Some operations double it: in
programs that compute with sizes as with data it would grow without end."""

LONG = 64
"""Atoms beyond which a size is better given a name than computed with: the number of elements of an
image whose height and width have so many stays below `MAX_ATOMS`."""


@dataclass(frozen=True)
class Call:
    """An atom: `function` of dimensions, such as ``floordiv(h - 1, 2)``.

    Each of the arguments is an ``int`` or a `Dim`.
    """

    function: str
    arguments: tuple[Any, ...]

    @functools.cached_property
    def atoms(self) -> int:
        """The length of the formula."""
        return 1 + sum(1 if isinstance(each, int) else each.atoms for each in self.arguments)

    @functools.cached_property
    def text(self) -> str:
        """The call as text, such as ``floordiv(h - 1, 2)``."""
        return f"{self.function}({', '.join(map(str, self.arguments))})"

    def __str__(self) -> str:
        return self.text


Atom = str | Call
Monomial = tuple[Atom, ...]  # sorted by spelling; () is the constant term

EXTREMA = ("max", "min")
QUOTIENT = ("floordiv",)


def length(atom: Atom) -> int:
    """How much `atom` counts in the length of a formula."""
    return 1 + len(atom) // 64 if isinstance(atom, str) else atom.atoms


def single_call(monomial: Monomial, functions: Sequence[str]) -> Call | None:
    """The call of one of `functions` that is the whole of `monomial`."""
    (atom,) = monomial if len(monomial) == 1 else (None,)
    return atom if isinstance(atom, Call) and atom.function in functions else None


def both_orders(call: Call | None) -> Iterator[tuple[Any, Any]]:
    """The two arguments of `call`, in both orders."""
    if call is not None:
        first, second = call.arguments
        yield first, second
        yield second, first


def is_nonnegative(atom: Atom) -> bool:
    """Return whether `atom` is known to be at least 0."""
    if isinstance(atom, str):
        return True
    bounds = [each if isinstance(each, int) else each.minimum for each in atom.arguments]
    known = [bound is not None and bound >= 0 for bound in bounds]
    return any(known) if atom.function == "max" else all(known)
