"""The JSON of an answer, whole or in chunks."""

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..generation_request import (
    FailureEvent,
    FinishEvent,
    FinishReason,
    GenerationEvent,
    GenerationRequest,
    PromptTokenEvent,
)
from ..logprobs import TokenLogprobs
from .calls import GenerationCall
from .logprob_content import TokenText, chat_logprobs, completion_logprobs
from .tool_calls import ToolCall, ToolCallParser


@dataclass
class AnswerChoice:
    """One of the texts of an answer, as far as it has come."""

    index: int
    text: str = ""
    tokens: int = 0
    cached_tokens: int = 0
    reason: FinishReason | None = None
    logprobs: list[tuple[int, TokenLogprobs | None]] = field(default_factory=list)
    told: int = 0
    """The number of `logprobs` that chunks had."""
    offset: int = 0
    """Where the next of these stands in the text."""
    parser: ToolCallParser | None = None
    """Takes calls of tools out of the text."""
    calls: list[ToolCall] = field(default_factory=list)

    @property
    def finish_reason(self) -> str | None:
        """OpenAI's name of the reason why the text ended, if it has."""
        if self.calls and self.reason is FinishReason.STOP:
            return "tool_calls"
        return None if self.reason is None else self.reason.value

    def add(self, event: GenerationEvent) -> str:
        """Take an event; return the text that it adds. Raises `ApiError` of a failure."""
        if isinstance(event, FailureEvent):
            raise event.error
        if isinstance(event, PromptTokenEvent):
            self.logprobs.append((event.token, event.logprobs))
            return ""
        if isinstance(event, FinishEvent):
            self.reason, self.cached_tokens = event.reason, event.cached_tokens
        else:
            self.tokens += 1
            if event.logprobs is not None:
                self.logprobs.append((event.token, event.logprobs))
        text = event.text
        if self.parser is not None:
            text, calls = self.parser.feed(text)
            self.calls += calls
            text += self.parser.finish() if isinstance(event, FinishEvent) else ""
        self.text += text
        return text


@dataclass
class Answer:
    """The answer to `call`, with a choice for each of `requests`; `text_of` is that of a token."""

    call: GenerationCall
    model_name: str
    requests: Sequence[GenerationRequest]
    text_of: TokenText = str
    created: int = field(default_factory=lambda: int(time.time()))

    def __post_init__(self) -> None:
        self.id = f"{'chatcmpl' if self.call.is_chat else 'cmpl'}-{uuid.uuid4().hex}"
        self._choices = [
            AnswerChoice(index, parser=ToolCallParser() if self.call.tools else None)
            for index in range(len(self.requests))
        ]

    def _echo(self, index: int) -> str:
        """The prompt of a choice, as a text."""
        prompt = self.call.prompts[index // self.call.choices]
        return prompt if isinstance(prompt, str) else "".join(map(self.text_of, prompt))

    @property
    def is_complete(self) -> bool:
        """True if every text has ended."""
        return all(each.reason is not None for each in self._choices)

    def first_chunks(self) -> Iterator[dict[str, Any]]:
        """The chunks before the texts: whose they are, in a conversation, or the prompts."""
        for choice in self._choices:
            if self.call.is_chat:
                yield self._chunk(choice, {"role": "assistant", "content": ""})
            elif self.call.echoes:
                yield self._chunk(choice, self._echo(choice.index))

    def add(self, index: int, event: GenerationEvent) -> Iterator[dict[str, Any]]:
        """Take an event of a choice; the chunks for it. Raises `ApiError` of a failure."""
        choice = self._choices[index]
        before = len(choice.calls)
        text = choice.add(event)
        if text or choice.told < len(choice.logprobs):
            yield self._chunk(choice, {"content": text} if self.call.is_chat else text)
        for number, call in enumerate(choice.calls[before:], before):
            yield self._chunk(choice, {"tool_calls": [{"index": number, **call.to_dict()}]})
        if choice.reason is not None:
            yield self._chunk(choice, {} if self.call.is_chat else "", choice.finish_reason)

    def last_chunks(self) -> Iterator[dict[str, Any]]:
        """The chunk behind the texts: the usage, if the call asks for it."""
        if self.call.includes_usage:
            yield {**self._head(is_chunk=True), "choices": [], "usage": self._usage()}

    def whole(self) -> dict[str, Any]:
        """The answer as one object."""
        choices = []
        for choice in self._choices:
            choice.told = choice.offset = 0
            text = self._echo(choice.index) + choice.text if self.call.echoes else choice.text
            message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
            if choice.calls:
                message["content"] = text or None
                message["tool_calls"] = [call.to_dict() for call in choice.calls]
            content = {"message": message} if self.call.is_chat else {"text": text}
            choices.append(self._choice(choice, content, choice.finish_reason))
        return {**self._head(is_chunk=False), "choices": choices, "usage": self._usage()}

    def _chunk(
        self, choice: AnswerChoice, content: Any, reason: str | None = None
    ) -> dict[str, Any]:
        name = "delta" if self.call.is_chat else "text"
        chunk = self._head(is_chunk=True)
        chunk["choices"] = [self._choice(choice, {name: content}, reason)]
        if self.call.includes_usage:
            chunk["usage"] = None
        return chunk

    def _head(self, *, is_chunk: bool) -> dict[str, Any]:
        kind = "text_completion"
        if self.call.is_chat:
            kind = "chat.completion.chunk" if is_chunk else "chat.completion"
        return {
            "id": self.id, "object": kind, "created": self.created, "model": self.model_name,
        }  # fmt: skip

    def _usage(self) -> dict[str, Any]:
        """Numbers of tokens; a prompt with several choices counts once."""
        firsts = range(0, len(self.requests), self.call.choices)
        prompt = sum(len(self.requests[index].prompt) for index in firsts)
        generated = sum(each.tokens for each in self._choices)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": generated,
            "total_tokens": prompt + generated,
            "prompt_tokens_details": {
                "cached_tokens": sum(self._choices[index].cached_tokens for index in firsts)
            },
        }

    def _choice(
        self, choice: AnswerChoice, content: dict[str, Any], reason: str | None
    ) -> dict[str, Any]:
        return {
            "index": choice.index, **content, "logprobs": self._logprobs(choice),
            "finish_reason": reason,
        }  # fmt: skip

    def _logprobs(self, choice: AnswerChoice) -> dict[str, Any] | None:
        """Those of the tokens that have come since the last chunk."""
        entries = choice.logprobs[choice.told :]
        if not entries:
            return None
        choice.told = len(choice.logprobs)
        if self.call.is_chat:
            return chat_logprobs(entries, self.text_of)
        found = completion_logprobs(entries, choice.offset, self.text_of)
        choice.offset += sum(map(len, found["tokens"]))
        return found
