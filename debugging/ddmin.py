"""Delta debugging: minimization of a list that causes a failure."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def ddmin(items: Sequence[T], shows: Callable[[Sequence[T]], bool]) -> list[T]:
    """A 1-minimal sublist of `items` for which `shows` holds: no single element can be removed.

    The algorithm tries chunks of the list, then their complements, in ever smaller chunks (Zeller
    and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002). `shows(items)` must
    hold.
    """
    left, pieces = list(items), 2
    while len(left) >= 2:
        size = -(-len(left) // pieces)
        chunks = [left[start : start + size] for start in range(0, len(left), size)]
        smaller = _first(chunks, shows) if pieces == 2 or len(left) <= pieces else None
        if smaller is not None:
            left, pieces = smaller, 2
            continue
        rests = [[x for c in chunks if c is not chunk for x in c] for chunk in chunks]
        rest = _first(rests, shows) if len(chunks) > 2 or pieces > 2 else None
        if rest is not None:
            left, pieces = rest, max(pieces - 1, 2)
        elif size == 1:
            break
        else:
            pieces = min(2 * pieces, len(left))
    return left


def _first(candidates: Sequence[list[T]], shows: Callable[[Sequence[T]], bool]) -> list[T] | None:
    return next((each for each in candidates if shows(each)), None)
