"""Shape constraints of ops that can only be checked at run time.

Type rules compare sizes. If these are numbers, or the same polynomial, the result is known. The
other constraints are collected here, and the lowering emits run-time checks for them::

    with collect_constraints() as found:
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


@dataclass(frozen=True)
class AtMost:
    """`size` positions fit into `room`."""

    size: Size
    room: Size

    def __str__(self) -> str:
        return f"{self.size} positions do not fit into {self.room}"


ShapeConstraint = Equal | NotNegative | AtMost

_found: ContextVar[dict[ShapeConstraint, None] | None] = ContextVar("constraints", default=None)


@contextmanager
def collect_constraints() -> Generator[dict[ShapeConstraint, None]]:
    """Collect the constraints that type rules require in this thread, each once and in order."""
    found: dict[ShapeConstraint, None] = {}
    token = _found.set(found)
    try:
        yield found
    finally:
        _found.reset(token)


def require_equal(a: Size, b: Size) -> None:
    """Require that two sizes be equal."""
    if a != b:
        _require(Equal(a, b))


def require_broadcast(a: Size, b: Size) -> None:
    """Require that two sizes broadcast."""
    if not (a == b or 1 in (a, b) or is_broadcast_of(a, b) or is_broadcast_of(b, a)):
        _require(Equal(a, b, broadcasts=True))


def require_not_negative(size: Size) -> None:
    """Require that a size be 0 at least."""
    if not at_least(size, 0):
        _require(NotNegative(size))


def require_at_most(size: Size, room: Size) -> None:
    """Require that `size` positions fit into `room`."""
    if not at_least(room - size, 0):
        _require(AtMost(size, room))


def _require(constraint: ShapeConstraint) -> None:
    found = _found.get()
    if found is not None:
        found[constraint] = None
