"""The sizes of a Winograd convolution, and the shares of its workgroups."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...cpu_model import CpuModel
from ...dialects.graph.winograd import KERNEL
from ...dialects.symbolic import Dim, ceildiv, minimum
from ...mlir import arith, ir
from .emitter import VectorSlice, long_vectors
from .image_extents import Extents, ImageSizes
from .sizes import Index, index, product

SCRATCH_SHARE = 3 / 8
"""Share of the L2 for the scratch memory of a workgroup."""
LONG_SCRATCH_SHARE = 3 / 4
"""The same if the weights exceed the L2: the larger the blocks, the less often weights are read."""
MIN_WORKGROUPS = 4
"""Workgroups that a convolution should split into, for threads to share."""
MAX_WORKGROUPS = 64
"""Workgroups at most, each with scratch memory of its own; they compute several blocks of a large
image."""


@dataclass(frozen=True)
class WinogradShape:
    """The sizes of a convolution and of its tiles."""

    image: Extents
    result: Extents
    low: tuple[int, int]
    tile: int
    k: int
    """Channels in a group, over which the features of a panel are summed (K)."""
    nr: int
    """Features in a panel."""
    lanes: int
    mr: int
    """Tiles that are multiplied at a time, in registers (MR)."""
    cpu: CpuModel

    @property
    def is_static(self) -> bool:
        """True if all sizes are known at compile time."""
        return None not in (*self.image, *self.result)

    @property
    def flops(self) -> int | None:
        """FLOPs of the products, without the transforms; None if they depend on dynamic sizes."""
        return 2 * self.products * self.tiles * self.k * self.result[3] if self.is_static else None

    @property
    def size(self) -> int:
        """Pixels of the image in a tile, along an axis."""
        return self.tile + KERNEL - 1

    @property
    def products(self) -> int:
        return self.size**2

    @property
    def channels(self) -> int:
        return self.image[3]

    @property
    def parts(self) -> list[VectorSlice]:
        """Vectors in a panel."""
        return long_vectors(self.nr, self.lanes)

    @property
    def panels(self) -> int:
        return self.result[3] // self.nr

    @property
    def tiles(self) -> int:
        """Tiles of the whole batch, if its sizes are known."""
        images, height, width, _ = self.result
        assert images is not None
        assert height is not None
        assert width is not None
        return images * -(-height // self.tile) * -(-width // self.tile)

    @property
    def most_tiles(self) -> int:
        """Tiles that the scratch memory of a workgroup can hold, a multiple of `mr`."""
        weights = self.products * self.k * self.result[3] * 4
        share = SCRATCH_SHARE if weights <= self.cpu.l2_bytes else LONG_SCRATCH_SHARE
        held = int(self.cpu.l2_bytes * share) // (self.products * (self.channels + self.nr) * 4)
        return max(self.mr, held // self.mr * self.mr)

    @property
    def tiles_per_workgroup(self) -> int:
        """Tiles in a workgroup, in even blocks if their number is known; otherwise at most."""
        return _even_share(self.tiles, self.most_tiles) if self.is_static else self.most_tiles

    @property
    def blocks(self) -> int:
        return -(-self.tiles // self.tiles_per_workgroup)

    @property
    def groups(self) -> int:
        """Groups of panels: more than one if there are few blocks."""
        return self._groups_for(self.blocks)

    def _groups_for(self, blocks: int) -> int:
        wanted = -(-MIN_WORKGROUPS // blocks)
        return next(n for n in range(min(wanted, self.panels), 0, -1) if self.panels % n == 0)

    @property
    def workgroups(self) -> int:
        return min(self.blocks * self.groups, MAX_WORKGROUPS)

    def count(self, sizes: ImageSizes) -> "WinogradCounts":
        """The tiles, blocks and groups of an image of `sizes`."""
        grid = [self._along_axis(sizes.result_height), self._along_axis(sizes.result_width)]
        if self.is_static:
            return WinogradCounts(
                grid, self.tiles, self.tiles_per_workgroup, self.blocks, self.groups
            )
        tiles = index(product(sizes.images, product(*grid)))
        # Without images there are no workgroups, but the divisions are computed.
        some = arith.maxui(tiles, index(1))
        least = arith.ceildivui(some, index(self.most_tiles))
        share = arith.ceildivui(some, least)
        blocks = arith.ceildivui(tiles, share)
        groups = index(1)
        for few in range(MIN_WORKGROUPS - 1, 0, -1):
            is_few = arith.cmpi(arith.CmpIPredicate.ule, blocks, index(few))
            groups = arith.select(is_few, index(self._groups_for(few)), groups)
        return WinogradCounts(grid, tiles, share, blocks, groups)

    def _along_axis(self, size: Index) -> Index:
        """Tiles along an axis of the result."""
        if isinstance(size, int):
            return -(-size // self.tile)
        return arith.ceildivui(size, index(self.tile))

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups, for the dynamic sizes of the image, then of the result."""
        counts = self.count(ImageSizes.of(self.image, self.result, dynamic))
        return arith.minui(index(product(counts.blocks, counts.groups)), index(MAX_WORKGROUPS))

    def most_workgroups(self, tiles: int | Dim) -> int | Dim:
        """Upper bound of the workgroups for a number of `tiles` that is not known."""
        most = max(blocks * self._groups_for(blocks) for blocks in range(1, MIN_WORKGROUPS + 1))
        return minimum(ceildiv(tiles, self.most_tiles) + most - 1, MAX_WORKGROUPS)

    @property
    def entering(self) -> int:
        """Elements of one product's matrix of the image, [tiles, channels], padded by a vector:
        matrices a power of two apart would compete for too few cache sets."""
        return self.tiles_per_workgroup * self.channels + self.lanes

    @property
    def leaving(self) -> int:
        """Elements of one product's result, [tiles, width], padded by a vector."""
        return self.tiles_per_workgroup * self.nr + self.lanes

    @property
    def scratch(self) -> int:
        """Scratch elements of a workgroup, with a copy of a tile at the border."""
        return self.products * (self.entering + self.leaving + self.channels)


@dataclass(frozen=True)
class WinogradCounts:
    """How the work on an image is shared."""

    grid: Sequence[Index]
    """Tiles along both axes of the result."""
    tiles: Index
    """Tiles of the whole batch."""
    share: Index
    """Tiles in a workgroup."""
    blocks: Index
    """Blocks of so many tiles; the last one may have fewer."""
    groups: Index
    """Groups of panels, each of which a workgroup computes for a block."""


def _even_share(count: int, most: int) -> int:
    """The size of as few and as even parts of `count` as possible, at most `most`."""
    return -(-count // -(-count // most))
