"""Attention to a cache: a kernel that reads the keys and values in use, and no others.

A workgroup computes some heads of queries that share a head of keys. Queries that fill vectors are
computed in blocks (`cached_query_blocks`), fewer ones one by one (`cached_queries`). Run time
decides where their number is dynamic.
"""

from ...mlir import arith, ir
from .cached_operands import CacheReader, HeadOfKeys
from .cached_queries import CachedQueries
from .cached_query_blocks import CachedQueryBlocks


class CachedAttentionEmitter(CacheReader):
    """Emits the kernel."""

    def workgroup(self, workgroup_id: ir.Value, *dynamic: ir.Value) -> None:
        """Emit workgroup `workgroup_id`; those of a batch are consecutive."""
        shape = self.shape
        self.known = dict(zip(shape.sizes, dynamic, strict=True))
        block = arith.divui(workgroup_id, self.index(shape.parts))
        part = arith.remui(workgroup_id, self.index(shape.parts))
        batch = arith.divui(block, self.index(shape.shared))
        heads = self.times(arith.remui(block, self.index(shape.shared)), shape.group * shape.parts)
        first = self.add(heads, self.times(part, shape.group))
        keys = self.keys_of(block, batch)
        scratch = self.times(workgroup_id, self._scratch)
        self._heads(first, keys, self.index(scratch))

    @property
    def _scratch(self) -> int | ir.Value:
        shape = self.shape
        if isinstance(shape.scratch, int):
            return shape.scratch
        known = shape.lanes + (shape.block_scratch if shape.may_fill_vectors else 0)
        return self.add(self.index(self.size(shape.keys)), known)

    def _heads(self, first: ir.Value, keys: HeadOfKeys, scratch: ir.Value) -> None:
        """Emit the heads of a workgroup."""
        shape, queries = self.shape, self.size(self.shape.queries)
        one_by_one = CachedQueries(self, keys, scratch)
        if not shape.may_fill_vectors:
            return one_by_one.write(first)
        blocks = CachedQueryBlocks(self, keys, scratch, first)
        if isinstance(queries, int):
            return blocks.write()
        many = self.compare(arith.CmpIPredicate.uge, queries, shape.lanes)
        self.choose(many, blocks.write, lambda: one_by_one.write(first))
        return None
