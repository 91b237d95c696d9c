"""The entry points of a language model: steps of one token and of many, and the choice alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import helper

from ..runtime import DeviceTensor
from .compiled_steps import SAMPLING, CompiledSteps, StepSize
from .config import GenerationConfig
from .key_value_cache import KeyValueCache, as_array
from .memory import MemoryPrediction, predict_memory
from .sampling import FINITE, LOGITS, TOKENS
from .shared_cache import CACHE_BATCH, PAST_LENGTHS
from .step_lengths import first_step, step_lengths
from .step_model import LAST, has_fixed_cache, read_decoder


@dataclass(frozen=True)
class StepResult:
    """The results of a step, a row for each sequence.

    `tokens` i64 ``[rows]`` are the chosen ones, `logits` f32 ``[rows, vocab]`` those that they were
    chosen by, and `is_finite` bool ``[rows]`` says that these are numbers.
    """

    tokens: np.ndarray
    logits: np.ndarray
    is_finite: np.ndarray


class EntryPoints:
    """Compiles the steps of the model of `config` when they are first used, and runs them.

    `options` are those of `graphc.compile`. `chunk` is the number of tokens of a prompt that one
    step computes. `announce` is called with the names of steps before they are compiled.
    """

    def __init__(
        self,
        config: GenerationConfig,
        options: Mapping[str, Any],
        chunk: int,
        announce: Callable[[str], None] | None = None,
    ):
        self.chunk = chunk
        self.chunks = step_lengths(chunk)
        """Numbers of tokens of a prompt that a step computes."""
        self._config = config
        self._decoder = read_decoder(config)
        self._is_fixed = has_fixed_cache(config, self._decoder.graph)
        self._steps = CompiledSteps(config, self._decoder, options, announce)
        self._steps.expect([StepSize(1, each) for each in (1, *self.chunks)])

    def chunk_of(self, pending: int, room: int) -> int:
        """The tokens of the step that computes the next of `pending` ones, more than one; at most
        `room`, or else 1."""
        return first_step(pending, [each for each in self.chunks if each <= room])

    def new_cache(self, batch: int) -> KeyValueCache:
        """An empty cache for `batch` sequences, whose steps are expected from now on."""
        self._steps.expect(self._sizes(batch))
        return KeyValueCache(self._config, batch, self._cache_dtype, self._to_device)

    @property
    def _cache_dtype(self) -> np.dtype:
        name = self._config.inputs["past_key_names"] % 0
        (past,) = (each for each in self._decoder.graph.input if each.name == name)
        return helper.tensor_dtype_to_np_dtype(past.type.tensor_type.elem_type)

    def _to_device(self, array: np.ndarray) -> DeviceTensor | np.ndarray:
        step = self._steps[StepSize(1, 1)]
        return array if self._steps.on_host else step.to_device(array)

    def step(
        self,
        tokens: Sequence[Sequence[int]],
        before: Sequence[int],
        cache: KeyValueCache,
        sampling: Mapping[str, np.ndarray],
        rows: Sequence[int],
    ) -> StepResult:
        """Compute the `tokens` of some sequences, which stand behind `before` others at `rows` of
        `cache`.

        One token each, or up to `chunk` of one sequence. `cache` has the tokens' keys and values
        then; its other rows stay as they are.
        """
        longest = max(map(len, tokens))
        length = 1 if longest == 1 else min(each for each in self.chunks if each >= longest)
        cache.reserve(max(before) + length)
        size = StepSize(step_size(len(rows), cache.rows), length)
        if size.rows > 1 and not self._steps.computes_rows_together(size):
            return self._row_by_row(tokens, before, cache, sampling, rows)
        firsts = np.array(before, np.int64)[:, None]
        feeds = self._step_feeds(tokens, firsts, length, cache.capacity)
        feeds[CACHE_BATCH] = np.array(rows, np.int64)
        if size.rows > 1 and not self._is_fixed:
            feeds[PAST_LENGTHS] = np.array(before, np.int64)
        feeds |= sampling
        feeds = {name: _padded(array, len(rows), size.rows) for name, array in feeds.items()}
        names = [TOKENS, LOGITS, FINITE, *cache.output_names]
        step = self._steps[size]
        staying = [] if self._steps.on_host else cache.output_names
        outputs = step.run(names, {**feeds, **cache.feeds()}, on_device=staying)
        cache.update(dict(zip(names[3:], outputs[3:], strict=True)))
        return StepResult(*(as_array(each)[: len(rows)] for each in outputs[:3]))

    def _row_by_row(
        self,
        tokens: Sequence[Sequence[int]],
        before: Sequence[int],
        cache: KeyValueCache,
        sampling: Mapping[str, np.ndarray],
        rows: Sequence[int],
    ) -> StepResult:
        """The step, sequence by sequence."""
        found = []
        for index in range(len(rows)):
            one = slice(index, index + 1)
            own = {name: x[one] if x.ndim else x for name, x in sampling.items()}
            result = self.step(tokens[one], before[one], cache, own, rows[one])
            found.append((result.tokens, result.logits, result.is_finite))
        return StepResult(*map(np.concatenate, zip(*found, strict=True)))

    def _step_feeds(
        self, tokens: Sequence[Sequence[int]], firsts: np.ndarray, length: int, capacity: int
    ) -> dict[str, np.ndarray]:
        """Tokens padded at their ends: later steps write over what stands behind them.

        The mask is for all of a cache of fixed capacity, or else for the tokens before those of
        the longest sequence, with the others at its end.
        """
        names = self._config.inputs
        padded = np.zeros((len(tokens), length), np.int64)
        for line, given in zip(padded, tokens, strict=True):
            line[: len(given)] = given
        position = np.arange(capacity if self._is_fixed else firsts.max())
        is_own = position < firsts + length
        if not self._is_fixed:
            is_own = position >= firsts.max() - firsts
        feeds = {names["input_ids"]: padded, names["attention_mask"]: is_own.astype(np.int64)}
        if any(each.name == names["position_ids"] for each in self._decoder.graph.input):
            feeds[names["position_ids"]] = firsts + np.arange(length)
        if length > 1:
            feeds[LAST] = np.array([[len(given) - 1] for given in tokens], np.int64)
        return self._typed(feeds)

    def _typed(self, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The feeds in the integer types of the model, which may be i32."""
        kinds = {each.name: each.type.tensor_type.elem_type for each in self._decoder.graph.input}
        return {
            name: array.astype(helper.tensor_dtype_to_np_dtype(kinds[name]), copy=False)
            if name in kinds
            else array
            for name, array in feeds.items()
        }

    def sample(self, logits: np.ndarray, sampling: Mapping[str, np.ndarray]) -> StepResult:
        """Choose a token by each row of `logits`, f32 ``[rows, vocab]``."""
        found = []
        for index in range(len(logits)):
            feeds = {LOGITS: logits, **sampling}
            feeds = {name: x[index : index + 1] if x.ndim else x for name, x in feeds.items()}
            found.append(self._steps[SAMPLING].run([TOKENS, FINITE], feeds))
        tokens, is_finite = map(np.concatenate, zip(*found, strict=True))
        return StepResult(tokens, logits, is_finite)

    def prepare(self, batch: int) -> None:
        """Compile all that a generation of `batch` sequences, or fewer, runs."""
        self._steps.require(self._sizes(batch))

    def predict_memory(self, length: int, batch: int) -> MemoryPrediction:
        """Predict the memory of `batch` sequences of `length` tokens; compiles their steps."""
        self.prepare(batch)
        return predict_memory(self._config, self._steps, self._cache_dtype, length, batch)

    def _sizes(self, batch: int) -> list[StepSize]:
        """The steps that generate tokens for up to `batch` sequences."""
        sizes = {StepSize(step_size(count, batch), 1) for count in range(1, batch + 1)}
        return sorted(each for each in sizes if self._steps.may_compute_rows_together(each))

    def close(self) -> None:
        """Free the compiled models."""
        self._steps.close()


def step_size(rows: int, cache_rows: int) -> int:
    """The rows of the step that computes `rows` rows of a cache: a power of four, or all.

    Each step takes time to compile, and few rows take as long as one: all read the weights.
    """
    bits = (rows - 1).bit_length()
    return min(1 << bits + bits % 2, cache_rows)


def _padded(array: np.ndarray, rows: int, size: int) -> np.ndarray:
    """The `rows` rows of `array`, and the last one again up to `size`: what is computed and written
    twice is the same."""
    if rows == size or array.shape[:1] != (rows,):
        return array
    return np.concatenate([array, np.repeat(array[-1:], size - rows, axis=0)])
