"""What passes ask about the windows of convolutions."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def is_pointwise(weights: np.ndarray, attrs: Mapping[str, Any]) -> bool:
    """Whether places of the image, with strides not all of them, are multiplied by one matrix.

    `weights` are channels-last, ``[kernel..., C, M]``.
    """
    return all(size == 1 for size in weights.shape[:-2]) and not any(
        (*attrs["low"], *attrs["high"])
    )
