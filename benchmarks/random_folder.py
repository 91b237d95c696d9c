"""Write a folder of a language model with random weights of 4 bits: for speed and memory alone.

::

    python -m graphc.benchmarks.random_folder llama-1.1b models/llama-1.1b

The folder has the form of ``gc-import-gguf``, without zero points and with accuracy level 4. There
is no tokenizer.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..generation.gguf.folder import write_folder
from ..generation.gguf.reader import GGUFFile, GGUFTensor
from .decoders import DECODERS, LARGE, Decoder

CONTEXT = 4096
_BLOCK, _BLOCK_BYTES = 32, 18
_LEVEL = 4


class RandomFile:
    """The part of `GGUFFile` that an import asks for, for a decoder of random weights."""

    def __init__(self, model: Decoder):
        self.path = Path(f"{model.name}.gguf")
        self._values, self._shapes = _metadata(model), _shapes(model)
        self._random = np.random.default_rng(0)

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
        blocks = self._random.integers(
            0, 256, (rows, columns // _BLOCK, _BLOCK_BYTES), dtype=np.uint8
        )
        scale = np.array([0.2 / np.sqrt(columns)], np.float16)
        blocks[..., :2] = scale.view(np.uint8)
        return GGUFTensor(name, "Q4_0", shape, blocks.reshape(rows, -1))

    def unused(self) -> set[str]:
        """Tensors that were not asked for: none."""
        return set()


def _metadata(model: Decoder) -> Mapping[str, Any]:
    sizes = {
        "block_count": model.layers, "context_length": CONTEXT, "embedding_length": model.width,
        "feed_forward_length": model.hidden, "attention.head_count": model.heads,
        "attention.head_count_kv": model.kv_heads, "attention.layer_norm_rms_epsilon": 1e-5,
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


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    models = {each.name: each for each in (*DECODERS, *LARGE)}
    parser = argparse.ArgumentParser(description="Write a decoder with random weights of 4 bits.")
    parser.add_argument("model", choices=models)
    parser.add_argument("folder", type=Path)
    flags = parser.parse_args(arguments)
    file = cast(GGUFFile, RandomFile(models[flags.model]))
    write_folder(file, flags.folder, tokenizer=False, accuracy_level=_LEVEL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
