"""Import of a GGUF file to a folder that onnxruntime-genai and graphc read."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import OutputError
from ...runtime.files.output_file import write_atomically
from ..config import FILE_NAME, INPUTS, OUTPUTS
from .decoder import write_decoder
from .hyperparameters import Hyperparameters, read_hyperparameters
from .onnx_graph import GraphWriter
from .reader import GGUFFile
from .tokenizer import write_tokenizer

MODEL_NAME = "model.onnx"


def import_gguf(
    path: str | os.PathLike[str], folder: str | os.PathLike[str], *, accuracy_level: int = 0
) -> Path:
    """Write the language model in the GGUF file `path` to `folder`, which is made; return it.

    The folder has the decoder in ONNX, with the weights packed as they are in the file, its
    tokenizer, and ``genai_config.json``, which is written last. `accuracy_level` is that of its
    matmuls: 4 lets runtimes quantize activations to 8 bits.

    Raises `UnsupportedFormatError` for architectures, tokenizers and types of blocks that are not
    in the list, `InvalidModelError` for files that are damaged, `OutputError`, and
    `MissingPackageError`.
    """
    folder = Path(folder)
    with GGUFFile(path) as file:
        write_folder(file, folder, accuracy_level=accuracy_level)
    return folder


def write_folder(
    file: GGUFFile, folder: Path, *, tokenizer: bool = True, accuracy_level: int = 0
) -> None:
    """Write the language model in `file` to `folder`, with or without its tokenizer.

    Raises as `import_gguf` does.
    """
    sizes = read_hyperparameters(file)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE_NAME).unlink(missing_ok=True)
        if tokenizer:
            write_tokenizer(file, folder)
        with GraphWriter(folder / f"{MODEL_NAME}.data", accuracy_level) as writer:
            model = write_decoder(file, sizes, writer)
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}") from error
    write_atomically(folder / MODEL_NAME, model.SerializeToString())
    text = json.dumps(_config(file, sizes), indent=2)
    write_atomically(folder / FILE_NAME, text.encode())


def _config(file: GGUFFile, sizes: Hyperparameters) -> Mapping[str, Any]:
    """The content of ``genai_config.json``."""
    inputs = {name: text for name, text in INPUTS.items() if name != "position_ids"}
    decoder = {
        "session_options": {"log_id": "graphc", "provider_options": []},
        "filename": MODEL_NAME,
        "head_size": sizes.head_size,
        "hidden_size": sizes.hidden_size,
        "inputs": inputs,
        "outputs": dict(OUTPUTS),
        "num_attention_heads": sizes.heads,
        "num_hidden_layers": sizes.layers,
        "num_key_value_heads": sizes.kv_heads,
    }
    return {
        "model": {
            "type": sizes.architecture.model_type,
            **_token_ids(file),
            "context_length": sizes.context_length,
            "vocab_size": sizes.vocab_size,
            "decoder": decoder,
        },
        "search": {
            "do_sample": False,
            "max_length": sizes.context_length,
            "min_length": 0,
            "num_beams": 1,
            "num_return_sequences": 1,
            "past_present_share_buffer": True,
            "repetition_penalty": 1.0,
            "temperature": 1.0,
            "top_k": 50,
            "top_p": 1.0,
        },
    }


def _token_ids(file: GGUFFile) -> dict[str, Any]:
    """The special tokens; a turn may end with another token than a text."""
    ids = {
        name: file.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos", "eot", "eom")
    }
    ends = [
        each for each in dict.fromkeys([ids["eos"], ids["eot"], ids["eom"]]) if each is not None
    ]
    pad = file.get("tokenizer.ggml.padding_token_id", ends[0] if ends else 0)
    found = {"pad_token_id": pad}
    if ends:
        found["eos_token_id"] = ends if len(ends) > 1 else ends[0]
    if ids["bos"] is not None:
        found["bos_token_id"] = ids["bos"]
    return {name: np.asarray(value).tolist() for name, value in found.items()}
