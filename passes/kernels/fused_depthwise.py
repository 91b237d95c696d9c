"""A depthwise convolution fused with the step before it and the matmul after it, by row tiles.

A workgroup computes a block of result rows of one image, in row tiles: the first matmul or
convolution computes the rows that a tile reads; then some rows at a time are convolved and
multiplied. The intermediates are in scratch memory of the workgroup, which stays in the L2. The
first or the last step may be missing.

Alternatively a workgroup computes a panel of channels of one image: all rows are multiplied, then
convolved.

All tiles compute the same number of rows, so that borders need no special case: the last tile of a
block overlaps the one before it.
"""

from dataclasses import dataclass

from ...dialects import graph
from ...mlir import arith, ir
from .direct_conv_shape import DirectConvShape
from .direct_convolution import DirectConvEmitter
from .emitter import VectorEmitter
from .epilogue import Epilogue
from .image_extents import Extents, known_sizes
from .packed_matmul import MatmulEmitter, MatmulShape
from .sizes import index


@dataclass(frozen=True)
class BlockMatmulShape(MatmulShape):
    """A matmul of one block of rows by `nc_panels` panels."""

    nc_panels: int = 1

    @property
    def mc(self) -> int:
        return self.rows or 0


@dataclass(frozen=True)
class DepthwiseSteps:
    """The sizes of the steps of a kernel."""

    depthwise: DirectConvShape
    first: BlockMatmulShape | DirectConvShape | None
    """The step that computes the image rows that are read: a matmul or a convolution."""
    last: BlockMatmulShape | None
    """The matmul of some rows of the depthwise result at a time."""


@dataclass(frozen=True)
class FusedDepthwiseShape(DepthwiseSteps):
    """The sizes of a kernel."""

    tiling: graph.RowTiling
    read: int
    """Rows of the image that a row tile reads, at most."""

    @property
    def splits_channels(self) -> bool:
        """True if workgroups are panels of channels."""
        return self.tiling.split == "channels"

    @property
    def images(self) -> int | None:
        """Images of the batch; None if their number is dynamic."""
        return self.depthwise.image[0]

    @property
    def shares(self) -> int:
        """Workgroups for an image."""
        return self.depthwise.panels if self.splits_channels else self.tiling.row_blocks

    @property
    def workgroups(self) -> int:
        """Workgroups for a batch of known size."""
        assert self.images is not None
        return self.images * self.shares

    def count_workgroups(self, images: ir.Value) -> ir.Value:
        """Workgroups for a batch of `images`."""
        return arith.muli(images, index(self.shares))

    @property
    def flops(self) -> int | None:
        """FLOPs of the ops; rows that tiles share count once. None if there is no telling how many
        images."""
        if self.images is None:
            return None
        return self.images * self._flops_per_image

    @property
    def _flops_per_image(self) -> int:
        flops = self.depthwise.flops_per_image
        if isinstance(self.first, DirectConvShape):
            flops += self.first.flops_per_image
        elif self.first is not None:
            flops += _flops(self.first, self.depthwise.image)
        return flops + (0 if self.last is None else _flops(self.last, self.depthwise.result))

    @property
    def scratch(self) -> tuple[int, ...]:
        """Scratch elements of a row block, for each intermediate between two steps."""
        _, width, channels = known_sizes(self.depthwise.image)
        _, positions, features = known_sizes(self.depthwise.result)
        return (
            *([self.read * width * channels] if self.first is not None else []),
            *([self.tiling.inner * positions * features] if self.last is not None else []),
        )


def _flops(matmul: BlockMatmulShape, image: Extents) -> int:
    """FLOPs of the matmul of all pixels of an image."""
    height, width, _ = known_sizes(image)
    return 2 * height * width * matmul.k * matmul.columns


@dataclass(frozen=True)
class StageOperands:
    """The weights of a step, and its epilogue."""

    weights: ir.Value
    epilogue: Epilogue


class DepthwiseStepsEmitter(VectorEmitter):
    """Base of emitters of kernels of these steps, with an emitter for each."""

    behind_first: type[DirectConvEmitter] = DirectConvEmitter
    """The emitter of a convolution whose image the first step computes."""

    def __init__(
        self,
        shape: DepthwiseSteps,
        image: ir.Value,
        steps: list[StageOperands],
        memory: list[ir.Value],
    ):
        """`memory` holds the result buffer, then the scratch buffers."""
        super().__init__(shape.depthwise.lanes)
        self.first = self.last = None
        convolution = DirectConvEmitter
        result, *scratch = memory
        if shape.first is not None:
            source, image, convolution = image, scratch.pop(0), self.behind_first
            self.first = _stage_emitter(shape.first, source, steps.pop(0), image)
        target = scratch.pop(0) if shape.last is not None else result
        step = steps.pop(0)
        self.depthwise = convolution(shape.depthwise, image, step.weights, target, step.epilogue)
        if shape.last is not None:
            step = steps.pop(0)
            self.last = MatmulEmitter(shape.last, target, step.weights, result, step.epilogue)


