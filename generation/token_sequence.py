"""One sequence of a batch: its tokens, and how many of them the cache has."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..errors import ExecutionError
from .config import GenerationConfig
from .logit_bias import LogitBias
from .sampling import RowSampling
from .search_options import SearchOptions


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

    config: GenerationConfig
    options: SearchOptions
    """The choice of its tokens, with a seed of its own."""
    constraint: TokenConstraint | None = None
    bias: LogitBias | None = None
    tokens: list[int] = field(default_factory=list)
    cached: int = 0
    generated: list[int] = field(default_factory=list)
    """Positions of the tokens that were generated, not appended."""
    is_ended: bool = False
    """True behind a token that ends the text."""

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.config.vocab_size, np.int32)
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

    @property
    def max_length(self) -> int:
        """The number of tokens at which it ends."""
        context = self.config.context_length
        return min(self.options.max_length or context, context)

    @property
    def is_done(self) -> bool:
        """True if no token can come any more."""
        return self.is_ended or len(self.tokens) >= self.max_length

    def append(self, tokens: Iterable[int]) -> None:
        """Add tokens of a prompt."""
        for token in tokens:
            self.tokens.append(token)
            self.counts[token] += 1
        self.is_ended = False

    def add_generated(self, token: int) -> None:
        """Add a chosen token, which may end the text."""
        ends = token in self.config.eos_token_ids
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

    def sampling(self) -> RowSampling:
        """The choice of the token behind these. Raises `ExecutionError` if none is allowed."""
        return RowSampling(self.options, self.counts > 0, self._allowed(), len(self.tokens))

    def _allowed(self) -> np.ndarray:
        allowed = np.ones(self.config.vocab_size, bool)
        if self.constraint is not None and not self.is_ended:
            allowed = self.constraint.allowed().copy()
        if len(self.tokens) < self.options.min_length:
            allowed[list(self.config.eos_token_ids)] = False
        if not allowed.any():
            raise ExecutionError(
                f"no token is allowed behind {len(self.tokens)} ones: the constraint has none, "
                f"or only the end before min_length {self.options.min_length}"
            )
        return allowed
