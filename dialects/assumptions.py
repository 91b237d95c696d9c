"""Facts about sizes that hold in a part of the program only, such as the body of a loop.

Types must follow from operands alone, so that they do not depend on where they are asked for. So
facts are *assumed* around the code that builds a body, and *used* where it computes sizes that
become attributes::

    with assuming([length - 1 - iteration]):
        ...
        with using_assumptions():
            minimum(iteration, length)  # iteration
"""

import functools
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .proofs import prover
from .symbolic import Dim
from .symbolic_terms import EXTREMA, Call, Monomial, single_call

Facts = tuple[Dim, ...]
"""Sizes that are 0 at least."""

_assumed: ContextVar[Facts] = ContextVar("assumed", default=())

_MAX_STEPS = 3
"""Facts that a proof adds up."""

_MAX_CASES = 4
"""Maxima and minima that a proof takes apart."""


@contextmanager
def assuming(facts: Iterable[int | Dim]) -> Generator[None]:
    """Assume that `facts` are 0 at least, besides those that are assumed around."""
    new = tuple(fact for fact in facts if isinstance(fact, Dim))
    token = _assumed.set((*_assumed.get(), *new))
    try:
        yield
    finally:
        _assumed.reset(token)


@contextmanager
def using_assumptions() -> Generator[None]:
    """Let comparisons of sizes use what is assumed."""
    facts = _assumed.get()
    token = prover.set((lambda size: _follows(size, facts)) if facts else None)
    try:
        yield
    finally:
        prover.reset(token)


@functools.lru_cache(maxsize=1 << 12)
def _follows(size: int | Dim, facts: Facts) -> bool:
    return _is_nonnegative(size, facts, _MAX_STEPS, _MAX_CASES)


def _is_nonnegative(size: int | Dim, facts: Facts, steps: int, cases: int) -> bool:
    """Return whether `size` is 0 at least, by adding up `facts` that remove its terms."""
    if isinstance(size, int):
        return size >= 0
    if size.minimum is not None and size.minimum >= 0:
        return True
    extremum = _extremum(size) if cases else None
    if extremum is not None:
        monomial, coefficient, call = extremum
        rest = size.without(monomial)
        any_of = (call.function == "max") == (coefficient > 0)
        some = any if any_of else all
        if some(
            _is_nonnegative(rest + argument * coefficient, facts, steps, cases - 1)
            for argument in call.arguments
        ):
            return True
    return steps > 0 and any(
        _is_nonnegative(left, facts, steps - 1, cases) for left in _remainders(size, facts)
    )


def _extremum(size: Dim) -> tuple[Monomial, int, Call] | None:
    """The first term of `size` that is a maximum or minimum, times a number."""
    for monomial, coefficient in size.terms:
        if (call := single_call(monomial, EXTREMA)) is not None:
            return monomial, coefficient, call
    return None


def _remainders(size: Dim, facts: Facts) -> Iterator[int | Dim]:
    """The differences of `size` and multiples of `facts` that lack one of its terms."""
    terms = dict(size.terms)
    for fact in facts:
        multiples = {
            terms[monomial] // coefficient
            for monomial, coefficient in fact.terms
            if monomial
            and terms.get(monomial, 0) % coefficient == 0
            and terms.get(monomial, 0) // coefficient > 0
        }
        yield from (size - fact * multiple for multiple in sorted(multiples))
