"""Convolutions, pools and regions of interest on channels-last operands, between transposes."""

from typing import Any

from ....dialects import graph
from ....mlir import ir
from ...analysis.permutations import Perm
from ...infra.query import has_one_use, producer
from ...infra.rewrite import Rewrite
from .permutation import to_channels_first, to_channels_last, transposed


class _ChannelsLast(Rewrite):
    """Base of the rewrites of ops whose ``layout`` attribute is channels first."""

    def pattern(self, op: Any) -> dict[str, Any] | None:
        return {} if op.attrs["layout"] == "channels_first" else None

    def rewrite(self, op: Any, **captures: Any) -> ir.Value:
        del captures
        rank = graph.type_of(op.x).rank
        x = _transposed_image(op.x, to_channels_last(rank))
        result = self.build(op, x, {**op.attrs, "layout": "channels_last"})
        return graph.transpose(result, perm=to_channels_first(rank))

    def build(self, op: Any, x: ir.Value, attrs: dict[str, Any]) -> ir.Value:
        raise NotImplementedError


def _transposed_image(x: ir.Value, perm: Perm) -> ir.Value:
    """`x` transposed, and padded after that if it is: kernels read an image without its padding."""
    pad = producer(x, graph.PadOp)
    if pad is None or not has_one_use(x):
        return transposed(x, perm)
    around = {side: [pad.attrs[side][axis] for axis in perm] for side in ("low", "high")}
    return graph.pad(transposed(pad.x, perm), pad.value, **around)


class ConvChannelsLast(_ChannelsLast):
    """``conv(x, w)  -->  transpose(conv(transpose(x), w'))``, w' [*kernel, C/groups, F]."""

    name = "conv-channels-last"
    root = graph.ConvOp

    def build(self, op: Any, x: ir.Value, attrs: dict[str, Any]) -> ir.Value:
        rank = graph.type_of(op.w).rank
        return graph.conv(x, transposed(op.w, (*range(2, rank), 1, 0)), **attrs)


class ConvTransposeChannelsLast(_ChannelsLast):
    """``conv_transpose(x, w)  -->  transpose(conv_transpose(transpose(x), w))``."""

    name = "conv-transpose-channels-last"
    root = graph.ConvTransposeOp

    def build(self, op: Any, x: ir.Value, attrs: dict[str, Any]) -> ir.Value:
        return graph.conv_transpose(x, op.w, **attrs)


class PoolChannelsLast(_ChannelsLast):
    """``pool(x)  -->  transpose(pool(transpose(x)))``."""

    name = "pool-channels-last"
    root = graph.op_classes_of(graph.Pool)

    def build(self, op: Any, x: ir.Value, attrs: dict[str, Any]) -> ir.Value:
        return graph.build(type(op), [x], attrs)


class RoiAlignChannelsLast(_ChannelsLast):
    """``roi_align(x, rois)  -->  transpose(roi_align(transpose(x), rois))``."""

    name = "roi-align-channels-last"
    root = graph.RoiAlignOp

    def build(self, op: Any, x: ir.Value, attrs: dict[str, Any]) -> ir.Value:
        return graph.roi_align(x, op.rois, op.batch, **attrs)


class MaxRoiPoolChannelsLast(_ChannelsLast):
    """``max_roi_pool(x, rois)  -->  transpose(max_roi_pool(transpose(x), rois))``."""

    name = "max-roi-pool-channels-last"
    root = graph.MaxRoiPoolOp

    def build(self, op: Any, x: ir.Value, attrs: dict[str, Any]) -> ir.Value:
        return graph.max_roi_pool(x, op.rois, **attrs)


CHANNELS_LAST = (
    ConvChannelsLast,
    ConvTransposeChannelsLast,
    PoolChannelsLast,
    RoiAlignChannelsLast,
    MaxRoiPoolChannelsLast,
)
