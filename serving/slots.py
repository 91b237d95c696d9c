"""The slots of a batch: rows of one cache that advance together."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..generation import LanguageModel, SearchOptions
from ..generation.key_value_cache import KeyValueCache
from ..generation.sampling import RowSampling, sampling_feeds
from ..generation.token_sequence import TokenSequence


@dataclass(frozen=True)
class ChosenToken:
    """The token that a step chose for a sequence; `is_finite` says that its logits are numbers."""

    token: int
    is_finite: bool


class SlotBatch:
    """Sequences of tokens in `slots` slots; each step computes one token of every sequence."""

    def __init__(self, model: LanguageModel, slots: int):
        self._model = model
        self._sequences: list[TokenSequence | None] = [None] * slots
        vocab = model.config.vocab_size
        self._idle = RowSampling(SearchOptions(), np.zeros(vocab, bool), np.ones(vocab, bool), 0)
        self.reset()

    def reset(self) -> None:
        """Empty all slots, and forget what they have."""
        self._sequences = [None] * len(self._sequences)
        self._cache = self._model.entry_points.new_cache(len(self._sequences))

    @property
    def has_room(self) -> bool:
        """True if a slot is free."""
        return None in self._sequences

    def insert(self, sequence: TokenSequence, source: KeyValueCache) -> int:
        """Put `sequence` into a free slot, with its part of `source`; return the slot."""
        slot = self._sequences.index(None)
        if sequence.cached:
            self._cache.insert(slot, source, sequence.cached)
        self._sequences[slot] = sequence
        return slot

    def reserve(self, slot: int) -> None:
        """Make room for the next token in `slot`. Raises MemoryError, which changes nothing."""
        sequence = self._sequences[slot]
        if sequence is not None:
            self._cache.reserve(sequence.first_pending + 1)

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        self._sequences[slot] = None

    def step(self, samplings: Mapping[int, RowSampling]) -> dict[int, ChosenToken]:
        """Compute a token of each sequence, with the choice of the next one by `samplings`.

        There are none for free slots, which compute something at their first position. The result
        has no token for sequences with tokens of the prompt left.
        """
        pad = self._model.config.pad_token_id
        tokens = [[pad] if each is None else each.pending[:1] for each in self._sequences]
        before = [0 if each is None else each.first_pending for each in self._sequences]
        rows = [samplings.get(slot, self._idle) for slot in range(len(self._sequences))]
        result = self._model.entry_points.step(tokens, before, self._cache, sampling_feeds(rows))
        chosen = {}
        for slot, sequence in enumerate(self._sequences):
            if sequence is None:
                continue
            sequence.cached = before[slot] + 1
            if sequence.cached == len(sequence.tokens):
                chosen[slot] = ChosenToken(int(result.tokens[slot]), bool(result.is_finite[slot]))
        return chosen
