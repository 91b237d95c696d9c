"""Windows of convolutions, as passes see them."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ...dialects import graph
from ...mlir import ir


class Shaped(Protocol):
    """Weights of known sizes: an array, or what the run computes."""

    @property
    def shape(self) -> tuple[int, ...]: ...


def is_pointwise(weights: Shaped, attrs: Mapping[str, Any]) -> bool:
    """Return whether a convolution is pointwise: each output pixel is one input pixel times a
    matrix. Strides may skip input pixels.

    `weights` are channels-last, ``[kernel..., C, M]``.
    """
    return all(size == 1 for size in weights.shape[:-2]) and not any(
        (*attrs["low"], *attrs["high"])
    )


def windows_as_rows(op: Any, weights: np.ndarray, attrs: Mapping[str, Any]) -> ir.Value:
    """The left operand of a channels-last convolution by `weights` as a matmul: one row per output
    position."""
    if not is_pointwise(weights, attrs):
        window = {k: attrs[k] for k in ("strides", "dilations", "low", "high")}
        return graph.im2col(op.x, kernel=weights.shape[:-2], **window)
    if all(stride == 1 for stride in attrs["strides"]):
        return op.x
    shape = (*graph.type_of(op.result).shape[:-1], weights.shape[-2])
    steps = (1, *attrs["strides"], 1)
    return graph.slice_(op.x, starts=[0] * len(shape), sizes=shape, steps=steps)
