"""A request while it is computed."""

from dataclasses import dataclass

from ..errors import GraphcError
from ..generation.token_sequence import TokenSequence
from .api_error import ApiError, api_error_of
from .generation_request import FinishEvent, FinishReason, GenerationRequest, TokenEvent
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

    def take(self, chosen: ChosenToken, now: float) -> FinishEvent | None:
        """Add a token, and tell the listener; return the end if it is reached.

        Raises `ApiError` if the request fails.
        """
        request, sequence = self.request, self.sequence
        if not chosen.is_finite:
            count = len(sequence.tokens)
            raise ApiError(
                f"logits behind {count} tokens are NaN or infinite", 500, "invalid_logits"
            )
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
