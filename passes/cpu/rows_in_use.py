"""Attention of many queries to one row of a cache, as attention to a slice of it."""

from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import Dim, minimum
from ...mlir import ir
from ..infra.rewrite import Rewrite

Size = int | Dim
_ROW = "cache_row"


class AttendToRowsInUse(Rewrite):
    """``cached_attention(q, k, v, 0, keys - 1, mask, batch)  -->  attention(q, k[batch, :keys],
    v[batch, :keys], mask)``, for the prompt of one sequence. Exact up to the order of sums.

    The kernel of `attention` reads the slices where they are, and a key for many queries at once.
    """

    name = "attend-to-rows-in-use"
    root = graph.CachedAttentionOp

    def __init__(self, lanes: int):
        self.lanes = lanes

    def pattern(self, op: graph.CachedAttentionOp) -> dict[str, Any] | None:
        batch, _, queries, _ = graph.type_of(op.q).shape
        many = isinstance(queries, int) and queries >= self.lanes
        last = graph.known_sizes(op.last)
        if batch != 1 or not many or op.cache_batch is None or last is None:
            return None
        return {"keys": last[0] + 1}

    def check(self, op: graph.CachedAttentionOp, keys: Size) -> str | None:
        q, k, v = (graph.type_of(x) for x in (op.q, op.k, op.v))
        if q.shape[1] != k.shape[1]:
            return "heads share keys"
        if q.dtype != np.float32 or v.shape[3] == 0 or not isinstance(v.shape[3], int):
            return "it is not for f32, or its features are not known"
        if v.shape[3] < self.lanes:
            return "the features of a value do not fill a vector"
        if op.sink is not None or op.attrs["softcap"] or (op.left, op.right) != (-1, -1):
            return "it has a sink, a cap or a window"
        if op.mask is not None and graph.type_of(op.mask).shape[3] != keys:
            return "its mask is for other keys"
        if op.cache_batch is None or not isinstance(op.cache_batch.owner, ir.Block):
            return "the row of the cache is computed"
        return None

    def rewrite(self, op: graph.CachedAttentionOp, keys: Size) -> ir.Value:
        assert op.cache_batch is not None
        row = minimum(_row(op.cache_batch), graph.type_of(op.k).shape[0] - 1)
        k, v = (_rows(x, row, keys) for x in (op.k, op.v))
        mask = None if op.mask is None else _added(op.mask)
        return graph.attention(op.q, k, v, mask, scale=op.attrs["scale"], causal=False)


def _added(mask: ir.Value) -> ir.Value:
    """A mask that is added to scores of f32."""
    if graph.type_of(mask).dtype != np.bool_:
        return graph.cast(mask, to=np.float32)
    shown, hidden = (graph.constant(value=np.array(x, np.float32)) for x in (0, -np.inf))
    return graph.where(mask, shown, hidden)


def _row(cache_batch: ir.Value) -> Dim:
    """The name of the number in `cache_batch`, an argument of the function of one element."""
    for use in cache_batch.uses:
        bound = graph.graph_op(use.owner)
        if isinstance(bound, graph.BindSizesOp):
            return Dim.symbol(bound.attrs["names"][0])
    assert isinstance(cache_batch.owner, ir.Block)
    with ir.InsertionPoint.at_block_begin(cache_batch.owner):
        graph.bind_sizes(cache_batch, names=[_ROW])
    return Dim.symbol(_ROW)


def _rows(cache: ir.Value, row: Size, keys: Size) -> ir.Value:
    """The first `keys` rows of a batch of a cache."""
    _, heads, _, features = graph.type_of(cache).shape
    return graph.slice_(
        cache, starts=[row, 0, 0, 0], sizes=[1, heads, keys, features], steps=[1] * 4
    )
