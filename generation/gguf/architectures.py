"""The architectures that are imported: the Llama family, as flags on one decoder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


def _everywhere(layer: int) -> bool:
    del layer
    return True


def _every_other(layer: int) -> bool:
    return layer % 2 == 0


def _five_of_six(layer: int) -> bool:
    return layer % 6 != 5


@dataclass(frozen=True)
class DecoderArchitecture:
    """How a decoder differs from Llama's.

    Biases, norms of queries and keys, and fused projections need no flag: the tensors are there or
    not. `is_windowed` says which layers see a window only, if the file names one.
    """

    model_type: str
    """The type in ``genai_config.json``."""
    rows_are_interleaved: bool = False
    """Queries and keys are stored for a rotation of neighbouring pairs, as llama.cpp converts
    Llama's; other converters leave them as they are, for a rotation of halves."""
    activation: str = "silu"
    """Activation of the gate: ``silu``, or ``gelu`` with the approximation by tanh."""
    scales_embedding: bool = False
    """Embeddings are multiplied by the root of their length."""
    has_post_norms: bool = False
    """Results of attention and feed-forward are normalised before they are added."""
    is_windowed: Callable[[int], bool] = _everywhere
    windowed_rope_base: float | None = None
    """Base of the rotary frequencies in windowed layers, if it is another one."""
    layers_of_largest: int | None = None
    """Number of layers of the size whose attention is scaled by hidden size over heads instead of
    the head size; the file does not say so, llama.cpp goes by this number as well."""


ARCHITECTURES: Mapping[str, DecoderArchitecture] = MappingProxyType(
    {
        "llama": DecoderArchitecture("llama", rows_are_interleaved=True),
        "qwen2": DecoderArchitecture("qwen2"),
        "qwen3": DecoderArchitecture("qwen3"),
        "phi3": DecoderArchitecture("phi3"),
        "gemma": DecoderArchitecture("gemma", activation="gelu", scales_embedding=True),
        "gemma2": DecoderArchitecture(
            "gemma2", activation="gelu", scales_embedding=True, has_post_norms=True,
            is_windowed=_every_other, layers_of_largest=46,
        ),
        "gemma3": DecoderArchitecture(
            "gemma3_text", activation="gelu", scales_embedding=True, has_post_norms=True,
            is_windowed=_five_of_six, windowed_rope_base=10000.0, layers_of_largest=62,
        ),
    }
)  # fmt: skip
"""By ``general.architecture``; SmolLM2 and Mistral files are of ``llama``."""
