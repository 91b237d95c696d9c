"""Selection of the fused attention kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import graph
from ...dialects.symbolic import Dim, at_least
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import has_one_use, producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from ..kernels.vector_registers import register_tile
from .rows_in_use import AttendToRowsInUse

MAX_KEYS = 4096
"""Maximum number of keys: with more, the weights of a block of queries exceed the caches."""


@register
@dataclass(frozen=True)
class GraphFusedAttention(Pass):
    """Compute attention block by block, a vector holding one number for each of its queries.

    %1 = "graph.attention"(%q, %k, %v) : 12x128x64
    -->
    %1 = "graph.fused_attention"(%q, %k, %v) {mr = 6, vectors = 4, lanes = 16}

    For f32, with as many heads of keys as of queries. Exact up to the order of sums. Many queries
    of one sequence attend to the rows in use of its cache likewise, where their number is a size.

    Run time may decide along which leading axes the mask repeats. It is expanded along queries and
    keys if that is decided there, too.

    What only moves its operands, as the transposes that bring heads before rows, vanishes: they are
    read where they lie, and the result is stored in the order in which it is wanted.

    %1 = "graph.transpose"(%x) {perm = [1, 0, 2]} : 128x12x64 -> 12x128x64
    %2 = "graph.fused_attention"(%1, ...) {q_view = [0, 8192, 64, 1]}
    -->
    %2 = "graph.fused_attention"(%x, ...) {q_view = [0, 64, 768, 1]}
    """

    name = "graph-fused-attention"
    anchor = FUNCTION
    only_rewrites = True
    optional = True
    skippable = ("fused-attention",)
    cpu: CpuModel = GENERIC_CPU
    """The CPU to compile for; without vectors the pass does nothing."""
    skip: tuple[str, ...] = ()
    """Shapes of ops to leave alone, as `op_shapes` writes them."""

    def run(self, op: Any, state: PassState) -> None:
        if self.cpu.has_vectors:
            apply_rewrites(op, [AttendToRowsInUse(self.cpu.lanes)], state)
            rewrites = [FuseAttention(self.cpu), ReadInPlace, StoreInOrder]
            apply_rewrites(op, rewrites, state, skip=self.skip)


_SHORT_VECTOR = 8
"""The length of vectors for values of fewer features than fill one of 16. With vectors of 4, which
halve the speed of exponentials again, the backend's code is as fast."""


class FuseAttention(Rewrite):
    """``attention(q, k, v, mask)  -->  fused_attention(q, k, v, mask)``."""

    name = "fused-attention"
    root = graph.AttentionOp

    def __init__(self, cpu: CpuModel):
        self.lanes = cpu.lanes
        self.tile = register_tile(cpu)

    def pattern(self, op: graph.AttentionOp) -> dict[str, Any] | None:
        return {}

    def check(self, op: graph.AttentionOp) -> str | None:
        q, k, v = map(graph.type_of, (op.q, op.k, op.v))
        mask = None if op.mask is None else graph.type_of(op.mask)
        given = [q, k, v] if mask is None else [q, k, v, mask]
        if any(x.dtype != np.float32 for x in given):
            return "only f32 is computed this way"
        if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
            return "heads share keys"
        queries, head_size = q.shape[-2:]
        keys, width = v.shape[-2:]
        if isinstance(head_size, Dim) or isinstance(width, Dim):
            return "the number of features is not known at compile time"
        if k.shape[-2] != keys:
            return "keys and values are named differently"
        if width < self._lanes_for(width):
            return "the features of a value do not fill a vector"
        if at_least(self._lanes_for(width) - 1, queries) or at_least(self.tile.rows - 1, keys):
            return "too few queries or keys for tiles"
        if isinstance(keys, int) and keys > MAX_KEYS:
            return "too many keys for the caches"
        if 0 in q.shape:
            return "there are no heads or features"
        if mask is not None and (mask.rank < 2 or mask.shape[-1] == 1):
            return "its mask does not tell keys apart"
        return None

    def _lanes_for(self, width: int) -> int:
        """The length of vectors for values of `width` features."""
        return self.lanes if width >= self.lanes else min(self.lanes, _SHORT_VECTOR)

    def rewrite(self, op: graph.AttentionOp) -> ir.Value:
        *lead, queries, head_size = graph.type_of(op.q).shape
        keys, width = graph.type_of(op.v).shape[-2:]
        views = (graph.View.whole(graph.type_of(x).shape) for x in (op.q, op.k, op.v))
        q, k, v = (view.attribute for view in views)
        mask = None if op.mask is None else _per_row(op.mask, (queries, keys))
        return graph.fused_attention(
            op.q, op.k, op.v, mask, scale=op.attrs["scale"], causal=op.attrs["causal"],
            lead=lead, queries=queries, keys=keys,
            head_size=graph.static_size(head_size), width=graph.static_size(width),
            q_view=q, k_view=k, v_view=v, order=range(len(lead) + 2),
            mr=self.tile.rows, vectors=self.tile.vectors,
            lanes=self._lanes_for(graph.static_size(width)),
        )  # fmt: skip


