"""Rewrites: one idea each, from one piece of graph to a better one.

    class AddZero(Rewrite):
        \"""``x + 0  -->  x``. Exact but for ``-0.0 + 0.0``.\"""

        name = "add-zero"
        root = graph.AddOp

        def pattern(self, op):
            return op_pattern.match(op)             # captures, or None: not this shape

        def check(self, op, x):
            return None if type_of(x) == type_of(op.result) else "the sum broadcasts"

        def rewrite(self, op, x):
            return x                                # what replaces the results of `op`

or, for a single step, a function:

    @rewrite(graph.NegOp)
    def double_negation(op):
        inner = producer(op.x, graph.NegOp)
        return inner.x if inner else None           # None: no match

The driver (`passes.infra.greedy.apply_rewrites`) inserts what a rewrite builds before `op`,
locates it with all that it replaces, replaces, erases what died, counts, and wraps errors.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ...mlir import ir

Replacement = ir.Value | Sequence[ir.Value]
Root = type[ir.OpView] | str
"""An op class, or an op's full name."""


class Decline(Exception):
    """Raised, or returned, when a rewrite matches but must leave the match alone."""

    def __init__(self, reason: str):
        self.reason = reason
        super().__init__(reason)


class Rewrite(ABC):
    """Base of rewrites. An instance holds options at most: it is shared and must stay unchanged."""

    name: str
    root: Root | tuple[Root, ...]
    """The op, or ops, whose results are replaced."""
    bound: float | None = None
    """The error bound of the result, relative to its largest value, when rewrites are checked; None
    allows for another order of sums (see `passes.infra.checking.BOUNDS`)."""
    rank: int | None = None
    """The rank whose part of a value the result is, where ranks have different ones."""

    @abstractmethod
    def pattern(self, op: Any) -> dict[str, Any] | None:
        """Match the graph around `op`: captures by name, or None. Structure only."""

    def check(self, op: Any, **captures: Any) -> str | None:
        """The reason why a match must be left alone, or None. It appears in the report."""
        del op, captures
        return None

    @abstractmethod
    def rewrite(self, op: Any, **captures: Any) -> Replacement:
        """Build and return the replacement of the result(s) of `op`, of the same types."""

    def apply(self, op: Any) -> Replacement | Decline | None:
        """Pattern, check and rewrite, in this order."""
        captures = self.pattern(op)
        if captures is None:
            return None
        reason = self.check(op, **captures)
        if reason is not None:
            return Decline(reason)
        try:
            return self.rewrite(op, **captures)
        except Decline as decline:
            return decline

    def root_names(self) -> tuple[str, ...]:
        """The full names of the root ops."""
        roots = self.root if isinstance(self.root, tuple) else (self.root,)
        return tuple(r if isinstance(r, str) else r.OPERATION_NAME for r in roots)


class FunctionRewrite(Rewrite):
    """A rewrite in one function; see `rewrite`."""

    def __init__(self, function: Callable[[Any], Any], root: Root | tuple[Root, ...]):
        self.function = function
        self.__doc__ = function.__doc__
        self.name = function.__name__.strip("_").replace("_", "-")
        self.root = root

    def pattern(self, op: Any) -> dict[str, Any] | None:
        del op
        return {}

    def rewrite(self, op: Any, **captures: Any) -> Replacement:
        return self.function(op, **captures)

    def apply(self, op: Any) -> Replacement | Decline | None:
        try:
            return self.function(op)
        except Decline as decline:
            return decline


def rewrite(*root: Root) -> Callable[[Callable[[Any], Any]], FunctionRewrite]:
    """Make a function the rewrite of the ops `root`; its name, in kebab-case, is the rewrite's.

    The function returns the replacement, None when it does not match, or a `Decline` (returned
    or raised) when it has a reason. It declines before it builds anything.
    """

    def decorate(function: Callable[[Any], Any]) -> FunctionRewrite:
        return FunctionRewrite(function, root)

    return decorate
