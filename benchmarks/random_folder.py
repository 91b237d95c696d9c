"""Write a folder of a language model with random weights of 4 bits: for speed and memory alone.

::

    python -m graphc.benchmarks.random_folder llama-1.1b models/llama --gguf models/llama.gguf

The folder has the form of ``gc-import-gguf``, without zero points and with accuracy level 4. There
is no tokenizer. ``--gguf`` also writes the weights as a GGUF file (package gguf), for runtimes that
read no ONNX; its tokens are the bytes, and names.
"""

import argparse
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..generation.gguf.folder import write_folder
from ..generation.gguf.reader import GGUFFile, GGUFTensor
from .decoders import DECODERS, LARGE, Decoder

CONTEXT = 4096
_BLOCK, _BLOCK_BYTES = 32, 18
_LEVEL = 4
_EPSILON = 1e-5


class RandomFile:
    """The part of `GGUFFile` that an import asks for, for a decoder of random weights."""

    def __init__(self, model: Decoder):
        self.path = Path(f"{model.name}.gguf")
        self._values, self._shapes = _metadata(model), _shapes(model)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`."""
        return self._values.get(key, default)

    def require(self, key: str) -> Any:
        """The value of `key`, which is there."""
        return self._values[key]

    def __contains__(self, name: str) -> bool:
        return name in self._shapes

    def tensor(self, name: str) -> GGUFTensor:
        """The tensor `name`, made when it is asked for: blocks of ``Q4_0``, or ones."""
        shape = self._shapes[name]
        if len(shape) == 1:
            return GGUFTensor(name, "F32", shape, np.ones(shape, np.float32))
        rows, columns = shape
        random = np.random.default_rng(zlib.crc32(name.encode()))
        blocks = random.integers(0, 256, (rows, columns // _BLOCK, _BLOCK_BYTES), dtype=np.uint8)
        scale = np.array([0.2 / np.sqrt(columns)], np.float16)
        blocks[..., :2] = scale.view(np.uint8)
        return GGUFTensor(name, "Q4_0", shape, blocks.reshape(rows, -1))

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def unused(self) -> set[str]:
        """Tensors that were not asked for: none."""
        return set()


def _metadata(model: Decoder) -> Mapping[str, Any]:
    sizes = {
        "block_count": model.layers, "context_length": CONTEXT, "embedding_length": model.width,
        "feed_forward_length": model.hidden, "attention.head_count": model.heads,
        "attention.head_count_kv": model.kv_heads, "attention.layer_norm_rms_epsilon": _EPSILON,
    }  # fmt: skip
    tokens = {"tokens": range(model.vocabulary), "bos_token_id": 0, "eos_token_id": 1}
    return {
        "general.architecture": "llama",
        **{f"llama.{name}": value for name, value in sizes.items()},
        **{f"tokenizer.ggml.{name}": value for name, value in tokens.items()},
    }


def _shapes(model: Decoder) -> Mapping[str, tuple[int, ...]]:
    width, kv = model.width, model.kv_heads * model.head
    found: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (model.vocabulary, width), "output_norm.weight": (width,),
        "output.weight": (model.vocabulary, width),
    }  # fmt: skip
    layer: dict[str, tuple[int, ...]] = {
        "attn_norm": (width,), "ffn_norm": (width,), "attn_q": (width, width),
        "attn_k": (kv, width), "attn_v": (kv, width), "attn_output": (width, width),
        "ffn_gate": (model.hidden, width), "ffn_up": (model.hidden, width),
        "ffn_down": (width, model.hidden),
    }  # fmt: skip
    for number in range(model.layers):
        found |= {f"blk.{number}.{name}.weight": shape for name, shape in layer.items()}
    return found


def write_gguf(file: RandomFile, model: Decoder, path: Path) -> None:
    """Write the tensors of `file` to a GGUF file."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(model.layers)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(model.width)
    writer.add_feed_forward_length(model.hidden)
    writer.add_head_count(model.heads)
    writer.add_head_count_kv(model.kv_heads)
    writer.add_layer_norm_rms_eps(_EPSILON)
    writer.add_rope_dimension_count(model.head)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(model.vocabulary)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    tokens = [chr(0x100 + n) for n in range(256)]  # as GPT-2 writes bytes that are not printed
    writer.add_token_list(tokens + [f"token{n}" for n in range(len(tokens), model.vocabulary)])
    writer.add_token_types([gguf.TokenType.NORMAL] * model.vocabulary)
    writer.add_token_merges([f"{tokens[0]} {tokens[1]}"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    for name in file:
        tensor = file.tensor(name)
        kind = gguf.GGMLQuantizationType[tensor.type_name]
        writer.add_tensor(name, tensor.data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    models = {each.name: each for each in (*DECODERS, *LARGE)}
    parser = argparse.ArgumentParser(description="Write a decoder with random weights of 4 bits.")
    parser.add_argument("model", choices=models)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gguf", type=Path, metavar="FILE", help="also write this file")
    flags = parser.parse_args(arguments)
    model = models[flags.model]
    file = RandomFile(model)
    write_folder(cast(GGUFFile, file), flags.folder, tokenizer=False, accuracy_level=_LEVEL)
    if flags.gguf is not None:
        write_gguf(file, model, flags.gguf)
    return 0


if __name__ == "__main__":
    sys.exit(main())
