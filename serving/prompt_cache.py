"""The cache in which prompts are computed, one after the other."""

from collections.abc import Sequence

from ..generation import LanguageModel
from ..generation.entry_points import StepResult
from ..generation.prefill import has_room_for_chunk, prefill_step
from ..generation.token_sequence import TokenSequence


class PromptCache:
    """Keys and values of one prompt, computed in chunks.

    The chunks in which a prompt begins like the one before are taken from that: they would be
    computed to the same bits.
    """

    def __init__(self, model: LanguageModel):
        self._entry_points = model.entry_points
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.cache = self._entry_points.new_cache(1)
        self._tokens: Sequence[int] = ()

    def begin(self, sequence: TokenSequence) -> None:
        """Find out how much of `sequence` is there; its last token is computed in any case."""
        pairs = zip(self._tokens, sequence.tokens[:-1], strict=False)
        different = (index for index, (a, b) in enumerate(pairs) if a != b)
        shorter = min(len(self._tokens), len(sequence.tokens) - 1)
        common = next(different, shorter)
        sequence.cached = common - common % self._entry_points.chunk

    def has_work(self, sequence: TokenSequence) -> bool:
        """True if a chunk is left to compute: not for one token, nor where the context ends."""
        return len(sequence.pending) > 1 and has_room_for_chunk(self._entry_points, sequence)

    def step(self, sequence: TokenSequence) -> StepResult:
        """Compute the next chunk of `sequence`."""
        self._tokens = ()
        result = prefill_step(self._entry_points, sequence, self.cache)
        self._tokens = sequence.tokens[: sequence.cached]
        return result
