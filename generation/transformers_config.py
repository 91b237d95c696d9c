"""``config.json``, the description of a language model by transformers, beside a model that
``optimum`` exported."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ModelFolderError
from .config import (
    INPUTS,
    OUTPUTS,
    ConfigSection,
    GenerationConfig,
    read_json,
    search_options,
    token_ids,
)
from .search_options import SearchOptions

FILE_NAME, GENERATION_NAME = "config.json", "generation_config.json"
MODEL_FILES = (
    "model.onnx", "onnx/model.onnx", "decoder_model_merged.onnx", "onnx/decoder_model_merged.onnx",
    "decoder_with_past_model.onnx",
)  # fmt: skip
"""Models in the order in which they are looked for."""
_NAMES: Mapping[str, tuple[str, ...]] = {
    "context": ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads"),
    "width": ("hidden_size", "n_embd", "d_model"),
    "head_size": ("head_dim",),
}
"""The names of a fact, which differ between architectures."""
_SEARCH = (
    "do_sample", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "max_length",
    "min_length",
)  # fmt: skip


def read_transformers_config(folder: Path) -> GenerationConfig:
    """Read ``config.json`` in `folder`, and ``generation_config.json`` if there is one.

    Raises `ModelFolderError` if a file is no JSON or lacks a field, if there is no ONNX model, and
    for models of several parts, such as encoders and decoders.
    """
    path = folder / FILE_NAME
    content = read_json(path)
    if content.get("is_encoder_decoder"):
        raise ModelFolderError(f"{path}: an encoder with a decoder is not supported, only decoders")
    content = content | content.get("text_config", {})
    later = folder / GENERATION_NAME
    generation = read_json(later) if later.exists() else {}
    chosen = {name: generation[name] for name in _SEARCH if generation.get(name) is not None}
    tokens = {
        name: generation.get(name, content.get(name))
        for name in ("bos_token_id", "eos_token_id", "pad_token_id")
    }
    model = ConfigSection(path, "config", {**content, **tokens})
    heads = _whole(model, "heads")
    eos = token_ids(model, "eos_token_id")
    return GenerationConfig(
        folder=folder,
        model_file=_model_file(folder),
        model_type=model.text("model_type"),
        vocab_size=model.whole("vocab_size"),
        context_length=_whole(model, "context"),
        layers=_whole(model, "layers"),
        kv_heads=_whole(model, "kv_heads", heads),
        head_size=_whole(model, "head_size", _whole(model, "width") // heads),
        bos_token_id=next(iter(token_ids(model, "bos_token_id")), None),
        eos_token_ids=eos,
        pad_token_id=next(iter((*token_ids(model, "pad_token_id"), *eos)), 0),
        inputs=INPUTS,
        outputs=OUTPUTS,
        search=search_options(later, chosen) if chosen else SearchOptions(),
    )


def _model_file(folder: Path) -> str:
    found = next((name for name in MODEL_FILES if (folder / name).is_file()), None)
    if found is None:
        raise ModelFolderError(f"{folder}: there is no {MODEL_FILES[0]}")
    return found


def _whole(model: ConfigSection, fact: str, default: int | None = None) -> int:
    """A positive number, by the first of its names that the config has."""
    values: Mapping[str, Any] = model.values
    name = next((each for each in _NAMES[fact] if values.get(each) is not None), None)
    if name is None and default is not None:
        return default
    return model.whole(name or _NAMES[fact][0])
