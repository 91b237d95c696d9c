"""Mixtures of experts: each token by the few experts that it has chosen."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict, Unpack

import numpy as np

from ..symbolic import Dim
from .attributes import Float, Int, Str
from .base import GraphOp, OptionalTensor, Tensor, TypeRuleError, builder
from .contraction import require_equal_sizes
from .elementwise import GeluOp, ReluOp, SwishOp
from .traits import MixedPrecision
from .types import TensorType

Size = int | Dim

_ACTIVATIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": ReluOp.evaluate,
    "gelu": lambda x: GeluOp.evaluate(x, approximate="tanh"),
    "silu": lambda x: SwishOp.evaluate(x, alpha=1.0),
    "identity": lambda x: x,
}
_SWIGLU = "swiglu"
_I64 = np.dtype(np.int64)


class ActivationAttrs(TypedDict):
    """Attributes of the activation between the layers of an expert."""

    activation: str
    fusion: int
    alpha: float
    beta: float
    limit: float


class MixtureOp(GraphOp, name="mixture"):
    """Tokens `x` [T, H] by the experts `chosen` [T, k], added up as `weights` [T, k] weigh them.

    Experts have weights `w1` [E, I, H] and `w2` [E, H', I], and biases `b1` [E, I] and `b2`
    [E, H']. `activation` is one of ``relu``, ``gelu`` (by the hyperbolic tangent), ``silu``,
    ``identity`` and ``swiglu``. With `w3`, the result of that layer is a factor of the
    activation's.

    SwiGLU is ``g sigmoid(alpha g) (l + beta)``, with ``g`` at most `limit`, and ``l`` between that
    and its negative. ``g`` is computed by `w1` and ``l`` by `w3` if `fusion` is 0; both by `w1`, in
    turns if it is 1, one half each if it is 2.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    weights: Tensor
    chosen: Tensor
    w1: Tensor
    w2: Tensor
    b1: OptionalTensor
    b2: OptionalTensor
    w3: OptionalTensor
    b3: OptionalTensor
    activation: Str
    fusion: Int
    alpha: Float
    beta: Float
    limit: Float

    @staticmethod
    def infer(
        x: TensorType,
        weights: TensorType,
        chosen: TensorType,
        w1: TensorType,
        w2: TensorType,
        b1: TensorType | None,
        b2: TensorType | None,
        w3: TensorType | None,
        b3: TensorType | None,
        **attrs: Unpack[ActivationAttrs],
    ) -> TensorType:
        if attrs["activation"] not in (*_ACTIVATIONS, _SWIGLU) or attrs["fusion"] not in (0, 1, 2):
            raise TypeRuleError(f"activation '{attrs['activation']}' of form {attrs['fusion']}")
        if x.rank != 2 or weights.rank != 2 or chosen != TensorType(weights.shape, _I64):
            raise TypeRuleError(f"weights {weights} and experts {chosen} of tokens {x}")
        require_equal_sizes(x.shape[0], weights.shape[0], "the numbers of tokens")
        is_gated = attrs["activation"] == _SWIGLU
        if is_gated and attrs["fusion"] == 0 and w3 is None:
            raise TypeRuleError("swiglu that is not fused needs a third layer")
        is_fused = is_gated and attrs["fusion"] != 0
        inside = w1.shape[1] if w1.rank == 3 else 0
        if is_fused and (not isinstance(inside, int) or inside % 2):
            raise TypeRuleError(f"{inside} columns for a gate and a linear part")
        _require_layer(w1, b1, x.shape[1], x.dtype)
        if w3 is not None:
            _require_layer(w3, b3, x.shape[1], x.dtype)
        _require_layer(w2, b2, inside // 2 if is_fused else inside, x.dtype)
        return x.with_shape((x.shape[0], w2.shape[1]))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        weights: np.ndarray,
        chosen: np.ndarray,
        w1: np.ndarray,
        w2: np.ndarray,
        b1: np.ndarray | None,
        b2: np.ndarray | None,
        w3: np.ndarray | None,
        b3: np.ndarray | None,
        **attrs: Unpack[ActivationAttrs],
    ) -> np.ndarray:
        tokens, count = chosen.shape
        flat = chosen.ravel()

        def linear(rows: np.ndarray, w: np.ndarray, b: np.ndarray | None) -> np.ndarray:
            y = np.empty((len(rows), w.shape[1]), x.dtype)
            for expert in np.unique(flat):
                own = flat == expert
                y[own] = rows[own] @ w[expert].T
            return y if b is None else y + b[flat]

        rows = np.repeat(x, count, axis=0)
        hidden = [linear(rows, w1, b1), *([] if w3 is None else [linear(rows, w3, b3)])]
        y = linear(_activated(hidden, attrs), w2, b2).reshape(tokens, count, w2.shape[1])
        return (y * weights[:, :, np.newaxis]).sum(axis=1, dtype=x.dtype)


def _activated(hidden: Sequence[np.ndarray], attrs: ActivationAttrs) -> np.ndarray:
    """The activation of the results of one layer, or of two."""
    if attrs["activation"] != _SWIGLU:
        first, *others = hidden
        y = _ACTIVATIONS[attrs["activation"]](first)
        return y * others[0] if others else y
    (first, *_), limit = hidden, attrs["limit"]
    if attrs["fusion"] == 0:
        gate, linear = hidden
    elif attrs["fusion"] == 1:
        gate, linear = first[:, 0::2], first[:, 1::2]
    else:
        gate, linear = np.split(first, 2, axis=1)
    opened = SwishOp.evaluate(np.minimum(gate, limit), alpha=attrs["alpha"])
    return opened * (np.clip(linear, -limit, limit) + attrs["beta"])


def _require_layer(w: TensorType, b: TensorType | None, k: Size, dtype: np.dtype) -> None:
    if w.rank != 3 or w.dtype != dtype:
        raise TypeRuleError(f"weights {w} for rows of {dtype}")
    require_equal_sizes(w.shape[2], k, "the contracted sizes")
    if b is not None and b != w.with_shape(w.shape[:2]):
        raise TypeRuleError(f"biases {b} for weights {w}")


mixture = builder(MixtureOp)