def _per_row(mask: ir.Value, scores: graph.Shape) -> ir.Value:
    """`mask` with last axes that are 1 or those of `scores`, which have these names at run time."""
    given = graph.type_of(mask).shape
    pairs = zip(given[-2:], scores, strict=True)
    shape = (*given[:-2], *(size if size == 1 else wanted for size, wanted in pairs))
    if shape == given:
        return mask
    mask = graph.expand(mask, shape=graph.broadcast_shapes(given, shape))
    return graph.reshape(mask, shape=shape)


class ReadInPlace(Rewrite):
    """``fused_attention(transpose(x), k, v)  -->  fused_attention(x, k, v)``, which reads the
    queries in place from ``x``; likewise for keys and values, slices and reshapes. Exact."""

    name = "attention-read-in-place"
    root = graph.FusedAttentionOp

    def pattern(self, op: graph.FusedAttentionOp) -> dict[str, Any] | None:
        given = zip("qkv", (op.q, op.k, op.v), graph.attention_views_of(op), strict=True)
        found = {name: _source(x, view, name != "k") for name, x, view in given}
        found = {name: source for name, source in found.items() if source is not None}
        return {"found": found} if found else None

    def rewrite(
        self, op: graph.FusedAttentionOp, found: dict[str, tuple[ir.Value, graph.View]]
    ) -> ir.Value:
        operands: dict[str, ir.Value] = {"q": op.q, "k": op.k, "v": op.v}
        attrs = op.attrs
        for name, (source, view) in found.items():
            operands[name], attrs[f"{name}_view"] = source, view.attribute
        q, k, v = operands.values()
        return graph.fused_attention(q, k, v, op.mask, **attrs)


def _source(
    x: ir.Value, view: graph.View, features_together: bool
) -> tuple[ir.Value, graph.View] | None:
    """The farthest tensor of which `view` is a view, and that view; None if there is none but `x`,
    or if `view` is not the whole of `x`. Its shape may be another one than that of `x`, which a
    reshape read in place before may have."""
    if not view.is_whole:
        return None
    movements, found = [], None
    while graph.is_movement(movement := producer(x, graph.GraphOp)):
        movements.insert(0, movement)
        x = movement.x
        moved = graph.View.through(graph.type_of(x).shape, movements)
        composed = None if moved is None else moved.reshaped(view.shape)
        if composed is not None and (composed.strides[-1] in (0, 1) or not features_together):
            found = x, composed
    return found


class StoreInOrder(Rewrite):
    """``transpose(fused_attention(q, k, v))  -->  fused_attention(q, k, v)``, which stores its
    result in transposed order. Exact."""

    name = "attention-store-in-order"
    root = graph.TransposeOp

    def pattern(self, op: graph.TransposeOp) -> dict[str, Any] | None:
        attention = producer(op.x, graph.FusedAttentionOp)
        if attention is None or op.attrs["perm"][-1] != len(op.attrs["perm"]) - 1:
            return None
        return {"attention": attention}

    def check(self, op: graph.TransposeOp, attention: graph.FusedAttentionOp) -> str | None:
        return None if has_one_use(op.x) else "its result is read in another order, too"

    def rewrite(self, op: graph.TransposeOp, attention: graph.FusedAttentionOp) -> ir.Value:
        order = [attention.attrs["order"][axis] for axis in op.attrs["perm"]]
        attrs = {**attention.attrs, "order": order}
        return graph.fused_attention(attention.q, attention.k, attention.v, attention.mask, **attrs)
