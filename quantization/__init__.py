"""Post-training quantisation, with the accuracy of each layer."""

from .post_training import QuantizationProgress, quantize
from .result import QuantizationResult

__all__ = ["QuantizationProgress", "QuantizationResult", "quantize"]
