"""Fused attention, computed in the registers of a CPU."""

import inspect
from typing import Any

import numpy as np

from ..symbolic import Dim
from .attention import AttentionOp
from .attributes import Bool, Float, Int, Ints, Size, Sizes
from .base import GraphOp, OptionalTensor, Tensor, TypeRuleError, builder
from .traits import MixedPrecision
from .types import Shape, TensorType
from .views import View


class FusedAttentionOp(GraphOp, name="fused_attention"):
    """`attention` in f32, by tiles of `mr` by `vectors` of `lanes`.

    Queries ``[*lead, queries, head_size]``, keys ``[*lead, keys, head_size]`` and values
    ``[*lead, keys, width]`` are strided views of `q`, `k` and `v`, which may be one tensor. A view
    is the offset of the first element and the stride of each axis, in row-major order. The features
    of a query and of a value are contiguous, and those of a value fill vectors. The leading axes
    and the numbers of queries and keys may be symbolic. The mask is of f32. The axes of
    ``[*lead, queries, width]`` are stored in `order`; the last one stays last.
    """

    amp = MixedPrecision.KEEP

    q: Tensor
    k: Tensor
    v: Tensor
    mask: OptionalTensor
    lead: Sizes
    queries: Size
    keys: Size
    head_size: Int
    width: Int
    q_view: Sizes
    k_view: Sizes
    v_view: Sizes
    order: Ints
    scale: Float
    causal: Bool
    mr: Int
    vectors: Int
    lanes: Int

    @staticmethod
    def infer(
        q: TensorType,
        k: TensorType,
        v: TensorType,
        mask: TensorType | None,
        *,
        order: tuple[int, ...],
        scale: float,
        causal: bool,
        mr: int,
        vectors: int,
        lanes: int,
        **sizes: Any,
    ) -> TensorType:
        given = [q, k, v] if mask is None else [q, k, v, mask]
        if any(x.dtype != np.float32 for x in given):
            raise TypeRuleError("is for f32 alone")
        views = attention_views(**sizes)
        for x, view in zip((q, k, v), views, strict=True):
            if len(view.strides) != len(view.shape) or not view.fits(x.shape):
                raise TypeRuleError(f"{view} reaches beyond {x}")
        if any(view.shape[-1] != 1 and view.strides[-1] != 1 for view in (views[0], views[2])):
            raise TypeRuleError("features of a query or of a value are apart")
        keys = sizes["keys"]
        too_few = isinstance(keys, int) and keys < mr
        if min(mr, vectors, lanes) < 1 or sizes["width"] < lanes or too_few:
            raise TypeRuleError(f"{views} do not fill tiles of {mr} rows, vectors of {lanes}")
        seen_q, seen_k, seen_v = (q.with_shape(view.shape) for view in views)
        result = AttentionOp.infer(seen_q, seen_k, seen_v, mask, scale=scale, causal=causal)
        if sorted(order) != list(range(result.rank)) or order[-1] != result.rank - 1:
            raise TypeRuleError(f"order {list(order)} is none of {result.rank} axes")
        return result.with_shape(result.shape[axis] for axis in order)

    @staticmethod
    def evaluate(
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        mask: np.ndarray | None,
        *,
        order: tuple[int, ...],
        scale: float,
        causal: bool,
        mr: int,
        vectors: int,
        lanes: int,
        **sizes: Any,
    ) -> np.ndarray:
        del mr, vectors, lanes
        of_q, of_k, of_v = attention_views(**sizes)
        y = AttentionOp.evaluate(
            of_q.of(q), of_k.of(k), of_v.of(v), mask, scale=scale, causal=causal
        )
        return np.transpose(y, order)


def attention_views(
    lead: Shape,
    queries: int | Dim,
    keys: int | Dim,
    head_size: int,
    width: int,
    q_view: Shape,
    k_view: Shape,
    v_view: Shape,
) -> tuple[View, View, View]:
    """The views that hold the queries, keys and values of a `fused_attention` with these
    attributes."""
    shapes = (*lead, queries, head_size), (*lead, keys, head_size), (*lead, keys, width)
    q, k, v = (
        View(shape, start, tuple(strides))
        for shape, (start, *strides) in zip(shapes, (q_view, k_view, v_view), strict=True)
    )
    return q, k, v


def attention_views_of(op: GraphOp) -> tuple[View, View, View]:
    """The views that hold the queries, keys and values of `op`."""
    names = inspect.signature(attention_views).parameters
    return attention_views(**{name: op.attrs[name] for name in names})


fused_attention = builder(FusedAttentionOp)
