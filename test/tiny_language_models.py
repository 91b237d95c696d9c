"""Small language models of random weights, as GGUF files and as stand-ins for these."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np

from graphc.generation.gguf.folder import write_folder
from graphc.generation.gguf.quantized_blocks import QuantizedMatrix
from graphc.generation.gguf.reader import GGUFTensor

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_SIZE, FEED_FORWARD = 2, 64, 4, 2, 16, 96
VOCAB, CONTEXT = 96, 64
BLOCK_BYTES = {"Q4_0": 18, "Q4_1": 20, "Q8_0": 34}

METADATA = {
    "block_count": LAYERS,
    "context_length": CONTEXT,
    "embedding_length": HIDDEN,
    "feed_forward_length": FEED_FORWARD,
    "attention.head_count": HEADS,
    "attention.head_count_kv": KV_HEADS,
    "attention.key_length": HEAD_SIZE,
    "attention.value_length": HEAD_SIZE,
    "attention.layer_norm_rms_epsilon": 1e-5,
    "rope.freq_base": 10000.0,
    "rope.dimension_count": HEAD_SIZE,
}
MORE_METADATA: dict[str, dict[str, Any]] = {
    "gemma2": {
        "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
        "attention.sliding_window": 5,
    },
    "gemma3": {"attention.sliding_window": 5, "rope.freq_base": 1000000.0},
    "phi3": {"attention.sliding_window": 7},
}  # fmt: skip
ARCHITECTURES = ("llama", "qwen2", "qwen3", "phi3", "gemma", "gemma2", "gemma3")


def metadata(architecture: str, layers: int = LAYERS) -> dict[str, Any]:
    """The metadata of a model of `architecture`, with a tokenizer of single bytes."""
    sizes = {**METADATA, **MORE_METADATA.get(architecture, {}), "block_count": layers}
    return {
        "general.architecture": architecture,
        **{f"{architecture}.{name}": value for name, value in sizes.items()},
        **tokenizer_metadata(),
    }


def tokenizer_metadata() -> dict[str, Any]:
    """Two special tokens, printable ASCII but ``~``, and one merge."""
    characters = [chr(code) for code in range(33, 125)]
    tokens = ["<s>", "</s>", "Ġ", *characters, "th"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3, 3] + [1] * (len(tokens) - 2),
        "tokenizer.ggml.merges": ["t h"],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.chat_template": "{% for m in messages %}{{ m.role }}: {{ m.content }} "
        "{% endfor %}assistant:",
    }


def shapes(architecture: str, layers: int = LAYERS) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors of `architecture`."""
    width, kv_width = HEADS * HEAD_SIZE, KV_HEADS * HEAD_SIZE
    found: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCAB, HIDDEN), "output_norm.weight": (HIDDEN,)
    }  # fmt: skip
    if architecture in ("qwen2", "phi3"):
        found["output.weight"] = (VOCAB, HIDDEN)
    for layer in range(layers):
        mine: dict[str, tuple[int, ...]] = {
            "attn_norm.weight": (HIDDEN,), "ffn_norm.weight": (HIDDEN,),
            "attn_output.weight": (HIDDEN, width), "ffn_down.weight": (HIDDEN, FEED_FORWARD),
        }  # fmt: skip
        if architecture == "phi3":
            mine["attn_qkv.weight"] = (width + 2 * kv_width, HIDDEN)
            mine["ffn_up.weight"] = (2 * FEED_FORWARD, HIDDEN)
        else:
            sizes = {"attn_q": width, "attn_k": kv_width, "attn_v": kv_width}
            sizes |= {"ffn_gate": FEED_FORWARD, "ffn_up": FEED_FORWARD}
            mine |= {f"{name}.weight": (rows, HIDDEN) for name, rows in sizes.items()}
            if architecture == "qwen2":
                mine |= {f"{name}.bias": (sizes[name],) for name in ("attn_q", "attn_k", "attn_v")}
        if architecture in ("qwen3", "gemma3"):
            mine |= {f"attn_{name}_norm.weight": (HEAD_SIZE,) for name in "qk"}
        if architecture in ("gemma2", "gemma3"):
            mine |= {f"post_{name}_norm.weight": (HIDDEN,) for name in ("attention", "ffw")}
        found |= {f"blk.{layer}.{name}": shape for name, shape in mine.items()}
    return found


def type_of(name: str, shape: tuple[int, ...]) -> str:
    """A type for each role: vectors are floats, rows of bytes have two of the formats."""
    if len(shape) == 1:
        return "F32"
    if name in ("token_embd.weight", "output.weight"):
        return "Q8_0"
    return "Q4_0" if "attn" in name else "Q4_1"


