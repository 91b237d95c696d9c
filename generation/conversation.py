"""Conversations: messages in turns, by the folder's chat template."""

from collections.abc import Iterator, Sequence
from typing import Any

from .generator import Generator
from .language_model import LanguageModel
from .search_options import SearchOptions
from .statistics import GenerationStatistics
from .stop_sequences import StopSequences
from .text import continue_text


class Conversation:
    """A conversation with `model`, which computes each message once.

        conversation = Conversation(model, system="Answer in one sentence.")
        for piece in conversation.reply("Why is the sky blue?"):
            print(piece, end="")

    Options are those of `Generator`. Raises `UsageError` if the folder has no chat template.
    """

    def __init__(
        self,
        model: LanguageModel,
        options: SearchOptions | None = None,
        *,
        system: str | None = None,
        **search_options: Any,
    ):
        self.messages: list[dict[str, str]] = []
        """All messages so far, with ``role`` and ``content``."""
        if system is not None:
            self.messages.append({"role": "system", "content": system})
        self._model = model
        self._generator = Generator(model, options, **search_options)

    def reply(
        self,
        text: str,
        *,
        stop: Sequence[str] = (),
        max_new_tokens: int | None = None,
        statistics: GenerationStatistics | None = None,
    ) -> Iterator[str]:
        """The answer to `text`, in pieces as it comes; see `generate_text`.

        What was said of an answer that is broken off stays part of the conversation. Raises
        `PromptError` when the conversation no longer fits the context; `text` is then forgotten.
        """
        stops = StopSequences(stop)
        question = {"role": "user", "content": text}
        count = self._continue_with(self._model.tokenizer.encode_chat([*self.messages, question]))
        answer = {"role": "assistant", "content": ""}
        self.messages += [question, answer]
        pieces = continue_text(
            self._model, self._generator, stops, max_new_tokens, statistics, prompt_tokens=count
        )
        return _recorded(pieces, answer)

    def _continue_with(self, tokens: list[int]) -> int:
        """Make the generator's sequence `tokens`; return how many of them are new to it."""
        had = self._generator.get_sequence()
        pairs = zip(had, tokens, strict=False)
        common = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(had), len(tokens)))
        self._generator.rewind_to(common)
        self._generator.append_tokens(tokens[common:])
        return len(tokens) - common


def _recorded(pieces: Iterator[str], answer: dict[str, str]) -> Iterator[str]:
    """The `pieces`, which become the content of `answer` as they come."""
    for piece in pieces:
        answer["content"] += piece
        yield piece