class FusedDepthwiseEmitter(DepthwiseStepsEmitter):
    """Emits the kernel, from the buffer of the image to that of the result."""

    def __init__(
        self,
        shape: FusedDepthwiseShape,
        image: ir.Value,
        steps: list[StageOperands],
        memory: list[ir.Value],
    ):
        super().__init__(shape, image, steps, memory)
        self.shape = shape

    def workgroup(self, workgroup_id: ir.Value, *images: ir.Value) -> None:
        """Emit workgroup `workgroup_id`, for a batch of `images` if that is dynamic."""
        for step in (self.first, self.depthwise):
            if isinstance(step, DirectConvEmitter):
                step.bind(*images, *images)
        if self.shape.splits_channels:
            panels = self.index(self.shape.depthwise.panels)
            self._panel(arith.divui(workgroup_id, panels), arith.remui(workgroup_id, panels))
        else:
            self._row_block(workgroup_id)

    def _panel(self, batch: ir.Value, panel: ir.Value) -> None:
        """Emit a panel of the channels of an image. Scratch holds all channels side by side, but
        not the rows at the end that the convolution does not read."""
        height, width, _ = known_sizes(self.shape.depthwise.image)
        image = self.times(batch, self.shape.read)
        assert isinstance(self.first, MatmulEmitter)
        row = self.times(self.times(batch, height), width)
        self.first.rows(row, self.times(image, width), panel)

        def line(line: ir.Value) -> None:
            result = self.add(self.times(batch, self.shape.tiling.rows), line)
            self.depthwise.row_of(line, image, result, panel)

        self.repeat(0, self.shape.tiling.rows, line)

    def _row_block(self, workgroup_id: ir.Value) -> None:
        """Emit row block `workgroup_id`, counted over all images, tile by tile."""
        shape, row_blocks = self.shape, self.index(self.shape.tiling.row_blocks)
        height, *_ = known_sizes(shape.depthwise.result)
        batch, row_block = (
            arith.divui(workgroup_id, row_blocks),
            arith.remui(workgroup_id, row_blocks),
        )
        low = arith.divui(self.times(row_block, height), row_blocks)
        high = arith.divui(self.times(self.add(row_block, 1), height), row_blocks)
        latest = self.add(high, -shape.tiling.rows)

        def row_tile(start: ir.Value, registers: list[ir.Value]) -> list[ir.Value]:
            self._row_tile(workgroup_id, batch, arith.minui(start, latest))
            return registers

        self.loop((low, high), [], row_tile, step=shape.tiling.rows)

    def _row_tile(self, workgroup_id: ir.Value, batch: ir.Value, start: ir.Value) -> None:
        """Emit the row tile that begins at result row `start` of an image."""
        height, *_ = known_sizes(self.shape.depthwise.image)
        origin = self.times(batch, height)
        if self.first is not None:
            origin = self._compute(workgroup_id, batch, start)

        tiling = self.shape.tiling

        def rows(index: ir.Value) -> None:
            self._rows(
                workgroup_id, batch, origin, self.add(start, self.times(index, tiling.inner))
            )

        self.repeat(0, tiling.rows // tiling.inner, rows)

    def _compute(self, workgroup_id: ir.Value, batch: ir.Value, start: ir.Value) -> ir.Value:
        """Emit the first step. Returns the row of scratch at which row 0 of the image would be."""
        shape, depthwise = self.shape, self.shape.depthwise
        top = self.add(self.times(start, depthwise.strides[0]), -depthwise.low[0])
        height, width, _ = known_sizes(depthwise.image)
        latest = self.index(height - shape.read)
        top = arith.minsi(arith.maxsi(top, self.index(0)), latest)
        scratch = self.times(workgroup_id, shape.read)
        if isinstance(self.first, MatmulEmitter):
            row = self.add(self.times(batch, height), top)
            self.first.rows(self.times(row, width), self.times(scratch, width), self.index(0))
        elif self.first is not None:
            first = self.first
            origin = self.times(batch, first.image_rows)
            first.rows_of(top, shape.read, origin, scratch)
        return arith.subi(scratch, top)

    def _rows(
        self, workgroup_id: ir.Value, batch: ir.Value, origin: ir.Value, position: ir.Value
    ) -> None:
        """Convolve and multiply `inner` result rows of an image, from row `position` on."""
        shape = self.shape
        height, width, _ = known_sizes(shape.depthwise.result)
        row = self.add(self.times(batch, height), position)
        target = row if self.last is None else self.times(workgroup_id, shape.tiling.inner)

        self.depthwise.rows_of(position, shape.tiling.inner, origin, target)
        if self.last is not None:
            self.last.rows(self.times(target, width), self.times(row, width), self.index(0))


def _stage_emitter(
    shape: BlockMatmulShape | DirectConvShape,
    x: ir.Value,
    step: StageOperands,
    result: ir.Value,
) -> MatmulEmitter | DirectConvEmitter:
    """The emitter of the first step, which computes rows of an image."""
    if isinstance(shape, BlockMatmulShape):
        return MatmulEmitter(shape, x, step.weights, result, step.epilogue)
    return DirectConvEmitter(shape, x, step.weights, result, step.epilogue)
