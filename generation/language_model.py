"""Language models: a folder, compiled."""

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import MissingPackageError, ModelFolderError, UsageError
from .config import FILE_NAME, GenerationConfig, read_config
from .entry_points import EntryPoints
from .memory import MemoryPrediction
from .tokenizer import Tokenizer
from .transformers_config import FILE_NAME as TRANSFORMERS_NAME
from .transformers_config import read_transformers_config

CHUNK = 256
"""Tokens of a prompt that one step computes, at most."""


class LanguageModel:
    """A language model in a folder with ``genai_config.json`` or ``config.json``, a decoder in ONNX
    and a tokenizer.

    Made by `load`. Close it, or use it in a ``with`` statement, to free its memory.
    """

    def __init__(self, config: GenerationConfig, entry_points: EntryPoints):
        self.config = config
        """The description of the model, and the folder's search options."""
        self.entry_points = entry_points
        """The compiled steps."""

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The folder's tokenizer, read when it is first used. Raises `ModelFolderError`."""
        return Tokenizer.read(self.config.folder, self.config.vocab_size)

    @cached_property
    def grammar_tokenizer(self) -> Any:
        """The tokenizer as ``llguidance`` reads it, which takes seconds for large ones.

        Raises `MissingPackageError` without that package.
        """
        try:
            import llguidance  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise MissingPackageError("constraints", "llguidance", "llm") from error
        ends, vocab = self.config.eos_token_ids, self.config.vocab_size
        text = self.tokenizer.backend.to_str()
        return llguidance.LLTokenizer(text, n_vocab=vocab, eos_token=ends[0] if ends else None)

    @property
    def weight_bytes(self) -> int:
        """The bytes of the model and its weights, which each token reads once."""
        stem = self.config.model_path.name
        path = self.config.model_path
        files = [path, *path.parent.glob(f"{stem}[._]data*")]
        return sum(each.stat().st_size for each in files)

    def predict_memory(self, length: int | None = None, batch: int = 1) -> MemoryPrediction:
        """Predict the memory of `batch` sequences of `length` tokens, by default of the whole
        context. Steps are compiled, but nothing runs and no cache is allocated.

        Raises `UsageError` for a length beyond the context.
        """
        context = self.config.context_length
        length = context if length is None else length
        if not 0 < length <= context:
            raise UsageError(f"a context of {length} tokens: the model has one of {context}")
        return self.entry_points.predict_memory(length, batch)

    def close(self) -> None:
        """Free the compiled models."""
        self.entry_points.close()

    def __enter__(self) -> "LanguageModel":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def load(
    folder: str | os.PathLike[str],
    *,
    precision: str = "strict",
    prefill_chunk: int = CHUNK,
    announce: Callable[[str], None] | None = None,
    **options: Any,
) -> LanguageModel:
    """Load the language model in `folder`, as onnxruntime-genai, gc-import-gguf and optimum lay it
    out.

    Its steps are compiled when they are first used, and come from the cache of compiled models the
    next time; `announce` is called with the name of each before. Up to `prefill_chunk` tokens of a
    prompt are computed at once. `precision` and other options are those of `graphc.compile`; with
    ``strict``, a sequence gets the same tokens alone and in a batch.

    Raises `ModelFolderError` for a folder without a config or with one that contradicts the model,
    and `InvalidModelError`.
    """
    if not isinstance(prefill_chunk, int) or prefill_chunk < 2:
        raise UsageError(f"prefill_chunk must be a whole number from 2 on, not {prefill_chunk!r}")
    config = _read_config(Path(folder))
    chunk = min(prefill_chunk, config.context_length)
    compile_options = {"precision": precision, **options}
    return LanguageModel(config, EntryPoints(config, compile_options, chunk, announce))


def _read_config(folder: Path) -> GenerationConfig:
    """The config of onnxruntime-genai, or else that of transformers."""
    if (folder / FILE_NAME).exists():
        return read_config(folder)
    if (folder / TRANSFORMERS_NAME).exists():
        return read_transformers_config(folder)
    raise ModelFolderError(f"{folder}: there is no {FILE_NAME} and no {TRANSFORMERS_NAME}")
