"""The slots of a batch: rows of one cache, each of which a request may have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..generation import LanguageModel
from ..generation.entry_points import StepResult
from ..generation.prefill import next_chunk, prefill_step
from ..generation.sampling import RowSampling, sampling_feeds
from ..generation.token_sequence import TokenSequence


@dataclass(frozen=True)
class ChosenToken:
    """The token that a step chose for a sequence by `logits` [vocab], with a bias added to them if
    there is one; `is_finite` says that they are numbers."""

    token: int
    is_finite: bool
    logits: np.ndarray


@dataclass
class _Slot:
    """A row of the cache: the sequence that has it now, and the tokens of which prompts were
    computed in it, in chunks."""

    sequence: TokenSequence | None = None
    computed: Sequence[int] = ()
    last_use: int = 0
    by_token: bool = False
    """True if the prompt is computed token by token, none of it taken from elsewhere."""


@dataclass
class SlotBatch:
    """Sequences of tokens in `count` slots; a step computes a chunk of one prompt, or one token of
    each sequence behind its prompt.

    The chunks in which a prompt begins like another one in any slot are taken from there: they
    would be computed to the same bits.
    """

    model: LanguageModel
    count: int
    _slots: list[_Slot] = field(init=False)
    _uses: int = 0

    def __post_init__(self) -> None:
        self._slots = [_Slot() for _ in range(self.count)]
        self._cache = self.model.entry_points.new_cache(self.count)

    def recover(self) -> None:
        """Begin a new cache if a step that failed took the old one with it: what sequences have in
        it will be computed again."""
        if not self._cache.is_lost:
            return
        self._cache = self.model.entry_points.new_cache(self.count)
        for slot in self._slots:
            slot.computed = ()
            if slot.sequence is not None:
                slot.sequence.cached = 0

    @property
    def has_room(self) -> bool:
        """True if a slot is free."""
        return any(slot.sequence is None for slot in self._slots)

    def insert(self, sequence: TokenSequence, *, by_token: bool = False) -> int:
        """Put `sequence` into the free slot that has most of its beginning, or else was not used
        for longest; return the slot. With `by_token`, its prompt is computed token by token."""
        free = [n for n, slot in enumerate(self._slots) if slot.sequence is None]
        common = {n: self._common(self._slots[n], sequence) for n in free}
        number = max(free, key=lambda n: (common[n], -self._slots[n].last_use))
        self._take(number, sequence, 0 if by_token else common[number])
        self._slots[number].by_token = by_token
        self._uses += 1
        self._slots[number].last_use = self._uses
        return number

    def _take(self, number: int, sequence: TokenSequence, length: int) -> None:
        slot = self._slots[number]
        slot.sequence, sequence.cached = sequence, length
        slot.computed = sequence.tokens[:length]

    def reuse(self, number: int) -> int:
        """Copy to a slot what another one has of its prompt; return the number of tokens."""
        sequence = self._sequence(number)
        common = [self._common(slot, sequence) for slot in self._slots]
        source, before = max(range(self.count), key=lambda n: common[n]), sequence.cached
        if common[source] <= before:
            return 0
        self._cache.copy(source, number, common[source])
        self._take(number, sequence, common[source])
        return common[source] - before

    def _common(self, slot: _Slot, sequence: TokenSequence) -> int:
        """The tokens of whole chunks that `slot` has of `sequence`, whose last token is computed in
        any case."""
        pairs = zip(slot.computed, sequence.tokens[:-1], strict=False)
        different = (index for index, (a, b) in enumerate(pairs) if a != b)
        common = next(different, min(len(slot.computed), len(sequence.tokens) - 1))
        return common - common % self.model.entry_points.chunk

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        self._slots[slot].sequence = None

    def reserve(self, slot: int) -> None:
        """Make room for the next token in `slot`. Raises MemoryError, which changes nothing."""
        sequence = self._slots[slot].sequence
        if sequence is not None:
            self._cache.reserve(sequence.first_pending + 1)

    def has_chunk(self, slot: int) -> bool:
        """True if a chunk of the prompt is left to compute: not for one token, nor where the
        context ends."""
        sequence = self._slots[slot].sequence
        if sequence is None or len(sequence.pending) <= 1 or self._slots[slot].by_token:
            return False
        return next_chunk(self.model.entry_points, sequence) > 1

    def prefill(self, slot: int) -> ChosenToken | None:
        """Compute the next chunk of the prompt in `slot`: the choice behind the last one."""
        held, sequence = self._slots[slot], self._sequence(slot)
        held.computed = held.computed[: sequence.first_pending]
        result = prefill_step(self.model.entry_points, sequence, self._cache, slot)
        held.computed = sequence.tokens[: sequence.cached]
        if sequence.cached < len(sequence.tokens):
            return None
        return self._chosen(result, 0, sequence, None)

    def decode(
        self, samplings: Mapping[int, RowSampling]
    ) -> tuple[dict[int, ChosenToken], dict[int, np.ndarray]]:
        """Compute a token of the sequence in each slot of `samplings`, with the choice of the next
        one; the logits for sequences with tokens of the prompt left.
        """
        rows = list(samplings)
        sequences = [self._sequence(slot) for slot in rows]
        tokens = [each.pending[:1] for each in sequences]
        before = [each.first_pending for each in sequences]
        feeds = sampling_feeds([samplings[slot] for slot in rows])
        result = self.model.entry_points.step(tokens, before, self._cache, feeds, rows)
        chosen: dict[int, ChosenToken] = {}
        logits: dict[int, np.ndarray] = {}
        for index, (slot, sequence) in enumerate(zip(rows, sequences, strict=True)):
            sequence.cached = before[index] + 1
            if sequence.cached == len(sequence.tokens):
                chosen[slot] = self._chosen(result, index, sequence, samplings[slot])
            else:
                logits[slot] = result.logits[index]
        return chosen, logits

    def _chosen(
        self, result: StepResult, row: int, sequence: TokenSequence, sampling: RowSampling | None
    ) -> ChosenToken:
        """The choice of `result` in a row; with a bias, another one, by the logits with that."""
        is_finite, own = bool(result.is_finite[row]), result.logits[row]
        if sequence.bias is None or not is_finite:
            return ChosenToken(int(result.tokens[row]), is_finite, own)
        generated = [sequence.tokens[position] for position in sequence.generated]
        logits = sequence.bias.add_to(own, generated)[np.newaxis]
        feeds = sampling_feeds([sampling or sequence.sampling()])
        found = self.model.entry_points.sample(logits, feeds)
        return ChosenToken(int(found.tokens[0]), bool(found.is_finite[0]), own)

    def _sequence(self, slot: int) -> TokenSequence:
        sequence = self._slots[slot].sequence
        assert sequence is not None
        return sequence
