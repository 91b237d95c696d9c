"""A request while it is computed."""

import math
from dataclasses import dataclass

import numpy as np

from ..errors import GraphcError
from ..generation.token_sequence import TokenSequence
from .api_error import ApiError, api_error_of
from .generation_request import (
    FinishEvent,
    FinishReason,
    GenerationRequest,
    PromptTokenEvent,
    TokenEvent,
)
from .logprobs import TokenLogprobs
from .metrics import ServingMetrics
from .slots import ChosenToken


@dataclass(eq=False)
class RunningRequest:
    """The tokens of a request."""

    request: GenerationRequest
    sequence: TokenSequence
    metrics: ServingMetrics
    cached_tokens: int = 0
    generated: int = 0
    last_arrival: float = 0.0
    told: int = 0
    """Tokens of the prompt that the listener was told."""

    def tell_prompt(self, logits: np.ndarray | None) -> None:
        """Tell the listener the next token of the prompt, by the `logits` behind those before it;
        those of a prompt that is computed again are told once.

        Raises `ApiError` for logits that are no numbers.
        """
        request, position = self.request, 0 if logits is None else self.sequence.cached
        if not request.tells_prompt or position != self.told:
            return
        token = request.prompt[position]
        found = None if logits is None else TokenLogprobs.of(logits, token, request.logprobs or 0)
        if found is not None and math.isnan(found.logprob):
            raise _invalid_logits(position)
        self.told += 1
        request.listener(PromptTokenEvent(token, found))

    def take(self, chosen: ChosenToken, now: float) -> FinishEvent | None:
        """Add a token, and tell the listener; return the end if it is reached.

        Raises `ApiError` if the request fails.
        """
        request, sequence = self.request, self.sequence
        if not chosen.is_finite:
            raise _invalid_logits(len(sequence.tokens))
        try:
            sequence.add_generated(chosen.token)
        except GraphcError as error:
            raise api_error_of(error) from error
        self._measure(now)
        text = request.stops.feed(request.detokenizer.step(chosen.token))
        request.listener(TokenEvent(chosen.token, text, self._logprobs(chosen)))
        reason = self._finish_reason()
        if reason is None:
            return None
        return FinishEvent(reason, request.stops.finish(), self.cached_tokens)

    def _logprobs(self, chosen: ChosenToken) -> TokenLogprobs | None:
        count = self.request.logprobs
        return None if count is None else TokenLogprobs.of(chosen.logits, chosen.token, count)

    def _finish_reason(self) -> FinishReason | None:
        if self.sequence.is_ended or self.request.stops.is_reached:
            return FinishReason.STOP
        is_full = self.generated >= self.request.max_new_tokens or self.sequence.is_done
        return FinishReason.LENGTH if is_full else None

    def _measure(self, now: float) -> None:
        self.generated += 1
        self.metrics.generation_tokens.add(1)
        if self.generated == 1:
            self.metrics.prompt_tokens.add(len(self.request.prompt))
            self.metrics.time_to_first_token.observe(now - self.request.arrival)
        else:
            self.metrics.time_per_output_token.observe(now - self.last_arrival)
        self.last_arrival = now


def _invalid_logits(count: int) -> ApiError:
    return ApiError(f"logits behind {count} tokens are NaN or infinite", 500, "invalid_logits")
