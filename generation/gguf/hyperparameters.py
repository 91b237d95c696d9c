"""Sizes and constants of a decoder, from the metadata of a GGUF file."""

import math
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidModelError, UnsupportedFormatError
from .architectures import ARCHITECTURES, DecoderArchitecture
from .reader import GGUFFile

MAX_CONTEXT_LENGTH = 1 << 22
"""Positions that tables of the rotary embedding are written for."""


@dataclass(frozen=True)
class Hyperparameters:
    """Sizes and constants of a decoder, as GGUF's metadata has them."""

    architecture: DecoderArchitecture
    layers: int
    context_length: int
    hidden_size: int
    heads: int
    kv_heads: int
    head_size: int
    rotary_size: int
    norm_epsilon: float
    rope_base: float
    rope_divisor: float
    """Divisor of positions, from linear scaling."""
    window: int | None
    attention_softcap: float
    logit_softcap: float
    vocab_size: int

    @property
    def attention_scale(self) -> float:
        """Factor of the scores."""
        is_largest = self.layers == self.architecture.layers_of_largest
        return 1 / math.sqrt(self.hidden_size / self.heads if is_largest else self.head_size)

    def window_of(self, layer: int) -> int | None:
        """The number of keys that a query of `layer` sees; None for all."""
        return self.window if self.architecture.is_windowed(layer) else None

    def rope_of(self, layer: int) -> tuple[float, float]:
        """The base of the frequencies of `layer`, and the divisor of its positions."""
        base = self.architecture.windowed_rope_base
        if base is None or self.window_of(layer) is None:
            return self.rope_base, self.rope_divisor
        return base, 1.0


def read_hyperparameters(file: GGUFFile) -> Hyperparameters:
    """Read the metadata of `file`.

    Raises `UnsupportedFormatError` for architectures and scalings that are not in the list, and
    `InvalidModelError` for metadata that is absent or contradicts itself.
    """
    name = file.require("general.architecture")
    architecture = ARCHITECTURES.get(name)
    if architecture is None:
        known = ", ".join(ARCHITECTURES)
        raise UnsupportedFormatError(f"{file.path}: architecture '{name}' is not one of {known}")
    keys = _Keys(file, name)
    heads, hidden_size = keys.whole("attention.head_count"), keys.whole("embedding_length")
    head_size = keys.whole("attention.key_length", hidden_size // heads)
    if keys.whole("attention.value_length", head_size) != head_size:
        raise UnsupportedFormatError(f"{file.path}: values and keys of different lengths")
    kv_heads = keys.whole("attention.head_count_kv", heads)
    if heads % kv_heads:
        raise InvalidModelError(f"{file.path}: {heads} heads for {kv_heads} of keys")
    context_length = keys.whole("context_length")
    if context_length > MAX_CONTEXT_LENGTH:
        raise UnsupportedFormatError(f"{file.path}: a context of {context_length} positions")
    if keys.get("expert_count", 0):
        raise UnsupportedFormatError(f"{file.path}: a mixture of experts")
    return Hyperparameters(
        architecture=architecture,
        layers=keys.whole("block_count"),
        context_length=context_length,
        hidden_size=hidden_size,
        heads=heads,
        kv_heads=kv_heads,
        head_size=head_size,
        rotary_size=keys.whole("rope.dimension_count", head_size),
        norm_epsilon=float(file.require(f"{name}.attention.layer_norm_rms_epsilon")),
        rope_base=float(keys.get("rope.freq_base", 10000.0)),
        rope_divisor=_rope_divisor(keys),
        window=keys.get("attention.sliding_window") or None,
        attention_softcap=float(keys.get("attn_logit_softcapping", 0.0)),
        logit_softcap=float(keys.get("final_logit_softcapping", 0.0)),
        vocab_size=len(file.require("tokenizer.ggml.tokens")),
    )


def _rope_divisor(keys: "_Keys") -> float:
    kind = keys.get("rope.scaling.type", "none")
    if kind not in ("none", "linear"):
        raise UnsupportedFormatError(f"{keys.file.path}: positions scaled by '{kind}'")
    return float(keys.get("rope.scaling.factor", 1.0)) if kind == "linear" else 1.0


@dataclass(frozen=True)
class _Keys:
    """The keys that begin with the architecture's name."""

    file: GGUFFile
    prefix: str

    def get(self, key: str, default: Any = None) -> Any:
        return self.file.get(f"{self.prefix}.{key}", default)

    def whole(self, key: str, default: int | None = None) -> int:
        """A size: a positive integer. Raises `InvalidModelError` for anything else."""
        name = f"{self.prefix}.{key}"
        value = self.file.require(name) if default is None else self.file.get(name, default)
        if not isinstance(value, int) or value < 1:
            raise InvalidModelError(f"{self.file.path}: {name} is {value!r:.60}, not one size")
        return value
