"""The state of a generation, by the names of onnxruntime-genai."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ExecutionError, PromptError, UsageError
from .entry_points import StepResult
from .language_model import LanguageModel
from .prefill import prefill_step
from .sampling import sampling_feeds
from .search_options import SearchOptions
from .token_sequence import TokenConstraint, TokenSequence


class Generator:
    """Sequences of tokens that grow: tokens are appended, generated, and taken back.

        generator = Generator(model, max_length=100)
        generator.append_tokens(model.tokenizer.encode("Once upon a time"))
        while not generator.is_done():
            generator.generate_next_token()
            print(generator.get_next_tokens()[0])

    `batch_size` sequences grow together, each as it would alone. `options` replaces the folder's
    search options; keyword arguments change single ones (see `SearchOptions`). A list has those of
    each sequence, with its seed; otherwise row ``b`` draws with ``random_seed + b``. `constraints`
    has a `TokenConstraint` or None for each sequence. Nothing is computed before a token or logits
    are asked for. Any way to the same tokens gives the same continuation.

    Raises `UsageError` for unknown options, for lists of another length than the batch, and for a
    batch of no sequences.
    """

    def __init__(
        self,
        model: LanguageModel,
        options: SearchOptions | Sequence[SearchOptions] | None = None,
        *,
        batch_size: int = 1,
        constraints: Sequence[TokenConstraint | None] | None = None,
        **search_options: Any,
    ):
        if not isinstance(batch_size, int) or batch_size < 1:
            raise UsageError(f"batch_size must be a positive whole number, not {batch_size!r}")
        given = [None] * batch_size if constraints is None else list(constraints)
        if len(given) != batch_size:
            raise UsageError(f"{len(given)} constraints for {batch_size} sequences")
        self._model = model
        self._vocab = model.config.vocab_size
        if options is None:
            options = model.config.search
        chosen = _options_of_rows(options, search_options, batch_size)
        self._rows = [
            TokenSequence(model.config, *each) for each in zip(chosen, given, strict=True)
        ]
        self._cache = model.entry_points.new_cache(batch_size)
        self._logits: np.ndarray | None = None
        """Logits behind all tokens, computed or set; f32 ``[batch, vocab]``."""
        self._next = np.full(batch_size, model.config.pad_token_id, np.int64)

    def append_tokens(self, tokens: Any) -> None:
        """Append `tokens`: those of one sequence, or a list with those of each.

        Sequences may differ in length, and some may get none. Raises `PromptError` for tokens out
        of range, and for more than the context or ``max_length`` has room for; then nothing is
        appended.
        """
        given = self._token_lists(tokens)
        for row, (sequence, more) in enumerate(zip(self._rows, given, strict=True)):
            total = len(sequence.tokens) + len(more)
            if total > sequence.max_length:
                what = "max_length" if sequence.options.max_length else "the context"
                raise PromptError(
                    f"sequence {row} would have {total} tokens, {what} is {sequence.max_length}"
                )
        for sequence, more in zip(self._rows, given, strict=True):
            if more:
                sequence.append(more)
                self._logits = None

    def _token_lists(self, tokens: Any) -> list[list[int]]:
        if isinstance(tokens, str) or not isinstance(tokens, Iterable):
            raise PromptError(f"tokens are a list of numbers, not {tokens!r}")
        is_one = not any(np.ndim(each) for each in tokens)
        lists = [list(tokens)] if is_one else [list(each) for each in tokens]
        if len(lists) != len(self._rows):
            raise PromptError(f"tokens for {len(lists)} sequences, there are {len(self._rows)}")
        for token in (token for each in lists for token in each):
            if not isinstance(token, int | np.integer) or not 0 <= token < self._vocab:
                raise PromptError(f"no token {token!r}: they are numbers below {self._vocab}")
        return [[int(token) for token in each] for each in lists]

    def generate_next_token(self) -> None:
        """Choose the next token of each sequence that is not done, and append it.

        Raises `UsageError` if all are done or a sequence is empty, and `ExecutionError` if logits
        are not numbers.
        """
        active = [row for row, each in enumerate(self._rows) if not each.is_done]
        if not active:
            raise UsageError("all sequences are done")
        if self._logits is None:
            result = self._compute()
        else:
            result = self._model.entry_points.sample(self._logits, self._sampling())
        self._require_finite(result, active)
        self._logits = None
        self._next = np.full(len(self._rows), self._model.config.pad_token_id, np.int64)
        for row in active:
            token = int(result.tokens[row])
            self._next[row] = token
            self._rows[row].add_generated(token)

    def _require_finite(self, result: StepResult, active: Sequence[int]) -> None:
        for row in active:
            if not result.is_finite[row]:
                length = len(self._rows[row].tokens)
                raise ExecutionError(
                    f"sequence {row}: logits behind {length} tokens are NaN or infinite"
                )

    def get_next_tokens(self) -> np.ndarray:
        """The tokens of the last `generate_next_token`, i64 ``[batch]``; the padding token for
        sequences that were done."""
        return self._next.copy()

    def get_sequence(self, index: int = 0) -> list[int]:
        """All tokens of a sequence."""
        return list(self._rows[index].tokens)

    def token_count(self) -> int:
        """The number of tokens of the longest sequence."""
        return max(len(each.tokens) for each in self._rows)

    def get_logits(self) -> np.ndarray:
        """The logits behind all tokens, f32 ``[batch, vocab]``, computed or set; a copy."""
        if self._logits is None:
            self._logits = np.array(self._compute().logits)
        return self._logits.copy()

    def set_logits(self, logits: Any) -> None:
        """Choose the next tokens by `logits`, ``[batch, vocab]``, in place of the model's.

        Raises `UsageError` for another shape.
        """
        array = np.asarray(logits, np.float32)
        expected = (len(self._rows), self._vocab)
        if array.shape != expected:
            raise UsageError(f"logits are {list(array.shape)}, not {list(expected)}")
        self._logits = array.copy()

    def rewind_to(self, length: int | Sequence[int]) -> None:
        """Take back all tokens behind the first `length`, one number or one for each sequence.

        Raises `UsageError` if a sequence is shorter.
        """
        lengths = [length] * len(self._rows) if isinstance(length, int) else list(length)
        if len(lengths) != len(self._rows):
            raise UsageError(f"{len(lengths)} lengths for {len(self._rows)} sequences")
        for row, (sequence, each) in enumerate(zip(self._rows, lengths, strict=True)):
            if not 0 <= each <= len(sequence.tokens):
                have = len(sequence.tokens)
                raise UsageError(f"sequence {row} has {have} tokens: no rewinding to {each}")
        for sequence, each in zip(self._rows, lengths, strict=True):
            sequence.rewind(each)
        self._logits = None

    def is_done(self) -> bool:
        """True if all sequences have ended or reached ``max_length``."""
        return all(each.is_done for each in self._rows)

    def _compute(self) -> StepResult:
        """Run the model on all pending tokens; the sequences with several go first, alone."""
        for row, sequence in enumerate(self._rows):
            if not sequence.tokens:
                raise UsageError(f"sequence {row} is empty: append tokens first")
        results = {}
        for row, sequence in enumerate(self._rows):
            while len(sequence.pending) > 1:
                result = prefill_step(self._model.entry_points, sequence, self._cache, row)
                if sequence.cached == len(sequence.tokens):
                    results[row] = result
        left = [row for row in range(len(self._rows)) if row not in results]
        if left:
            decoded = self._decode(left)
            results |= {row: _row_of(decoded, index) for index, row in enumerate(left)}
        return _stacked([results[row] for row in range(len(self._rows))])

    def _decode(self, rows: Sequence[int]) -> StepResult:
        """Compute the last token of the sequences in `rows`, together."""
        sequences = [self._rows[row] for row in rows]
        tokens = [each.tokens[-1:] for each in sequences]
        before = [len(each.tokens) - 1 for each in sequences]
        feeds = sampling_feeds([each.sampling() for each in sequences])
        result = self._model.entry_points.step(tokens, before, self._cache, feeds, rows)
        for sequence in sequences:
            sequence.cached = len(sequence.tokens)
        return result

    def _sampling(self) -> dict[str, np.ndarray]:
        return sampling_feeds([each.sampling() for each in self._rows])


def _options_of_rows(
    options: SearchOptions | Sequence[SearchOptions], changes: Mapping[str, Any], batch_size: int
) -> list[SearchOptions]:
    """The options of each row with `changes`; those for all get a seed for each."""
    if isinstance(options, SearchOptions):
        first = options.replace(changes)
        seeds = range(first.random_seed, first.random_seed + batch_size)
        return [first.replace({"random_seed": seed}) for seed in seeds]
    if len(options) != batch_size:
        raise UsageError(f"options of {len(options)} sequences, there are {batch_size}")
    return [each.replace(changes) for each in options]


def _row_of(result: StepResult, row: int) -> StepResult:
    chosen = slice(row, row + 1)
    return StepResult(result.tokens[chosen], result.logits[chosen], result.is_finite[chosen])


def _stacked(rows: Sequence[StepResult]) -> StepResult:
    """The results of single sequences as those of a batch."""
    if len(rows) == 1:
        return rows[0]
    return StepResult(
        np.concatenate([each.tokens for each in rows]),
        np.concatenate([each.logits for each in rows]),
        np.concatenate([each.is_finite for each in rows]),
    )
