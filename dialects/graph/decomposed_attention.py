"""Attention written out as matmuls and a softmax, for forms that `attention` does not have."""

import numpy as np

from ...mlir import ir
from .contraction import matmul
from .elementwise import add, div, equal, mul, tanh, where
from .movement import concat, expand, slice_, transpose
from .normalization import softmax
from .reduction import reduce_max
from .shapes import splat_like
from .types import type_of


def decomposed_attention(
    q: ir.Value,
    k: ir.Value,
    v: ir.Value,
    mask: ir.Value | None,
    scale: float,
    softcap: float,
    which: int,
    sink: ir.Value | None = None,
) -> tuple[ir.Value, ir.Value]:
    """Attention written out, and its scores: raw, capped, masked, or the probabilities.

    A query that sees no key gives zeros. A `sink`, which broadcasts to ``[..., S, 1]``, is the
    score of one more key, whose value is 0.
    """
    rank = type_of(k).rank
    swap = [*range(rank - 2), rank - 1, rank - 2]
    q = mul(q, splat_like(scale, q))
    raw = capped = matmul(q, transpose(k, perm=swap))
    if softcap:
        cap = splat_like(softcap, raw)
        capped = mul(tanh(div(raw, cap)), cap)
    masked = capped
    if mask is not None and type_of(mask).dtype == np.bool_:
        masked = where(mask, capped, splat_like(-np.inf, capped))
    elif mask is not None:
        masked = add(capped, mask)
    probabilities = _probabilities(masked, sink)
    if mask is not None and sink is None:
        best = reduce_max(masked, axes=[rank - 1], keepdims=True)
        blind = equal(best, splat_like(-np.inf, best))
        zero = splat_like(0, probabilities)
        probabilities = where(blind, zero, probabilities)
    y = matmul(probabilities, v)
    return y, (raw, capped, masked, probabilities)[which]


def _probabilities(scores: ir.Value, sink: ir.Value | None) -> ir.Value:
    """The softmax over the keys, of which the `sink` takes a share."""
    shape = type_of(scores).shape
    axis = len(shape) - 1
    if sink is None:
        return softmax(scores, axis=axis)
    sink = expand(sink, shape=[*shape[:-1], 1])
    every = softmax(concat([scores, sink], axis=axis), axis=axis)
    return slice_(every, starts=[0] * len(shape), sizes=shape, steps=[1] * len(shape))
