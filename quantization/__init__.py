"""Post-training quantisation, with the accuracy of each layer."""

from .job import QuantizationProgress
from .post_training import quantize
from .result import QuantizationResult

__all__ = ["QuantizationProgress", "QuantizationResult", "quantize"]
