"""Attention whose keys and values are repeated for groups of query heads."""

from dataclasses import dataclass

from ....dialects import graph
from ....mlir import ir
from ...infra.query import producer
from ...infra.rewrite import Rewrite


@dataclass(frozen=True)
class Repeated:
    """``reshape(expand(reshape(x)))``: each of `groups` heads of `x` repeated `count` times."""

    x: ir.Value
    groups: int
    count: int


class GroupedHeads(Rewrite):
    """``attention(q, repeat(k), repeat(v))  -->  reshape(attention(reshape(q), k, v))``.

    Queries [..., G * R, S, D] and keys [..., G, T, D], each repeated R times, become queries
    [..., G, R, S, D] and keys [..., G, 1, T, D]. The repeated keys are not materialized. Exact.
    """

    name = "recognize-grouped-heads"
    root = graph.AttentionOp

    def pattern(self, op: graph.AttentionOp):
        k, v = _repeated(op.k), _repeated(op.v)
        return None if k is None or v is None else {"k": k, "v": v}

    def check(self, op: graph.AttentionOp, *, k, v):
        if (k.groups, k.count) != (v.groups, v.count):
            return "keys and values are repeated differently"
        return None

    def rewrite(self, op: graph.AttentionOp, *, k, v):
        groups, count = k.groups, k.count
        q = _with_groups(op.q, groups, count)
        keys, values = (_with_groups(r.x, groups, 1) for r in (k, v))
        mask = op.operand_groups["mask"]
        if mask is not None and graph.type_of(mask).rank > 2:
            heads = graph.type_of(mask).shape[-3]
            mask = _with_groups(mask, *((1, 1) if heads == 1 else (groups, count)))
        result = graph.attention(q, keys, values, mask, **op.attrs)
        return graph.reshape(result, shape=graph.type_of(op.result).shape)


REWRITES = (GroupedHeads,)


def _repeated(value: ir.Value) -> Repeated | None:
    merged = producer(value, graph.ReshapeOp)
    expand = None if merged is None else producer(merged.x, graph.ExpandOp)
    split = None if expand is None else producer(expand.x, graph.ReshapeOp)
    if expand is None or split is None:
        return None
    *leading, heads, keys, size = graph.type_of(value).shape
    wide, narrow = graph.type_of(expand.result).shape, graph.type_of(split.result).shape
    if len(wide) != len(leading) + 4 or not all(isinstance(n, int) for n in (heads, *wide[-4:-2])):
        return None
    groups, count = wide[-4:-2]
    fits = wide == (*leading, groups, count, keys, size) and groups * count == heads
    source = (*leading, groups, keys, size)
    is_split = narrow == (*leading, groups, 1, keys, size)
    if not fits or not is_split or graph.type_of(split.x).shape != source or count == 1:
        return None
    return Repeated(split.x, groups, count)  # type: ignore[arg-type]


def _with_groups(x: ir.Value, groups: int, count: int) -> ir.Value:
    """Reshape ``[..., groups * count, S, D]`` to ``[..., groups, count, S, D]``."""
    *leading, _, rows, size = graph.type_of(x).shape
    return graph.reshape(x, shape=[*leading, groups, count, rows, size])
