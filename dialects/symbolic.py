"""Symbolic dimensions: integer polynomials over named sizes.

A dimension is an ``int`` or a `Dim`. A `Dim` is a polynomial with integer coefficients whose
indeterminates are *atoms*: a named size (``batch``), or an operation that a polynomial cannot
express (``floordiv(h - 1, 2)``). Arithmetic keeps a normal form, so two dimensions are equal as
Python values exactly when their normal forms are, and a `Dim` that loses its last atom becomes
an ``int``. Named sizes are never negative.

>>> batch, seq = Dim.symbol("batch"), Dim.symbol("seq")
>>> str(batch * seq + seq - 1)
'batch*seq + seq - 1'
>>> 2 * batch - batch - batch + 3
3
"""

import functools
import keyword
import math
import operator
import re
from collections.abc import Callable, Mapping

from .proofs import prover
from .symbolic_bounds import lower_bound
from .symbolic_terms import (
    LONG,
    MAX_ATOMS,
    QUOTIENT,
    Atom,
    Call,
    ComplexityError,
    Monomial,
    UndecidableError,
    both_orders,
    length,
    single_call,
)

_MAX_COEFFICIENT = (1 << 63) - 1


class Dim:
    """A polynomial over named sizes. Build with `Dim.symbol` and arithmetic; immutable.

    ComplexityError for one of more than `MAX_ATOMS`, or with numbers of more than 64 bits.
    """

    __slots__ = ("_hash", "_text", "atoms", "terms")
    terms: tuple[tuple[Monomial, int], ...]
    atoms: int
    """The length of the formula."""

    def __init__(self, terms: Mapping[Monomial, int]):
        self.atoms = 0
        for monomial, coefficient in terms.items():
            self.atoms += 1 + sum(map(length, monomial))
            if self.atoms > MAX_ATOMS or abs(coefficient) > _MAX_COEFFICIENT:
                raise ComplexityError("a size has no formula of reasonable length")
        ordered = list(terms.items())
        if len(ordered) > 1:
            ordered.sort(key=lambda term: (-len(term[0]), tuple(map(str, term[0]))))
        self.terms = tuple(ordered)
        self._hash = hash(self.terms)

    @staticmethod
    def symbol(name: str) -> "Dim":
        if not is_symbol_name(name):
            raise ValueError(f"'{name}' is not a name for a dimension")
        return Dim({(name,): 1})

    @property
    def is_symbol(self) -> bool:
        """True if this is one named size and nothing else."""
        if len(self.terms) != 1:
            return False
        monomial, coefficient = self.terms[0]
        return coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], str)

    @property
    def content(self) -> int:
        """The greatest number that divides each coefficient, and so all values."""
        return math.gcd(*(coefficient for _, coefficient in self.terms))

    def symbols(self) -> set[str]:
        """The names this dimension depends on."""
        found: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, str):
                    found.add(atom)
                else:
                    found |= {s for a in atom.arguments if isinstance(a, Dim) for s in a.symbols()}
        return found

    def evaluate(self, sizes: "Mapping[str, int | Dim]") -> "int | Dim":
        """Replace the named sizes found in `sizes`; an ``int`` once none is left."""
        return self.with_atoms(lambda atom: _evaluate_atom(atom, sizes))

    def with_atoms(self, changed: "Callable[[Atom], int | Dim]") -> "int | Dim":
        """The sum with each atom `changed`."""
        total: int | Dim = 0
        for monomial, coefficient in self.terms:
            product: int | Dim = coefficient
            for atom in monomial:
                product = product * changed(atom)
            total = total + product
        return total

    @property
    def minimum(self) -> int | None:
        """A lower bound (sizes are at least 0), or None when the form shows none."""
        return lower_bound(self)

    def without(self, monomial: Monomial) -> "int | Dim":
        """The other terms."""
        return _normalized({each: times for each, times in self.terms if each != monomial})

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Dim) and self.terms == other.terms)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        try:
            return self._text
        except AttributeError:  # not asked for before
            self._text = self._written()
            return self._text

    def _written(self) -> str:
        text = ""
        for monomial, coefficient in self.terms:
            magnitude = abs(coefficient)
            factors = [str(atom) for atom in monomial]
            if magnitude != 1 or not factors:
                factors.insert(0, str(magnitude))
            sign = "-" if coefficient < 0 else "+"
            text += ("-" if sign == "-" else "") if not text else f" {sign} "
            text += "*".join(factors)
        return text

    def __repr__(self) -> str:
        return f"Dim({str(self)!r})"

    def __add__(self, other: "int | Dim") -> "int | Dim":
        if (right := _terms(other)) is None:
            return NotImplemented
        total = dict(self.terms)
        for monomial, coefficient in right.items():
            total[monomial] = total.get(monomial, 0) + coefficient
        return _normalized(total)

    def __mul__(self, other: "int | Dim") -> "int | Dim":
        if (right := _terms(other)) is None:
            return NotImplemented
        product: dict[Monomial, int] = {}
        for left_monomial, left_coefficient in self.terms:
            for right_monomial, right_coefficient in right.items():
                monomial = tuple(sorted(left_monomial + right_monomial, key=str))
                value = left_coefficient * right_coefficient
                product[monomial] = product.get(monomial, 0) + value
        return _normalized(product)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> "int | Dim":
        return self * -1

    def __sub__(self, other: "int | Dim") -> "int | Dim":
        return self + other * -1

    def __rsub__(self, other: "int | Dim") -> "int | Dim":
        return self * -1 + other

    def __floordiv__(self, other: "int | Dim") -> "int | Dim":
        return floordiv(self, other)

    def __mod__(self, other: "int | Dim") -> "int | Dim":
        return self - floordiv(self, other) * other


