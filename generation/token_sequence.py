"""One sequence of a batch: its tokens, and how many of them the cache has."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np


class TokenConstraint(Protocol):
    """Decides which tokens may come next in one sequence."""

    def allowed(self) -> np.ndarray:
        """The tokens that may come next, bool ``[vocab]``, of which one is."""
        ...

    def accept(self, token: int) -> None:
        """Go on behind `token`, an allowed one."""
        ...

    def rewind(self, count: int) -> None:
        """Take back the last `count` tokens."""
        ...

    @property
    def is_complete(self) -> bool:
        """True if nothing may come any more."""
        ...


@dataclass
class TokenSequence:
    """Tokens of one sequence; the first `cached` have keys and values in the cache."""

    vocab: int
    constraint: TokenConstraint | None = None
    tokens: list[int] = field(default_factory=list)
    cached: int = 0
    generated: list[int] = field(default_factory=list)
    """Positions of the tokens that were generated, not appended."""
    is_ended: bool = False
    """True behind a token that ends the text."""

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.vocab, np.int32)
        """How often each token occurs."""

    @property
    def pending(self) -> list[int]:
        """Tokens that the next step computes: the last one again if there are no others, which
        writes the same keys and values."""
        return self.tokens[self.first_pending :]

    @property
    def first_pending(self) -> int:
        """The position of the first of `pending`."""
        return min(self.cached, len(self.tokens) - 1)

    def append(self, tokens: Iterable[int]) -> None:
        """Add tokens of a prompt."""
        for token in tokens:
            self.tokens.append(token)
            self.counts[token] += 1
        self.is_ended = False

    def add_generated(self, token: int, ends: bool) -> None:
        """Add a chosen token; `ends` says that it ends the text."""
        self.generated.append(len(self.tokens))
        self.append([token])
        self.is_ended = ends
        if self.constraint is not None:
            self.constraint.accept(token)
            self.is_ended = ends or self.constraint.is_complete

    def rewind(self, length: int) -> None:
        """Forget the tokens behind the first `length`."""
        if length == len(self.tokens):
            return
        for token in self.tokens[length:]:
            self.counts[token] -= 1
        del self.tokens[length:]
        self.cached = min(self.cached, length)
        taken_back = [position for position in self.generated if position >= length]
        del self.generated[len(self.generated) - len(taken_back) :]
        if self.constraint is not None and taken_back:
            self.constraint.rewind(len(taken_back))
        self.is_ended = False
