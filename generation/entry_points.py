"""The entry points of a language model: steps of one token and of many, and the choice alone.

Each is a compiled model of its own today. Callers see one object, and the weights are to be shared
by entry points of one module.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from ..compiler.compile import compile
from ..runtime import CompiledModel
from ..runtime.files.output_file import write_atomically
from .config import GenerationConfig
from .growing_cache import GrowingCache
from .key_value_cache import KeyValueCache, as_array
from .sampling import FINITE, LOGITS, TOKENS, sampling_graph
from .step_model import CACHE_BATCH, LAST, cache_names, has_fixed_cache, read_decoder, step_model

_SAMPLING_OPSET = 13
AnyCache = KeyValueCache | GrowingCache


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
    step computes. `announce` is called with the name of each step before it is compiled.
    """

    def __init__(
        self,
        config: GenerationConfig,
        options: Mapping[str, Any],
        chunk: int,
        announce: Callable[[str], None] | None = None,
    ):
        self.chunk = chunk
        self._config = config
        self._options = options
        self._announce = announce
        self._decoder = read_decoder(config)
        self._in_place = has_fixed_cache(config, self._decoder.graph)
        self._has_files = any(
            each.data_location == TensorProto.EXTERNAL for each in self._decoder.graph.initializer
        )
        self._steps: dict[tuple[int, int], CompiledModel] = {}
        """The steps by rows, and tokens of a row."""
        self._samplers: dict[int, CompiledModel] = {}

    def new_cache(self, batch: int) -> AnyCache:
        """An empty cache for `batch` sequences."""
        name = self._config.inputs["past_key_names"] % 0
        (past,) = (each for each in self._decoder.graph.input if each.name == name)
        dtype = helper.tensor_dtype_to_np_dtype(past.type.tensor_type.elem_type)
        return (KeyValueCache if self._in_place else GrowingCache)(self._config, batch, dtype)

    def step(
        self,
        tokens: Sequence[Sequence[int]],
        before: Sequence[int],
        cache: AnyCache,
        sampling: Mapping[str, np.ndarray],
        rows: Sequence[int],
    ) -> StepResult:
        """Compute the `tokens` of some sequences, which stand behind `before` others at `rows` of
        `cache`.

        One token each, or up to `chunk` of one sequence. `cache` has the tokens' keys and values
        then; its other rows stay as they are.
        """
        length = 1 if max(map(len, tokens)) == 1 else self.chunk
        if isinstance(cache, GrowingCache):
            return self._growing_step(tokens, before, cache, sampling, rows)
        firsts = np.array(before, np.int64)[:, None]
        cache.reserve(int(firsts.max()) + length)
        feeds = self._step_feeds(tokens, firsts, length, cache.capacity)
        feeds[CACHE_BATCH] = np.array(rows, np.int64)
        size = step_size(len(rows), cache.rows)
        feeds |= sampling
        feeds = {name: _padded(array, len(rows), size) for name, array in feeds.items()}
        model = self._step(size, length)
        names = [TOKENS, LOGITS, FINITE, *cache.output_names]
        outputs = model.run(names, {**feeds, **cache.feeds()}, on_device=cache.output_names)
        cache.update(dict(zip(names[3:], outputs[3:], strict=True)))
        return StepResult(*(as_array(each)[: len(rows)] for each in outputs[:3]))

    def _growing_step(
        self,
        tokens: Sequence[Sequence[int]],
        before: Sequence[int],
        cache: GrowingCache,
        sampling: Mapping[str, np.ndarray],
        rows: Sequence[int],
    ) -> StepResult:
        """The step, sequence by sequence: their caches differ in length."""
        length = 1 if max(map(len, tokens)) == 1 else self.chunk
        model = self._step(1, length)
        names = [TOKENS, LOGITS, FINITE, *cache.output_names]
        found: list[list[np.ndarray]] = []
        for index, (given, first, row) in enumerate(zip(tokens, before, rows, strict=True)):
            feeds = self._step_feeds([given], np.array([[first]]), length, first + length)
            feeds |= {name: x[index : index + 1] if x.ndim else x for name, x in sampling.items()}
            feeds |= cache.feeds(row, first)
            outputs = model.run(names, feeds, on_device=cache.output_names)
            cache.update(row, dict(zip(names[3:], outputs[3:], strict=True)))
            found.append([as_array(each) for each in outputs[:3]])
        return StepResult(*map(np.concatenate, zip(*found, strict=True)))

    def _step_feeds(
        self, tokens: Sequence[Sequence[int]], firsts: np.ndarray, length: int, capacity: int
    ) -> dict[str, np.ndarray]:
        """Tokens padded at their ends: later steps write over what stands behind them."""
        names = self._config.inputs
        padded = np.zeros((len(tokens), length), np.int64)
        for line, given in zip(padded, tokens, strict=True):
            line[: len(given)] = given
        ends = firsts + length
        feeds = {
            names["input_ids"]: padded,
            names["attention_mask"]: (np.arange(capacity) < ends).astype(np.int64),
        }
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
        feeds = {LOGITS: logits, **sampling}
        tokens, is_finite = self._sampling(len(logits)).run([TOKENS, FINITE], feeds)
        return StepResult(tokens, logits, is_finite)

    def prepare(self, batch: int, *, all_sizes: bool = False) -> None:
        """Compile all that a generation of `batch` sequences runs; with `all_sizes`, also of fewer
        of them, and the choice of the token alone."""
        self._step(1, self.chunk)
        counts = range(1 if all_sizes else batch, batch + 1)
        sizes = [step_size(count, batch) if self._in_place else 1 for count in counts]
        for size in dict.fromkeys(sizes):
            self._step(size, 1)
        if all_sizes:
            self._sampling(1)

    def _sampling(self, rows: int) -> CompiledModel:
        if rows not in self._samplers:
            model = _sampling_model(rows, self._config.vocab_size)
            self._samplers[rows] = self._compile("sampling", model)
        return self._samplers[rows]

    def _step(self, rows: int, length: int) -> CompiledModel:
        key = (rows, length)
        if key not in self._steps:
            model = step_model(self._config, self._decoder, rows, length)
            what = "prefill" if length > 1 else "decode"
            donate = [past for past, _ in cache_names(self._config)] if self._in_place else []
            self._steps[key] = self._compile(f"{what}-{rows}x{length}", model, donate)
        return self._steps[key]

    def _compile(
        self, name: str, model: onnx.ModelProto, donate: Sequence[str] = ()
    ) -> CompiledModel:
        """Compile `model`; if its weights are in files, it is written beside these."""
        if self._announce is not None:
            self._announce(name)
        source: Any = model
        if self._has_files and name != "sampling":
            source = self._config.model_path.with_suffix(f".{name}.onnx")
            write_atomically(source, model.SerializeToString())
        return compile(source, **{**self._options, "donate": donate})

    def close(self) -> None:
        """Free the compiled models."""
        for model in (*self._steps.values(), *self._samplers.values()):
            model.close()
        self._steps.clear()
        self._samplers.clear()


def step_size(rows: int, cache_rows: int) -> int:
    """The rows of the step that computes `rows` rows of a cache: a power of four, or all.

    Each step has its copy of the weights, and few rows take as long as one: all read these.
    """
    bits = (rows - 1).bit_length()
    return min(1 << bits + bits % 2, cache_rows)


def _padded(array: np.ndarray, rows: int, size: int) -> np.ndarray:
    """The `rows` rows of `array`, and the last one again up to `size`: what is computed and written
    twice is the same."""
    if rows == size or array.shape[:1] != (rows,):
        return array
    return np.concatenate([array, np.repeat(array[-1:], size - rows, axis=0)])


def _sampling_model(batch: int, vocab: int) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", _SAMPLING_OPSET)]
    graph = sampling_graph(batch, vocab)
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