def is_symbol_name(name: str) -> bool:
    """Return whether `name` can name a dimension: words of letters, digits and ``_``, joined by
    dots."""
    words = name.split(".")
    return name not in FUNCTIONS and all(
        re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", word) and not keyword.iskeyword(word)
        for word in words
    )


def floordiv(a: "int | Dim", b: "int | Dim") -> "int | Dim":
    """``a // b``, exact where the polynomial divides."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if a == b:
        return 1
    if isinstance(a, int) and a == 0:
        return 0
    if isinstance(b, int):
        return _floordiv_int(_dim(a), b)
    quotient = _divide_monomial(a, b)
    return quotient if quotient is not None else _call("floordiv", a, b)


def ceildiv(a: "int | Dim", b: "int | Dim") -> "int | Dim":
    """``-(-a // b)``."""
    return -floordiv(-a, b) if isinstance(a, int) else floordiv(a + b - 1, b)


def maximum(a: "int | Dim", b: "int | Dim") -> "int | Dim":
    """The larger of two sizes, decided where their difference shows its sign."""
    return _extremum("max", a, b)


def minimum(a: "int | Dim", b: "int | Dim") -> "int | Dim":
    """The smaller of two sizes, decided where their difference shows its sign."""
    return _extremum("min", a, b)


def _extremum(function: str, a: "int | Dim", b: "int | Dim") -> "int | Dim":
    """The size that is the maximum or minimum, or the call, without what another one within it
    makes superfluous: ``max(0, n - 1)`` for ``max(0, max(1, n) - 1)``."""

    def is_beyond(one: "int | Dim", other: "int | Dim") -> bool:
        return at_least(one, other) if function == "max" else at_least(other, one)

    if isinstance(a, int) and isinstance(b, int):
        return a if is_beyond(a, b) else b
    a, b = sorted((a, b), key=str)
    if is_same(a, b):
        return _shorter(a, b)
    pairs = (a, b), (b, a)
    if (found := next((one for one, other in pairs if is_beyond(one, other)), None)) is not None:
        return found
    for outer, inner in pairs:
        call, more = _shifted_call(inner, function)
        for argument, other in both_orders(call):
            if is_beyond(outer, argument + more):
                return _extremum(function, outer, other + more)
    return _call(function, a, b)


def _shorter(a: "int | Dim", b: "int | Dim") -> "int | Dim":
    return min(a, b, key=lambda size: (len(str(size)), str(size)))


def _shifted_call(a: "int | Dim", function: str) -> tuple[Call | None, int]:
    """The call of `function` that `a` is but for a number, and that number."""
    terms = dict(_dim(a).terms)
    more = terms.pop((), 0)
    call = single_call(next(iter(terms), ()), (function,))
    return (call, more) if call is not None and [*terms.values()] == [1] else (None, 0)


def broadcast(a: "int | Dim", b: "int | Dim") -> "int | Dim":
    """The common size of two sizes that broadcast: ``b`` where ``a`` is 1, else ``a``.

    A size that is never 1, such as ``2*h``, is the common size. Raises ValueError when both are
    known and neither is 1 nor equal to the other.
    """
    if a == 1:
        return b
    if a == b or b == 1:
        return a
    if isinstance(a, int) and isinstance(b, int):
        raise ValueError(f"sizes {a} and {b} do not broadcast")
    if isinstance(a, int):
        return a
    if isinstance(b, int):
        return b
    a, b = sorted((a, b), key=str)
    if is_same(a, b):
        return _shorter(a, b)
    for size in (a, b):
        if _is_never_one(size):
            return size
    for size, other in ((a, b), (b, a)):
        if _is_bounded_by(other, size):
            return size
        if is_broadcast_of(other, size):
            return other
    return _call("broadcast", a, b)


def _is_never_one(a: Dim) -> bool:
    try:
        return not decide_equal(a, 1)
    except UndecidableError:
        return False


def _is_bounded_by(a: Dim, b: Dim) -> bool:
    """Return whether `a` is ``min(b, n)`` with n positive: it then broadcasts with `b` only to `b`.

    Slices of a position table with n rows have such a size.
    """
    arguments = _arguments(a, "min")
    return b in arguments and all(x == b or (isinstance(x, int) and x > 0) for x in arguments)


def is_broadcast_of(a: "int | Dim", b: "int | Dim") -> bool:
    """Return whether `a` is the broadcast of `b` and other sizes."""
    return isinstance(a, Dim) and _arguments(a, "broadcast") != () and _parts(b) <= _parts(a)


def _parts(a: "int | Dim") -> set[int | Dim]:
    """The sizes that broadcast to `a`; `a` alone where there are no others."""
    arguments = _arguments(a, "broadcast") if isinstance(a, Dim) else ()
    return set[int | Dim]().union(*map(_parts, arguments)) if arguments else {a}


def _arguments(a: Dim, function: str) -> tuple[int | Dim, ...]:
    """The arguments of `a` where it is a call of `function` and nothing else."""
    call, more = _shifted_call(a, function)
    return call.arguments if call is not None and not more else ()


@functools.lru_cache(maxsize=1 << 14)
def is_same(a: "int | Dim", b: "int | Dim") -> bool:
    """Return whether two sizes are equal for every value of the named sizes, also where they are
    spelled in other ways: ``n - min(n, 1)`` and ``max(0, n - 1)``."""
    difference = a - b
    if isinstance(difference, int) or difference.atoms > 2 * LONG:
        return difference == 0
    return _canonical(difference) == 0


def _canonical(dim: Dim) -> "int | Dim":
    """`dim` with ``a + max(0, b - a)`` for ``max(a, b)``, and so on: `_excess` is the only function
    of two arguments that it has, so that terms cancel."""
    return dim.with_atoms(_canonical_atom)


def _canonical_atom(atom: Atom) -> "int | Dim":
    if isinstance(atom, str):
        return Dim({(atom,): 1})
    first, second = (a if isinstance(a, int) else _canonical(a) for a in atom.arguments)
    if atom.function == "max":
        return first + _excess(second - first)
    if atom.function == "min":
        return first - _excess(first - second)
    # What broadcasts may depend on assumptions, which hold for a while.
    return (
        floordiv(first, second)
        if atom.function == "floordiv"
        else _call(atom.function, first, second)
    )


def _excess(a: "int | Dim") -> "int | Dim":
    """``max(0, a)``, where `a` begins with a positive term; that of ``-a`` follows from it."""
    if isinstance(a, int):
        return max(0, a)
    if a.terms[0][1] < 0:
        return a + _excess(-a)
    if a.minimum is not None and a.minimum >= 0:
        return a
    call, more = _shifted_call(a, "max")
    if call is not None and more <= 0 and call.arguments[0] == 0:
        return _excess(call.arguments[1] + more)
    return _call("max", 0, a)


def at_least(a: "int | Dim", b: "int | Dim") -> bool:
    """Return whether ``a >= b`` for every value of the named sizes (False also when unknown)."""
    if _is_at_least(a, b):
        return True
    prove = prover.get()
    return prove is not None and prove(a - b)


@functools.lru_cache(maxsize=1 << 14)
def _is_at_least(a: "int | Dim", b: "int | Dim") -> bool:
    """Remembered, since checks of shapes ask again and again."""
    difference = a - b
    if isinstance(difference, int):
        return difference >= 0
    return difference.minimum is not None and difference.minimum >= 0


def decide_equal(a: "int | Dim", b: "int | Dim") -> bool:
    """Return whether two sizes are equal; UndecidableError when that depends on their values."""
    difference = a - b
    if isinstance(difference, int) or is_same(a, b):
        return is_same(a, b)
    for side in (difference, -difference):
        if at_least(side, 1):
            return False
    terms = dict(difference.terms)
    if terms.pop((), 0) % math.gcd(*terms.values()):
        return False
    raise UndecidableError(f"whether {a} equals {b} depends on the sizes")


FUNCTIONS: dict[str, Callable[..., "int | Dim"]] = {
    "floordiv": floordiv,
    "max": maximum,
    "min": minimum,
    "broadcast": broadcast,
}


def _dim(value: "int | Dim") -> Dim:
    return value if isinstance(value, Dim) else Dim({(): value})


def _terms(value: "int | Dim") -> dict[Monomial, int] | None:
    if isinstance(value, Dim):
        return dict(value.terms)
    try:
        number = operator.index(value)
    except TypeError:
        return None
    return {(): number}


def _normalized(terms: dict[Monomial, int]) -> "int | Dim":
    kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
    if not kept or set(kept) == {()}:
        return kept.get((), 0)
    return Dim(kept)


def _call(function: str, *arguments: "int | Dim") -> Dim:
    return Dim({(Call(function, arguments),): 1})


def _evaluate_atom(atom: Atom, sizes: "Mapping[str, int | Dim]") -> "int | Dim":
    if isinstance(atom, str):
        return sizes[atom] if atom in sizes else Dim({(atom,): 1})
    arguments = [a.evaluate(sizes) if isinstance(a, Dim) else a for a in atom.arguments]
    return FUNCTIONS[atom.function](*arguments)


def _floordiv_int(a: Dim, b: int) -> "int | Dim":
    """Pull the part that divides evenly out of ``a // b``."""
    if b == 1:
        return a
    whole = {m: c // b for m, c in a.terms if c % b == 0}
    rest = _normalized({m: c for m, c in a.terms if c % b != 0})
    outside = _normalized(whole)
    if isinstance(rest, int):
        return outside + rest // b
    constant = dict(a.terms).get((), 0)
    if constant % b:  # keep the constant's remainder small and positive: one spelling per value
        rest = rest - constant + constant % b
        outside = outside + constant // b
    return outside + _quotient_of(rest, b)


def _quotient_of(a: "int | Dim", b: int) -> "int | Dim":
    """``a // b``; ``floordiv(floordiv(h, 2) + 1, 2)`` as ``floordiv(h + 2, 4)``."""
    terms = dict(_dim(a).terms)
    constant = terms.pop((), 0)
    monomial, coefficient = next(iter(terms.items()))
    call = single_call(monomial, QUOTIENT) if len(terms) == coefficient == 1 else None
    if call is not None and b > 0:
        dividend, divisor = call.arguments
        if isinstance(divisor, int) and divisor > 0:
            return floordiv(dividend + constant * divisor, b * divisor)
    return _call("floordiv", a, b)


def _divide_monomial(a: "int | Dim", b: Dim) -> "int | Dim | None":
    """``a / b`` when ``b`` is one monomial that divides every term of ``a``."""
    if len(b.terms) != 1:
        return None
    divisor, divisor_coefficient = b.terms[0]
    quotient: dict[Monomial, int] = {}
    for monomial, coefficient in _dim(a).terms:
        left = list(monomial)
        if coefficient % divisor_coefficient or any(
            left.count(x) < divisor.count(x) for x in divisor
        ):
            return None
        for atom in divisor:
            left.remove(atom)
        quotient[tuple(left)] = coefficient // divisor_coefficient
    return _normalized(quotient)
