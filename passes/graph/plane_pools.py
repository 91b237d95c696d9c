"""The pass `graph-plane-pools`: pools of channels-first images."""

from dataclasses import dataclass
from typing import Any

from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import has_one_use, producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from ..kernels.plane_pool import reason_against_planes
from .convert_layout.permutation import to_channels_first, to_channels_last
from .convert_layout.sink import (
    ELEMENTWISE_OPS,
    moved_back,
    moves_back_freely,
    rebuild,
)

Pool = graph.MaxPoolOp | graph.AveragePoolOp | graph.SumPoolOp

_POOLS = (graph.MaxPoolOp, graph.AveragePoolOp, graph.SumPoolOp)


@register
@dataclass(frozen=True)
class GraphPlanePools(Pass):
    """Leave pools channels-first that alone need a channels-last image, and whose result is
    transposed back, behind elementwise ops or at once, and those of images of one channel.

    %2 = "graph.transpose"("graph.max_pool"("graph.transpose"(%x)))
    -->
    %2 = "graph.max_pool"(%x) {layout = "channels_first"}

    The transposes take more than half of the time. Exact for the largest elements; the elements of
    a window are added in another order.
    """

    name = "graph-plane-pools"
    anchor = FUNCTION
    only_rewrites = True

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(
            op, [TransposeBeforeElementwise, PoolBetweenTransposes, PoolOfOneChannel], state
        )


@dataclass(frozen=True)
class _Pooled:
    """A channels-last pool of `x` transposed, and maybe padded then, which nothing else uses."""

    pool: Pool
    pad: graph.PadOp | None
    x: ir.Value


def _pooled(value: ir.Value) -> _Pooled | None:
    pool = producer(value, _POOLS)
    if pool is None or pool.attrs["layout"] != "channels_last" or not has_one_use(value):
        return None
    pad = producer(pool.x, graph.PadOp)
    image = pool.x if pad is None else pad.x
    moved = producer(image, graph.TransposeOp)
    if moved is None or not has_one_use(image) or not has_one_use(pool.x):
        return None
    is_last = moved.attrs["perm"] == to_channels_last(graph.type_of(image).rank)
    return _Pooled(pool, pad, moved.x) if is_last else None


def _reason_against(pool: Pool) -> str | None:
    attrs, row = pool.attrs, graph.type_of(pool.result).shape[-2]
    return reason_against_planes(attrs["kernel"], attrs["strides"], attrs["dilations"], row)


def _is_back(op: graph.TransposeOp) -> bool:
    return op.attrs["perm"] == to_channels_first(graph.type_of(op.x).rank)


class PoolBetweenTransposes(Rewrite):
    """``transpose(pool(transpose(x)))  -->  pool(x)``, in the other layout."""

    name = "pool-between-transposes"
    root = graph.TransposeOp

    def pattern(self, op: graph.TransposeOp) -> dict[str, Any] | None:
        pooled = _pooled(op.x) if _is_back(op) else None
        return None if pooled is None else {"pooled": pooled}

    def check(self, op: graph.TransposeOp, pooled: _Pooled) -> str | None:
        del op
        return _reason_against(pooled.pool)

    def rewrite(self, op: graph.TransposeOp, pooled: _Pooled) -> ir.Value:
        del op
        return _channels_first(pooled.pool, pooled.pad, pooled.x)


def _channels_first(pool: Pool, pad: graph.PadOp | None, x: ir.Value) -> ir.Value:
    """The pool of the channels-first image `x`, padded as a channels-last one is by `pad`."""
    if pad is not None:
        perm = to_channels_first(graph.type_of(x).rank)
        around = {side: [pad.attrs[side][axis] for axis in perm] for side in ("low", "high")}
        x = graph.pad(x, pad.value, **around)
    return rebuild(pool, [x], layout="channels_first")


class PoolOfOneChannel(Rewrite):
    """``pool(x)  -->  reshape(pool(reshape(x)))`` for a channels-last image of one channel."""

    name = "pool-of-one-channel"
    root = _POOLS

    def pattern(self, op: Pool) -> dict[str, Any] | None:
        is_one = graph.type_of(op.x).shape[-1] == 1
        return {} if is_one and op.attrs["layout"] == "channels_last" else None

    def check(self, op: Pool) -> str | None:
        return _reason_against(op)

    def rewrite(self, op: Pool) -> ir.Value:
        pad = producer(op.x, graph.PadOp)
        if pad is not None and pad.attrs["low"][-1] == pad.attrs["high"][-1] == 0:
            image = pad.x
        else:
            pad, image = None, op.x
        batch, *extents, _ = graph.type_of(image).shape
        pooled = _channels_first(op, pad, graph.reshape(image, shape=(batch, 1, *extents)))
        return graph.reshape(pooled, shape=graph.type_of(op.result).shape)


class TransposeBeforeElementwise(Rewrite):
    """``transpose(f(pool(transpose(x)), b))  -->  f(transpose(pool(transpose(x))), b')``, where
    `b` is transposed without moving data."""

    name = "transpose-before-elementwise"
    root = graph.TransposeOp

    def pattern(self, op: graph.TransposeOp) -> dict[str, Any] | None:
        if not _is_back(op) or (pooled := _behind(op.x)) is None:
            return None
        return {"f": graph.graph_op(ir.OpResult(op.x).owner), "pooled": pooled}

    def check(self, op: graph.TransposeOp, f: Any, pooled: _Pooled) -> str | None:
        del op, f
        return _reason_against(pooled.pool)

    def rewrite(self, op: graph.TransposeOp, f: Any, pooled: _Pooled) -> ir.Value:
        del pooled
        perm = op.attrs["perm"]
        operands = [
            moved_back(value, to_channels_last(len(perm)))
            if _on_the_way(value) is None
            else graph.transpose(value, perm=perm)
            for value in f.operation.operands
        ]
        return rebuild(f, operands)


def _behind(value: ir.Value) -> _Pooled | None:
    """The pool behind the elementwise op that computes `value`, if all of its other operands move
    freely."""
    op = graph.graph_op(value.owner) if isinstance(value, ir.OpResult) else None
    if not isinstance(op, ELEMENTWISE_OPS) or not has_one_use(value):
        return None
    found = [_on_the_way(operand) for operand in op.operation.operands]
    perm = to_channels_last(graph.type_of(value).rank)
    others = [o for o, each in zip(op.operation.operands, found, strict=True) if each is None]
    if len(others) != len(found) - 1 or not all(moves_back_freely(o, perm) for o in others):
        return None
    return next(each for each in found if each is not None)


def _on_the_way(value: ir.Value) -> _Pooled | None:
    return _pooled(value) or _behind(value)
