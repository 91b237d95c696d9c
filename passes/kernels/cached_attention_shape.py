"""The sizes of an attention to a cache, and the shares of its workgroups."""

from dataclasses import dataclass
from functools import cached_property

from ...cpu_model import CpuModel
from ...dialects.symbolic import Dim, minimum
from ...mlir import arith, ir
from .vector_registers import RegisterTile, register_tile

Size = int | Dim
MIN_WORKGROUPS = 8
"""Workgroups for threads to share: with fewer heads of keys, blocks of queries that share keys are
apart."""
MAX_HEADS = 4
"""Heads of one query each that are computed together: their parts and sums are in registers."""
KEY_BLOCK = 192
"""Keys whose scores a block of queries keeps at a time, at most: these stay in the caches."""


@dataclass(frozen=True)
class CachedAttentionShape:
    """The sizes of an attention of ``[batch, heads, queries, head_size]`` to ``[batch, shared,
    keys, head_size]`` and ``[batch, shared, keys, width]``."""

    batch: Size
    heads: int
    shared: int
    queries: Size
    keys: Size
    head_size: int
    width: int
    scale: float
    softcap: float
    left: int
    right: int
    one_past: bool
    """True if one past length serves all batches."""
    one_last: bool
    """True if one last position serves all batches."""
    mask: tuple[Size, ...] | None
    """The sizes of a mask of f32, in the order of the scores."""
    has_sink: bool
    cache_batches: Size | None
    """Batches of the cache, of which those of the queries are given; None if they are all."""
    lanes: int
    cpu: CpuModel
    threads: int
    """Threads that share the workgroups."""
    is_half: bool
    """True if the elements of the cache have 16 bits."""

    @property
    def flops(self) -> int | None:
        """FLOPs; None, as the number of keys in use is known at run time only."""
        return None

    @cached_property
    def sizes(self) -> list[Dim]:
        """The dynamic sizes and strides, which the kernel receives as scalars."""
        own = (self.batch, self.queries, self.keys, self.cache_batches)
        scratch = (self.all_blocks_scratch, self.line if self.lines_scratch else 0)
        given = (*own, *scratch, *(self.mask or ())[3:], *self.mask_strides)
        return list(dict.fromkeys(size for size in given if isinstance(size, Dim)))

    @property
    def mask_strides(self) -> tuple[Size, ...]:
        """The strides of the mask's batches, heads and queries, 0 where it repeats, which run time
        may decide."""
        if self.mask is None:
            return ()
        strides: list[Size] = []
        one = self.mask[3]
        scores = (self.batch, self.heads, self.queries)
        for held, size in zip(reversed(self.mask[:3]), reversed(scores), strict=True):
            strides.insert(0, one * (1 if held == size != 1 else minimum(held - 1, 1)))
            one = one * held
        return tuple(strides)

    @cached_property
    def parts(self) -> int:
        """Workgroups of a head of keys. Few queries are bound by reading keys, which is done once
        for heads in one workgroup."""
        group = self.heads // self.shared
        known = self.shared * (self.batch if isinstance(self.batch, int) else 1)
        wanted = MIN_WORKGROUPS if self.may_fill_vectors else self.threads
        divisors = (n for n in range(1, group + 1) if group % n == 0)
        return next((n for n in divisors if known * n >= wanted), group)

    @property
    def workgroups(self) -> int:
        """Workgroups, if the number of batches is known."""
        assert isinstance(self.batch, int)
        return self.batch * self.shared * self.parts

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """The same if some of `sizes` are dynamic."""
        index = ir.IndexType.get()
        if isinstance(self.batch, int):
            return arith.constant(index, self.workgroups)
        batch = dict(zip(self.sizes, dynamic, strict=True))[self.batch]
        return arith.muli(batch, arith.constant(index, self.shared * self.parts))

    @property
    def group(self) -> int:
        """Heads of queries of a workgroup."""
        return self.heads // self.shared // self.parts

    @property
    def may_fill_vectors(self) -> bool:
        """True if there may be as many queries as a vector has lanes."""
        return isinstance(self.queries, Dim) or self.queries >= self.lanes

    @property
    def block(self) -> int:
        """Vectors of queries in a block, if these fill vectors."""
        if isinstance(self.queries, Dim):
            return self.tile.vectors
        vectors = self.group * -(-self.queries // self.lanes)
        return -(-vectors // -(-vectors // self.tile.vectors))

    def rows_beside(self, vectors: int) -> int:
        """Rows of a register tile of so many vectors."""
        return (self.cpu.registers - 1 - vectors) // vectors

    @property
    def tile(self) -> RegisterTile:
        """The register tile of the products of many queries."""
        return register_tile(self.cpu)

    @property
    def key_block(self) -> int:
        """Keys that a block of queries reads at a time: whole register tiles."""
        return KEY_BLOCK // self.tile.rows * self.tile.rows

    @property
    def scratch(self) -> Size:
        """Scratch elements: those of workgroups that compute blocks, then a line for each head."""
        return self.all_blocks_scratch + self.lines_scratch

    @property
    def all_blocks_scratch(self) -> Size:
        """Scratch elements of all workgroups that compute blocks."""
        if not self.may_fill_vectors:
            return 0
        return self.batch * self.shared * self.parts * self.block_scratch

    @property
    def lines_scratch(self) -> Size:
        """Scratch elements for a query of each head, if they may not fill vectors."""
        if isinstance(self.queries, int) and self.queries >= self.lanes:
            return 0
        return self.batch * self.heads * self.line

    @property
    def line(self) -> Size:
        """The scores of a query, filled up to whole vectors."""
        return self.keys + self.lanes

    @property
    def block_scratch(self) -> int:
        """The queries of a block, their scores, factors and results, and keys and values in f32
        if they have 16 bits."""
        features = self.head_size + self.width
        widened = self.key_block * features if self.is_half else 0
        return self.block * self.lanes * (features + self.key_block + 1) + widened
