"""Shape constraints of ops that can only be checked at run time.

Type rules compare sizes. If these are numbers, or the same polynomial, the result is known. The
other constraints are noted here, and the lowering emits run-time checks for them::

    with noted() as found:
        op.verify_op()
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from ..symbolic import Dim, at_least, is_broadcast_of

Size = int | Dim


@dataclass(frozen=True)
class Equal:
    """`a` is `b`; where `broadcasts`, one of them may also be 1."""

    a: Size
    b: Size
    broadcasts: bool = False

    def __str__(self) -> str:
        return f"sizes {self.a} and {self.b} {'do not broadcast' if self.broadcasts else 'differ'}"


@dataclass(frozen=True)
class NotNegative:
    """`size` is 0 at least."""

    size: Size

    def __str__(self) -> str:
        return f"the size {self.size} of the result is negative"


Agreement = Equal | NotNegative

_found: ContextVar[dict[Agreement, None] | None] = ContextVar("agreements", default=None)


@contextmanager
def noted() -> Generator[dict[Agreement, None]]:
    """Collect the constraints that type rules note in this thread, each once and in order."""
    found: dict[Agreement, None] = {}
    token = _found.set(found)
    try:
        yield found
    finally:
        _found.reset(token)


def note_equal(a: Size, b: Size) -> None:
    """Note that two sizes must be equal."""
    if a != b:
        _note(Equal(a, b))


def note_broadcast(a: Size, b: Size) -> None:
    """Note that two sizes must broadcast."""
    if not (a == b or 1 in (a, b) or is_broadcast_of(a, b) or is_broadcast_of(b, a)):
        _note(Equal(a, b, broadcasts=True))


def note_not_negative(size: Size) -> None:
    """Note that a size must be 0 at least."""
    if not at_least(size, 0):
        _note(NotNegative(size))


def _note(agreement: Agreement) -> None:
    found = _found.get()
    if found is not None:
        found[agreement] = None
