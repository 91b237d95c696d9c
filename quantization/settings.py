"""Settings of a quantisation, as one value."""

from dataclasses import dataclass

from ..errors import UsageError

CONTRACTIONS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
FOLLOWERS = (
    *("AveragePool", "Clip", "Flatten", "MaxPool", "Relu", "Reshape", "Resize", "Slice"),
    *("Squeeze", "Transpose", "Unsqueeze"),
)
"""Types of nodes that the library quantises only if their operand is quantised: the result has the
same scale, or that of its own range."""
METHODS = ("minmax", "percentile", "entropy")
ACTIVATION_TYPES = ("uint8", "int8", "uint16", "int16")
WEIGHT_TYPES = ("int8", "uint8")


@dataclass(frozen=True)
class QuantizationSettings:
    """How a model is quantised, in the terms of ``onnxruntime.quantization``."""

    per_channel: bool = True
    """A scale for each output channel of the weights, in place of one for the tensor."""
    method: str = "minmax"
    """How ranges follow from calibration: one of `METHODS`."""
    percentile: float = 99.999
    """Share of the values, in percent, that a range of ``method="percentile"`` covers."""
    activation_type: str = "uint8"
    weight_type: str = "int8"
    symmetric: bool = False
    """Ranges of activations with 0 in the middle."""
    reduce_range: bool = False
    """Weights of 7 bits, for CPUs whose 8-bit multiplication saturates: x86 without VNNI."""
    op_types: tuple[str, ...] = (*CONTRACTIONS, *FOLLOWERS)
    """Types of the nodes to quantise. By default matmuls and convolutions, and operators between
    them that move data: others gain little time and lose accuracy. All that the library supports
    if empty."""
    exclude: tuple[str, ...] = ()
    """Names of nodes that stay in f32, or shell patterns (``/head/*``)."""

    def __post_init__(self) -> None:
        _require(self.method, METHODS, "method")
        _require(self.activation_type, ACTIVATION_TYPES, "activation_type")
        _require(self.weight_type, WEIGHT_TYPES, "weight_type")
        if not 50 < self.percentile <= 100:
            raise UsageError(f"percentile is {self.percentile}; it is above 50 and at most 100")
        for name in ("op_types", "exclude"):
            if isinstance(getattr(self, name), str):
                raise UsageError(f"{name} must be a sequence of names, not a string")
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def is_16_bit(self) -> bool:
        """True for activations of 16 bits, which need operators of opset 21."""
        return self.activation_type.endswith("16")


def _require(value: str, known: tuple[str, ...], name: str) -> None:
    if value not in known:
        raise UsageError(f"{name} must be one of {', '.join(known)}, not '{value}'")
