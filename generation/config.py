"""``genai_config.json``, the description of a language model by onnxruntime-genai."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ModelFolderError, UsageError
from .search_options import SearchOptions

FILE_NAME = "genai_config.json"

INPUTS: Mapping[str, str] = {
    "input_ids": "input_ids",
    "attention_mask": "attention_mask",
    "position_ids": "position_ids",
    "past_key_names": "past_key_values.%d.key",
    "past_value_names": "past_key_values.%d.value",
}
OUTPUTS: Mapping[str, str] = {
    "logits": "logits",
    "present_key_names": "present.%d.key",
    "present_value_names": "present.%d.value",
}
"""`INPUTS` and `OUTPUTS`: onnxruntime-genai's names for those that a config leaves out."""


@dataclass(frozen=True)
class GenerationConfig:
    """The description of a decoder in a folder, and its default search options.

    `inputs` and `outputs` are the model's names by those of the config; names with ``%d`` stand for
    one in each layer.
    """

    folder: Path
    model_file: str
    model_type: str
    vocab_size: int
    context_length: int
    layers: int
    kv_heads: int
    head_size: int
    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    pad_token_id: int
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    search: SearchOptions

    @property
    def model_path(self) -> Path:
        """The ONNX model."""
        return self.folder / self.model_file


def read_config(folder: Path) -> GenerationConfig:
    """Read ``genai_config.json`` in `folder`.

    Raises `ModelFolderError` if it is absent, no JSON, or lacks a field; and for models that are
    not one decoder (encoders, vision, pipelines of several models).
    """
    path = folder / FILE_NAME
    content = read_json(path)
    model = ConfigSection(path, "model", content.get("model"))
    decoder = ConfigSection(path, "model.decoder", model.values.get("decoder"))
    if decoder.values.get("pipeline"):
        raise ModelFolderError(f"{path}: a decoder in several models is not supported")
    for name in ("encoder", "vision", "speech"):
        if name in model.values:
            raise ModelFolderError(f"{path}: model.{name} is not supported, only text")
    eos = token_ids(model, "eos_token_id")
    return GenerationConfig(
        folder=folder,
        model_file=decoder.text("filename"),
        model_type=model.text("type"),
        vocab_size=model.whole("vocab_size"),
        context_length=model.whole("context_length"),
        layers=decoder.whole("num_hidden_layers"),
        kv_heads=decoder.whole("num_key_value_heads"),
        head_size=decoder.whole("head_size"),
        bos_token_id=next(iter(token_ids(model, "bos_token_id")), None),
        eos_token_ids=eos,
        pad_token_id=next(iter((*token_ids(model, "pad_token_id"), *eos)), 0),
        inputs={**INPUTS, **decoder.names("inputs")},
        outputs={**OUTPUTS, **decoder.names("outputs")},
        search=search_options(path, content.get("search", {})),
    )


def read_json(path: Path) -> dict[str, Any]:
    """The object in the JSON file `path`. Raises `ModelFolderError` if there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelFolderError(f"{path.parent}: there is no {path.name}") from error
    except OSError as error:
        raise ModelFolderError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ModelFolderError(f"{path}: not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise ModelFolderError(f"{path}: not a JSON object")
    return content


def search_options(path: Path, fields: Any) -> SearchOptions:
    """The options in `fields` of the file `path`. Raises `ModelFolderError`."""
    try:
        return SearchOptions.of(dict(fields))
    except (UsageError, TypeError, ValueError) as error:
        raise ModelFolderError(f"{path}: search: {error}") from error


def token_ids(model: "ConfigSection", name: str) -> tuple[int, ...]:
    """The tokens in a field that may hold one, several, or none."""
    value = model.values.get(name)
    many = value if isinstance(value, list) else [] if value is None else [value]
    size = model.whole("vocab_size")
    for token in many:
        if not isinstance(token, int) or not 0 <= token < size:
            raise ModelFolderError(f"{model.path}: model.{name}: no token {token!r} in {size}")
    return tuple(many)


@dataclass(frozen=True)
class ConfigSection:
    """A JSON object in the file, with checked fields."""

    path: Path
    name: str
    given: Any

    @property
    def values(self) -> dict[str, Any]:
        if not isinstance(self.given, dict):
            raise ModelFolderError(f"{self.path}: there is no object {self.name}")
        return self.given

    def whole(self, name: str) -> int:
        """The positive whole number in a field."""
        value = self.values.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ModelFolderError(
                f"{self.path}: {self.name}.{name} must be a positive whole number, not {value!r}"
            )
        return value

    def text(self, name: str) -> str:
        """The text in a field."""
        value = self.values.get(name)
        if not isinstance(value, str) or not value:
            raise ModelFolderError(f"{self.path}: {self.name}.{name} must be a text, not {value!r}")
        return value

    def names(self, name: str) -> dict[str, str]:
        """The texts of a section within; other values are for parts that are not used."""
        section = ConfigSection(self.path, f"{self.name}.{name}", self.values.get(name, {}))
        return {key: value for key, value in section.values.items() if isinstance(value, str)}
