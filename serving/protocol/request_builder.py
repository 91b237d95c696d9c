"""From a call to requests in tokens."""

import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import dataclass

from ...errors import GraphcError
from ...generation import GrammarConstraint, LanguageModel
from ...generation.stop_sequences import StopSequences
from ..api_error import ApiError, api_error_of
from ..generation_request import GenerationEvent, GenerationRequest
from .calls import DEFAULT_COMPLETION_TOKENS, GenerationCall, Prompt
from .tool_calls import check_template

Listener = Callable[[GenerationEvent], None]


@dataclass(frozen=True)
class RequestBuilder:
    """Makes the requests of calls to `model`, which end after `timeout` seconds.

    `context_length` bounds a prompt with its answer, `capacity` the texts of a call.
    """

    model: LanguageModel
    context_length: int
    capacity: int
    timeout: float = math.inf

    def build(
        self, call: GenerationCall, listener_of: Callable[[int], Listener]
    ) -> list[GenerationRequest]:
        """The requests of `call`: for each prompt, its choices, with seeds in turn.

        `listener_of` gives the listener of each by its number. Raises `ApiError`.
        """
        count = max(1, len(call.prompts)) * call.choices
        if count > self.capacity:
            raise ApiError(
                f"{count} texts at once, the server takes {self.capacity}",
                400,
                "invalid_value",
                "n",
            )
        try:
            prompts = self._chat_prompts(call) if call.is_chat else self._text_prompts(call)
            pairs = [(prompt, choice) for prompt in prompts for choice in range(call.choices)]
            return [
                self._request(call, prompt, choice, listener_of(index))
                for index, (prompt, choice) in enumerate(pairs)
            ]
        except GraphcError as error:
            raise api_error_of(error) from error

    def _chat_prompts(self, call: GenerationCall) -> list[list[int]]:
        tokenizer = self.model.tokenizer
        if not call.tools:
            return [tokenizer.encode_chat(call.messages)]
        check_template(tokenizer.chat_template)
        return [tokenizer.encode_chat(call.messages, tools=list(call.tools))]

    def _text_prompts(self, call: GenerationCall) -> list[list[int]]:
        return [self._tokens(each) for each in call.prompts]

    def _tokens(self, prompt: Prompt) -> list[int]:
        return self.model.tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt)

    def _request(
        self, call: GenerationCall, prompt: list[int], choice: int, listener: Listener
    ) -> GenerationRequest:
        options = dataclasses.replace(
            call.options,
            random_seed=call.options.random_seed + choice,
            max_length=None,
            min_length=len(prompt) + call.min_tokens,
        )
        return GenerationRequest(
            prompt, options, self._most(call, len(prompt)), self.model.tokenizer.stream(), listener,
            stops=StopSequences(call.stops), constraint=self._constraint(call), bias=call.bias,
            logprobs=call.logprobs, tells_prompt=call.echoes and call.logprobs is not None,
            timeout=self.timeout, prompt_field="messages" if call.is_chat else "prompt",
        )  # fmt: skip

    def _most(self, call: GenerationCall, length: int) -> int:
        """The tokens of the answer; one at least, for which a prompt may be too long."""
        room = max(1, self.context_length - length)
        default = room if call.is_chat else min(room, DEFAULT_COMPLETION_TOKENS)
        return call.max_tokens or default

    def _constraint(self, call: GenerationCall) -> GrammarConstraint | None:
        if call.json_schema is None:
            return None
        try:
            return GrammarConstraint(self.model, json_schema=json.dumps(call.json_schema))
        except GraphcError as error:
            failure = api_error_of(error)
            raise ApiError(
                failure.message, failure.status, "invalid_json_schema", "response_format"
            ) from error
