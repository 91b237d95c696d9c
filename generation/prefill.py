"""Steps of a prompt."""

from .entry_points import EntryPoints, StepResult
from .key_value_cache import KeyValueCache
from .sampling import sampling_feeds
from .token_sequence import TokenSequence


def prefill_step(
    entry_points: EntryPoints, sequence: TokenSequence, cache: KeyValueCache, row: int
) -> StepResult:
    """Compute the next pending tokens of `sequence`, at `row` of `cache`.

    These are a chunk, or one token where a chunk would pass the end of the context. The result is
    the choice behind them. Raises MemoryError if there is none for the cache of the whole prompt.
    """
    cache.reserve(len(sequence.tokens))  # at once: growing by steps copies, and leaves gaps
    count = next_chunk(entry_points, sequence)
    first, tokens = sequence.first_pending, sequence.pending[:count]
    feeds = sampling_feeds([sequence.sampling()])
    result = entry_points.step([tokens], [first], cache, feeds, [row])
    sequence.cached = first + len(tokens)
    return result


def next_chunk(entry_points: EntryPoints, sequence: TokenSequence) -> int:
    """The tokens of the next step of `sequence`; 1 if no chunk, padded, fits into the context."""
    room = sequence.config.context_length - sequence.first_pending
    return entry_points.chunk_of(len(sequence.pending), room)