def tensors(architecture: str, seed: int = 0, layers: int = LAYERS) -> dict[str, GGUFTensor]:
    """Random tensors of `architecture`, quantized."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, shape in shapes(architecture, layers).items():
        kind = type_of(name, shape)
        data = rng.normal(size=shape).astype(np.float32) * 0.3
        if kind == "F32":
            data = 1 + data if "norm" in name else data
        else:
            data = _blocks(kind, shape, rng)
        found[name] = GGUFTensor(name, kind, shape, data)
    return found


def _blocks(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Random blocks whose values spread evenly, about as far as those of a trained model."""
    rows, columns = shape
    count = columns // 32
    blocks = rng.integers(0, 256, (rows, count, BLOCK_BYTES[kind]), np.uint8)
    levels = {"Q4_0": 16, "Q4_1": 16, "Q8_0": 256}[kind]
    scales = np.full((rows, count, 1), 3.0 / levels / np.sqrt(columns), np.float32)
    scales *= rng.uniform(0.5, 2, scales.shape).astype(np.float32)
    blocks[..., :2] = scales.astype(np.float16).view(np.uint8)
    if kind == "Q4_1":
        blocks[..., 2:4] = (scales * -7.5).astype(np.float16).view(np.uint8)
    return blocks.reshape(rows, -1)


class MemoryFile:
    """A stand-in for `GGUFFile`, which needs no package."""

    def __init__(self, values: dict[str, Any], given: dict[str, GGUFTensor]):
        self.path = Path("memory.gguf")
        self._values, self._given = values, given
        self._taken: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`."""
        return self._values.get(key, default)

    def require(self, key: str) -> Any:
        """The value of `key`, which is there."""
        return self._values[key]

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def tensor(self, name: str) -> GGUFTensor:
        """The tensor `name`."""
        self._taken.add(name)
        return self._given[name]

    def unused(self) -> set[str]:
        """Tensors that were not asked for."""
        return self._given.keys() - self._taken


def memory_file(architecture: str, seed: int = 0, layers: int = LAYERS) -> Any:
    """A tiny model of `architecture` in memory."""
    return MemoryFile(metadata(architecture, layers), tensors(architecture, seed, layers))


def write_model_folder(
    folder: Path, architecture: str = "llama", *, tokenizer: bool = False, context: int = CONTEXT,
    layers: int = LAYERS,
) -> Path:  # fmt: skip
    """Write a tiny model to `folder`, with or without a tokenizer; return the folder."""
    file = memory_file(architecture, layers=layers)
    file._values[f"{architecture}.context_length"] = context
    write_folder(file, folder, tokenizer=tokenizer)
    return folder


def write_gguf(path: Path, architecture: str, context: int = CONTEXT) -> Path:
    """Write a tiny model as a GGUF file, by the package ``gguf``; return its path."""
    import gguf

    writer = gguf.GGUFWriter(path, architecture)
    values = {**metadata(architecture), f"{architecture}.context_length": context}
    for key, value in values.items():
        if key != "general.architecture":
            writer.add_key_value(key, value, *_types(gguf, value))
    for name, tensor in tensors(architecture).items():
        kind = gguf.GGMLQuantizationType[tensor.type_name]
        writer.add_tensor(name, tensor.data, raw_dtype=kind)
    with contextlib.redirect_stdout(None):
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    writer.close()
    return path


def _types(gguf: Any, value: Any) -> tuple[Any, ...]:
    """GGUF's types of a value: of itself, and of the elements of a list."""
    kinds = gguf.GGUFValueType
    names = {int: kinds.UINT32, float: kinds.FLOAT32, str: kinds.STRING, bool: kinds.BOOL}
    if not isinstance(value, list):
        return (names[type(value)],)
    element = value[0]
    return kinds.ARRAY, kinds.INT32 if isinstance(element, int) else names[type(element)]


def dequantized(matrix: QuantizedMatrix) -> np.ndarray:
    """The numbers that MatMulNBits multiplies by, f32 ``[rows, columns]``."""
    shifts = np.arange(0, 8, matrix.bits, dtype=np.uint8)
    integers = (matrix.packed[..., None] >> shifts) & ((1 << matrix.bits) - 1)
    integers = integers.reshape(matrix.rows, -1, matrix.block_size).astype(np.float32)
    zeros = np.float32(1 << (matrix.bits - 1))
    if matrix.zero_points is not None:
        zeros = matrix.zero_points[..., None]
    return ((integers - zeros) * matrix.scales[..., None]).reshape(matrix.rows, -1)
