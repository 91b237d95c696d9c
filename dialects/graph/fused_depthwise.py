"""Depthwise convolutions fused with the ops before and after them, computed by row tiles."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ...mlir import ir
from ..symbolic import Dim
from .attributes import Int, Str
from .base import GraphOp, TypeRuleError
from .direct_convolution import DirectConvOp, is_depthwise
from .fusion import GroupOp, group
from .packed_matmul import PackedMatmulOp
from .types import static_size, type_of

SPLITS = ("rows", "channels", "sliding")


class FusedDepthwiseOp(GroupOp, name="fused_depthwise"):
    """A depthwise convolution, the matmul or convolution before it, and the matmul after it, in one
    kernel.

    The region holds a `graph.packed_matmul` or a `graph.direct_conv`, a depthwise
    `graph.direct_conv` of its result, and a `graph.packed_matmul` of that, each followed by
    elementwise ops; the first or the last may be missing. The intermediate results stay in cache.

    With `split` ``rows``, the rows of each image's result are split into `row_blocks`, which are
    distributed among threads, and these into row tiles of `rows` rows; the convolution computes
    `inner` rows of a tile at a time. `rows` is a multiple of `inner`, and no block has fewer. With
    ``channels``, the panels of channels are distributed among threads; each is computed in one
    tile of all rows. Both weights hold the same panels, and nothing follows the convolution. The
    number of images may be dynamic.

    With ``sliding``, `row_blocks` threads or more share the rows of all images, and each computes
    its rows one after the other. Image rows that the next ones read are kept, and not computed
    twice. `rows` and `inner` are 1. All sizes but channels may be dynamic.
    """

    split: Str
    row_blocks: Int
    rows: Int
    inner: Int
    body: ir.Region

    def verify_op(self) -> None:
        super().verify_op()
        roots = [stage[0] for stage in self.stages]
        depthwise = roots[min(self.position, len(roots) - 1)]
        before, after = roots[: self.position], roots[self.position + 1 :]
        if (
            self.position >= len(roots)
            or not is_depthwise(depthwise)
            or type_of(depthwise.x).rank != 4
            or not 0 < len(before) + len(after) <= 2
            or not all(isinstance(op, PackedMatmulOp | DirectConvOp) for op in before)
            or not all(isinstance(op, PackedMatmulOp) for op in after)
        ):
            raise TypeRuleError("its region is no depthwise convolution of images beside matmuls")
        height = type_of(self.operation.results[0]).shape[1]
        if self.attrs["split"] not in SPLITS or not self.tiling.fit(height):
            raise TypeRuleError(f"{height} rows have no such row tiles: {self.tiling}")
        if self.tiling.split == "channels" and not can_split_channels(roots):
            raise TypeRuleError("its weights are not in the same panels of channels")

    @property
    def stages(self) -> list[list[GraphOp]]:
        """The contractions, each with the elementwise ops that follow it."""
        stages: list[list[GraphOp]] = []
        for op in self.ops:
            if isinstance(op, PackedMatmulOp | DirectConvOp) or not stages:
                stages.append([])
            stages[-1].append(op)
        return stages

    @property
    def roots(self) -> list[PackedMatmulOp | DirectConvOp]:
        """The contractions: matmuls and convolutions."""
        return [op for op in self.ops if isinstance(op, PackedMatmulOp | DirectConvOp)]

    @property
    def position(self) -> int:
        """The index of the stage that is the depthwise convolution."""
        return 0 if is_depthwise(self.stages[0][0]) else 1

    @property
    def depthwise(self) -> DirectConvOp:
        """The depthwise convolution."""
        root = self.roots[self.position]
        assert isinstance(root, DirectConvOp)
        return root

    @property
    def tiling(self) -> "RowTiling":
        """The tiling parameters."""
        return RowTiling(**self.attrs)


@dataclass(frozen=True)
class RowTiling:
    """The tiling of a result; see `FusedDepthwiseOp`."""

    row_blocks: int
    rows: int
    inner: int
    split: str = "rows"

    def fit(self, height: int | Dim) -> bool:
        """Return whether a result of `height` rows can be tiled so."""
        if min(self.row_blocks, self.rows, self.inner) < 1 or self.rows % self.inner:
            return False
        if self.split == "sliding":
            return (self.rows, self.inner) == (1, 1)
        if isinstance(height, Dim):
            return False
        if self.split == "channels" and (self.row_blocks, self.rows) != (1, height):
            return False
        return height // self.row_blocks >= self.rows

    def starts(self, height: int) -> list[int]:
        """The first row of each row tile of a result of `height` rows; the last tile of a block
        ends with the block."""
        edges = [row_block * height // self.row_blocks for row_block in range(self.row_blocks + 1)]
        return [
            min(start, high - self.rows)
            for low, high in itertools.pairwise(edges)
            for start in range(low, high, self.rows)
        ]

    def read(self, window: "RowWindow") -> int:
        """The maximum number of image rows that a row tile reads."""
        reach = (self.rows - 1) * window.stride + window.reach
        tops = [start * window.stride - window.low for start in self.starts(window.result)]
        return max(1, *(min(top + reach, window.image) - max(top, 0) for top in tops))


@dataclass(frozen=True)
class RowWindow:
    """A convolution along the rows of an image."""

    image: int
    """Rows of the image."""
    result: int
    """Rows of the result."""
    stride: int
    low: int
    """Rows of padding at the top."""
    reach: int
    """Image rows that one row of the result spans."""

    @staticmethod
    def of(op: DirectConvOp) -> "RowWindow":
        """The window of the convolution `op` on images."""
        attrs, kernel = op.attrs, type_of(op.w).static_shape[1]
        return RowWindow(
            static_size(type_of(op.x).shape[1]), static_size(type_of(op.result).shape[1]),
            attrs["strides"][0], attrs["low"][0], (kernel - 1) * attrs["dilations"][0] + 1,
        )  # fmt: skip


def fused_depthwise(ops: Sequence[GraphOp], how: RowTiling) -> ir.Value:
    """Build a `graph.fused_depthwise` of copies of `ops`, as `group` does."""
    kinds = FusedDepthwiseOp.attribute_kinds
    attributes = {name: kinds[name].write(value) for name, value in vars(how).items()}
    return group(FusedDepthwiseOp, ops, attributes)


def can_split_channels(roots: Sequence[GraphOp]) -> bool:
    """Return whether `roots`, a matmul and a depthwise convolution of its result, can be computed
    panel by panel."""
    if len(roots) != 2 or not isinstance(roots[0], PackedMatmulOp) or not is_depthwise(roots[1]):
        return False
    panels, _, width = type_of(roots[0].w).static_shape
    others, *_, size = type_of(roots[1].w).static_shape
    return (panels, width) == (others, size) and roots[0].attrs["columns"] == panels * width
