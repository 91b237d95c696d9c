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
        self._heads(first, keys, workgroup_id)

    def _heads(self, first: ir.Value, keys: HeadOfKeys, workgroup_id: ir.Value) -> None:
        """Emit the heads of a workgroup."""
        shape, queries = self.shape, self.size(self.shape.queries)
        lines = self.index(self.size(shape.all_blocks_scratch))
        one_by_one = CachedQueries(self, keys, lines)
        if not shape.may_fill_vectors:
            return one_by_one.write(first)
        scratch = self.times(workgroup_id, shape.block_scratch)
        blocks = CachedQueryBlocks(self, keys, scratch, first)
        if isinstance(queries, int):
            return blocks.write()
        many = self.compare(arith.CmpIPredicate.uge, queries, shape.lanes)
        self.choose(many, blocks.write, lambda: one_by_one.write(first))
        return None
