"""A request for the continuation of one prompt, and the events that answer it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ..generation.logit_bias import LogitBias
from ..generation.search_options import SearchOptions
from ..generation.stop_sequences import StopSequences
from ..generation.token_sequence import TokenConstraint
from .api_error import ApiError
from .logprobs import TokenLogprobs


class FinishReason(StrEnum):
    """The reason why a text ends, by OpenAI's names."""

    STOP = "stop"
    """The model, a stop sequence or the grammar ended it."""
    LENGTH = "length"
    """The tokens that the request or the context allows are used up."""


@dataclass(frozen=True)
class TokenEvent:
    """A token has come, and lets `text` through, which may be none yet."""

    token: int
    text: str
    logprobs: TokenLogprobs | None = None


@dataclass(frozen=True)
class PromptTokenEvent:
    """A token of the prompt, with its log-probability behind those before it; the first has
    none."""

    token: int
    logprobs: TokenLogprobs | None


@dataclass(frozen=True)
class FinishEvent:
    """The text ends, with `text` that was held back until now."""

    reason: FinishReason
    text: str
    cached_tokens: int
    """Tokens of the prompt that were not computed, because the prompt before began alike."""


@dataclass(frozen=True)
class FailureEvent:
    """The request failed."""

    error: ApiError


GenerationEvent = PromptTokenEvent | TokenEvent | FinishEvent | FailureEvent


class Detokenizer(Protocol):
    """Turns tokens to text, one after the other."""

    def step(self, token: int) -> str:
        """The text that `token` adds."""
        ...


@dataclass(eq=False)
class GenerationRequest:
    """One prompt to continue by at most `max_new_tokens` tokens.

    `options` has the seed of the draws. `listener` is called with the events, by the scheduler's
    thread: those of the prompt if they are asked for, tokens, and then one `FinishEvent` or
    `FailureEvent`, unless the request is cancelled.
    """

    prompt: Sequence[int]
    options: SearchOptions
    max_new_tokens: int
    detokenizer: Detokenizer
    listener: Callable[[GenerationEvent], None]
    stops: StopSequences = field(default_factory=lambda: StopSequences(()))
    constraint: TokenConstraint | None = None
    bias: LogitBias | None = None
    logprobs: int | None = None
    """The number of most probable tokens to tell with each token; None for no log-probabilities."""
    tells_prompt: bool = False
    """True to tell the log-probabilities of the prompt as well, for which it is computed token by
    token."""
    timeout: float = math.inf
    """Seconds until it fails, from its arrival on."""
    prompt_field: str = "prompt"
    """The field of the call that has the prompt, for errors."""
    arrival: float = 0.0
    """Time of the scheduler's clock, which sets it."""
    is_cancelled: bool = False
