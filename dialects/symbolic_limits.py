"""Upper bounds of symbolic dimensions, for code that does not know all names of a size."""

from collections.abc import Set

from .symbolic import Dim, floordiv, maximum, minimum
from .symbolic_terms import Atom, Call, Monomial, is_nonnegative

Size = int | Dim


def upper_bound(size: Size, names: Set[str]) -> Size | None:
    """A size that is `size` at least and depends on none of `names`; None if its form shows none.

    Sizes are at least 0, so that it is ``n`` for ``min(end, n) - min(start, n)``.
    """
    if isinstance(size, int) or names.isdisjoint(size.symbols()):
        return size
    total: Size = 0
    for monomial, coefficient in size.terms:
        bound = _bound_of_term(monomial, coefficient, names)
        if bound is None:
            return None
        total = total + bound
    return total


def depends_on(monomial: Monomial, names: Set[str]) -> bool:
    """Return whether any of `names` is in `monomial`."""
    return not names.isdisjoint(Dim({monomial: 1}).symbols())


def _bound_of_term(monomial: Monomial, coefficient: int, names: Set[str]) -> Size | None:
    if not depends_on(monomial, names):
        return Dim({monomial: coefficient}) if monomial else coefficient
    if not all(map(is_nonnegative, monomial)):
        return None
    if coefficient < 0:
        return 0
    product: Size = coefficient
    for atom in monomial:
        bound = _bound_of_atom(atom, names)
        if bound is None:
            return None
        product = product * bound
    return product


def _bound_of_atom(atom: Atom, names: Set[str]) -> Size | None:
    if isinstance(atom, str):
        return None if atom in names else Dim.symbol(atom)
    return _bound_of_call(atom, names)


def _bound_of_call(call: Call, names: Set[str]) -> Size | None:
    first, second = (upper_bound(each, names) for each in call.arguments)
    if call.function == "min" and (first is None or second is None):
        return second if first is None else first
    if first is None or second is None:
        return None
    if call.function == "min":
        return minimum(first, second)
    if call.function in ("max", "broadcast"):
        return maximum(first, second)
    divisor = call.arguments[1]
    return floordiv(first, divisor) if isinstance(divisor, int) and divisor > 0 else None
