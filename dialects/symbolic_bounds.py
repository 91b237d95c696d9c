"""Lower bounds of symbolic dimensions."""

import functools
from collections.abc import Iterator
from typing import Any, Protocol

from .symbolic_terms import EXTREMA, LONG, QUOTIENT, Monomial, is_nonnegative, single_call

_MAX_EXTREMA = 4
"""In a sum of more of them none has its arguments in its place together with those of others."""
_MAX_QUOTIENTS = 4
"""In a sum of more of them none is bounded by its dividend: the order of doing so matters, and all
are tried."""


class Polynomial(Protocol):
    """A `Dim`, as far as bounds need it."""

    atoms: int
    terms: tuple[tuple[Monomial, int], ...]

    @property
    def minimum(self) -> int | None: ...
    def without(self, monomial: Monomial) -> Any: ...


@functools.lru_cache(maxsize=1 << 14)
def lower_bound(dim: Polynomial) -> int | None:
    """The best lower bound that the form of `dim` shows; None if it shows none."""
    bounds = [_bound_of_terms(dim), *_bounds_of_extrema(dim), *_bounds_of_quotients(dim)]
    return max((bound for bound in bounds if bound is not None), default=None)


def _bound_of_terms(dim: Polynomial) -> int | None:
    if any(coefficient < 0 for monomial, coefficient in dim.terms if monomial):
        return None
    if not all(is_nonnegative(atom) for monomial, _ in dim.terms for atom in monomial):
        return None
    return dict(dim.terms).get((), 0)


def _bounds_of_extrema(dim: Polynomial) -> Iterator[int | None]:
    """The bounds with an argument in place of a maximum, which is that at least: 256 for
    ``max(256 - n, 0) + n``; and with each in place of a minimum, which is one of them."""
    extrema = [(term, call) for term in dim.terms if (call := single_call(term[0], EXTREMA))]
    is_short = dim.atoms <= LONG and len(extrema) <= _MAX_EXTREMA
    bound_of = lower_bound if is_short else _bound_of_terms
    for (monomial, coefficient), call in extrema:
        rest = dim.without(monomial)
        lowers = [argument * coefficient + rest for argument in call.arguments]
        bounds = [each if isinstance(each, int) else bound_of(each) for each in lowers]
        known = [bound for bound in bounds if bound is not None]
        if (call.function == "max") == (coefficient > 0):
            yield from known
        elif len(known) == len(bounds):
            yield min(known)


def _bounds_of_quotients(dim: Polynomial) -> Iterator[int | None]:
    """The bounds with a quotient's own bounds in its place, ``a - (b - 1) <= b * floordiv(a, b) <=
    a``: 0 for ``2*floordiv(h + 1, 2) - h``."""
    quotients = [(term, call) for term in dim.terms if (call := single_call(term[0], QUOTIENT))]
    if len(quotients) > _MAX_QUOTIENTS:
        return
    for (monomial, coefficient), call in quotients:
        a, b = call.arguments
        if isinstance(b, int) and b > 0:
            rest = dim.without(monomial)
            lower = rest * b + (a - (b - 1) if coefficient > 0 else a) * coefficient
            bound = lower if isinstance(lower, int) else lower.minimum
            yield None if bound is None else -(-bound // b)
