"""Text as it is generated."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import PromptError
from .generator import Generator
from .language_model import LanguageModel
from .search_options import SearchOptions
from .statistics import GenerationStatistics
from .stop_sequences import StopSequences
from .token_sequence import TokenConstraint


def generate_text(
    model: LanguageModel,
    prompt: str | Sequence[int],
    options: SearchOptions | None = None,
    *,
    stop: Sequence[str] = (),
    max_new_tokens: int | None = None,
    constraint: TokenConstraint | None = None,
    statistics: GenerationStatistics | None = None,
    **search_options: Any,
) -> Iterator[str]:
    """The continuation of `prompt`, a text or tokens, in pieces as it comes.

    It ends before the first of the texts `stop`, behind `max_new_tokens`, or where the model ends
    it. `options` and keyword arguments are those of `Generator`. Times go to `statistics`.

    Raises `PromptError` at once for a prompt without tokens, with too many, or with tokens out of
    range; otherwise as `Generator` does.
    """
    tokens = model.tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt)
    if not tokens:
        raise PromptError("the prompt has no tokens")
    generator = Generator(model, options, constraints=[constraint], **search_options)
    generator.append_tokens(tokens)
    return continue_text(
        model, generator, StopSequences(stop), max_new_tokens, statistics, prompt_tokens=len(tokens)
    )


def continue_text(
    model: LanguageModel,
    generator: Generator,
    stops: StopSequences,
    max_new_tokens: int | None,
    statistics: GenerationStatistics | None,
    prompt_tokens: int,
) -> Iterator[str]:
    """The continuation by `generator`, of one sequence, in pieces; see `generate_text`.

    `prompt_tokens` of its tokens are still to be computed.
    """
    statistics = statistics or GenerationStatistics()
    statistics.start(prompt_tokens)
    stream = model.tokenizer.stream()
    while not generator.is_done() and not stops.is_reached:
        if max_new_tokens is not None and len(statistics.arrivals) >= max_new_tokens:
            break
        generator.generate_next_token()
        statistics.record_token()
        if piece := stops.feed(stream.step(int(generator.get_next_tokens()[0]))):
            yield piece
    if rest := stops.finish():
        yield rest
