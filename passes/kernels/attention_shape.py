"""The sizes, views and tiles of a fused attention, and the shares of its workgroups."""

from dataclasses import dataclass
from functools import cached_property

from ...dialects.graph import Shape, View, static_size
from ...dialects.symbolic import Dim, minimum
from ...mlir import arith, ir
from .sizes import Index, index, product

Size = int | Dim

MIN_WORKGROUPS = 8
"""Workgroups that attention should split into, for threads to share."""


@dataclass(frozen=True)
class MaskShape:
    """The mask added to the scores: one number per key, or per key and query."""

    lead: Shape
    """Leading axes of the mask, as many as those of the queries."""
    per_query: bool


@dataclass(frozen=True)
class AttentionShape:
    """The sizes, views and tiles of an attention."""

    lead: Shape
    """Leading axes, of batches and heads."""
    queries: Size
    keys: Size
    head_size: int
    """Features of a query and a key."""
    width: int
    """Features of a value."""
    q: View
    k: View
    v: View
    order: tuple[int, ...]
    """The axes of the result, [*lead, queries, width], as they are stored."""
    scale: float
    causal: bool
    mask: MaskShape | None
    mr: int
    """Rows of a register tile."""
    vectors: int
    """Vectors of a register tile."""
    lanes: int

    @property
    def flops(self) -> int | None:
        """FLOPs; None if they depend on sizes known only at run time."""
        heads, queries, keys = self.heads, self.queries, self.keys
        if isinstance(heads, Dim) or isinstance(queries, Dim) or isinstance(keys, Dim):
            return None
        return 2 * heads * queries * keys * (self.head_size + self.width)

    @property
    def heads(self) -> Size:
        """Heads of all batches."""
        count: Size = 1
        for size in self.lead:
            count = count * size
        return count

    @property
    def block(self) -> int:
        """Queries in a block."""
        return self.vectors * self.lanes

    @property
    def parts(self) -> int:
        """Workgroups of a head."""
        known = 1
        for size in self.lead:
            known *= size if isinstance(size, int) else 1
        parts = -(-MIN_WORKGROUPS // known)
        if isinstance(self.queries, Dim):
            return parts
        blocks = -(-self.queries // self.block)
        return -(-blocks // -(-blocks // min(parts, blocks)))

    def blocks(self, queries: Index) -> Index:
        """Blocks of a head with so many queries, the last of which may have fewer."""
        if isinstance(queries, int):
            return -(-queries // self.block)
        return arith.ceildivui(queries, index(self.block))

    def together(self, queries: Index) -> Index:
        """Blocks of a head in a workgroup."""
        blocks = self.blocks(queries)
        if isinstance(blocks, int):
            return -(-blocks // self.parts)
        return arith.ceildivui(blocks, index(self.parts))

    @property
    def workgroups(self) -> int:
        """Workgroups, if all sizes are known."""
        return static_size(self.heads) * self.parts

    def count_workgroups(self, *dynamic: ir.Value) -> ir.Value:
        """Workgroups for the `sizes` that are dynamic."""
        known = dict(zip(self.sizes, dynamic, strict=True))
        heads: Index = 1
        for size in self.lead:
            heads = product(heads, size if isinstance(size, int) else known[size])
        return index(product(heads, self.parts))

    @property
    def scratch(self) -> Size:
        """Scratch elements of a workgroup: the weights of a block, their scale factors, and its
        queries."""
        return (self.keys + 1 + self.head_size) * self.block

    @property
    def y(self) -> View:
        """The view of the result in its stored order."""
        logical = (*self.lead, self.queries, self.width)
        stored = View.whole(logical[axis] for axis in self.order)
        strides: list[Size] = [0] * len(logical)
        for axis, stride in zip(self.order, stored.strides, strict=True):
            strides[axis] = stride
        return View(logical, 0, tuple(strides))

    @property
    def mask_strides(self) -> Shape:
        """The strides of the mask's leading axes, 0 where it repeats, which run time may decide."""
        if self.mask is None:
            return ()
        one: Size = self.keys * (self.queries if self.mask.per_query else 1)
        strides: list[Size] = []
        for held, size in zip(reversed(self.mask.lead), reversed(self.lead), strict=True):
            repeats_not = 1 if held == size != 1 else minimum(held - 1, 1)
            strides.insert(0, one * repeats_not)
            one = one * held
        return tuple(strides)

    @cached_property
    def sizes(self) -> list[Dim]:
        """The dynamic sizes and strides, which the kernel receives as scalars."""
        views = [n for view in (self.q, self.k, self.v, self.y) for n in view.attribute]
        sizes = (*self.lead, self.queries, self.keys, *views, *self.mask_strides)
        return list(dict.fromkeys(size for size in sizes if isinstance(size, Dim)))
