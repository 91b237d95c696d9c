"""The pass `graph-share-cache-buffer`."""

from dataclasses import dataclass, replace
from typing import Any

from ...dialects import graph
from ...dialects.locations import node_name
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..analysis.attention_operands import CacheAttention, problem_of, to_cache
from ..analysis.left_padding import find_row_difference
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import ops_within, producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite

Size = int | Dim
_AXIS = 2
"""The axis of a cache ``[batch, heads, rows, features]`` that grows."""


@register
@dataclass(frozen=True)
class GraphShareCacheBuffer(Pass):
    """Attend to a cache of fixed capacity where a model has one that grows.

    %1 = "graph.read_cache"(%cache, %length) {axis = 2} : 1x3x?x64 -> 1x3x?x64
    %2 = "graph.concat"(%1, %new) {axis = 2} : 1x3x?x64, 1x3x1x64 -> 1x3x?x64
    %3 = "graph.attention"(%q, %2, %v, %mask) : 1x3x1x64, 1x3x?x64, 1x3x?x64, 1x1x1x?
    -->
    %2 = "graph.tensor_scatter"(%cache, %new, %length) {axis = 2} : 1x3x?x64, 1x3x1x64
    %3 = "graph.cached_attention"(%q, %2, %v, %zero, %last, %mask)

    The new rows are written where they belong, and attention reads the rows in use there: nothing
    of the cache is copied, if it is donated. Exact up to the order of sums. Where rows of a batch
    differ in length, the report says whether each is computed as alone (``left-padding``); padding
    is not read, whatever the mask says of it.
    """

    name = "graph-share-cache-buffer"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        reads = ops_within(op, graph.ReadCacheOp)
        if not reads:
            return
        uneven = [read for read in reads if has_padding(read)]
        difference = find_row_difference(op, uneven[0], is_shareable) if uneven else None
        names = ", ".join(node_name(read) for read in reads)
        apply_rewrites(op, [NewRows(), AttendToBuffer()], state)
        left = ops_within(op, graph.ReadCacheOp)
        for read in left:
            state.statistics("share-cache-buffer").record_declined(node_name(read), _user_of(read))
        if uneven and (left or difference):
            reason = difference or "a cache is read as a whole"
            state.statistics("left-padding").record_declined(names, reason)
        elif uneven:
            state.statistics("left-padding").record_fired(names)
        if left:
            apply_rewrites(op, [ReadWritten()], state)


@dataclass(frozen=True)
class GrownCache:
    """The rows that `read` has of a cache, and the `new` ones behind them."""

    read: graph.ReadCacheOp
    new: ir.Value

    @property
    def size(self) -> Size:
        """The number of rows."""
        return self.read.attrs["size"] + self.count

    @property
    def count(self) -> Size:
        """The number of new rows."""
        return graph.type_of(self.new).shape[_AXIS]

    @property
    def lengths(self) -> ir.Value:
        """The rows in use before, i64 ``[batch]`` or ``[1]``."""
        return self.read.lengths

    def write(self) -> ir.Value:
        """The cache with the new rows in it."""
        read = self.read
        return graph.tensor_scatter(
            read.x, self.new, read.lengths, read.cache_batch, axis=_AXIS, used=self.size
        )


class NewRows(Rewrite):
    """``slice(concat(read_cache(cache), new))  -->  new``, of the rows behind the read ones."""

    name = "new-rows-of-cache"
    root = graph.SliceOp

    def pattern(self, op: graph.SliceOp) -> dict[str, Any] | None:
        grown = grown_cache(op.x)
        return None if grown is None else {"grown": grown}

    def check(self, op: graph.SliceOp, grown: GrownCache) -> str | None:
        starts = [0] * 4
        starts[_AXIS] = grown.read.attrs["size"]
        same = op.attrs["starts"] == tuple(starts) and set(op.attrs["steps"]) == {1}
        is_all = graph.type_of(op.result) == graph.type_of(grown.new)
        return None if same and is_all else "it has other rows than the new ones"

    def rewrite(self, op: graph.SliceOp, grown: GrownCache) -> ir.Value:
        return grown.new


class AttendToBuffer(Rewrite):
    """``attention(q, grown keys, grown values)  -->  cached_attention(q, keys, values)``."""

    name = "share-cache-buffer"
    root = (graph.AttentionOp, graph.CachedAttentionOp)

    def pattern(self, op: Any) -> dict[str, Any] | None:
        k, v = (_cache_of_heads(x) for x in (op.k, op.v))
        return None if k is None or v is None else {"k": k, "v": v}

    def check(self, op: Any, k: GrownCache, v: GrownCache) -> str | None:
        if k.lengths != v.lengths or k.size != v.size or k.read.cache_batch != v.read.cache_batch:
            return "keys and values have other lengths"
        if isinstance(op, graph.AttentionOp):
            return problem_of(op)
        return None if op.cache_batch is None else "it has batches of another cache"

    def rewrite(self, op: Any, k: GrownCache, v: GrownCache) -> ir.Value:
        given = to_cache(op) if isinstance(op, graph.AttentionOp) else _operands(op)
        shared = replace(given, k=k.write(), v=v.write())
        if has_padding(k.read):
            shared = _without_padding(shared, k)
        y = shared.build(k.read.cache_batch)
        return graph.reshape(y, shape=graph.type_of(op.result).shape)


class ReadWritten(Rewrite):
    """``concat(read_cache(cache), new)  -->  read_cache(cache with the new rows)``, where that is
    written in any case: one copy of the rows in place of two, and nobody reads the cache as it was
    before, so that it is written where it lies."""

    name = "read-written-cache"
    root = (graph.ConcatOp, graph.ExtendCacheOp)

    def pattern(self, op: Any) -> dict[str, Any] | None:
        grown = grown_cache(op.result)
        return None if grown is None else {"grown": grown}

    def check(self, op: Any, grown: GrownCache) -> str | None:
        users = (graph.graph_op(use.owner) for use in grown.read.x.uses)
        writers = (user for user in users if isinstance(user, graph.TensorScatterOp))
        is_written = any(writer.updates == grown.new for writer in writers)
        return None if is_written else "the new rows are not written to the cache"

    def rewrite(self, op: Any, grown: GrownCache) -> ir.Value:
        count = grown.count
        lengths = graph.add(grown.lengths, graph.size_scalar(count))
        return graph.read_cache(
            grown.write(), lengths, grown.read.cache_batch, axis=_AXIS, size=grown.size
        )


def grown_cache(value: ir.Value) -> GrownCache | None:
    """Rows of a cache with new ones behind them, or None."""
    concat, extend = producer(value, graph.ConcatOp), producer(value, graph.ExtendCacheOp)
    if concat is not None and concat.axis == _AXIS and len(concat.xs) == 2:
        old, new = concat.xs
    elif extend is not None and extend.axis == _AXIS and _extends_all(extend):
        old, new = extend.past, extend.new
    else:
        return None
    read = producer(old, graph.ReadCacheOp)
    is_cache = read is not None and read.axis == _AXIS and graph.type_of(value).rank == 4
    return GrownCache(read, new) if read is not None and is_cache else None


def _extends_all(op: graph.ExtendCacheOp) -> bool:
    """Return whether all rows of the past are kept, and no others follow the new ones."""
    past, new = graph.type_of(op.past).shape[_AXIS], graph.type_of(op.new).shape[_AXIS]
    return graph.known_sizes(op.begin) == (past,) and op.attrs["size"] == past + new


def has_padding(read: graph.ReadCacheOp) -> bool:
    """Return whether there may be padding in front of the rows that are read."""
    return graph.known_sizes(read.lengths) != (read.attrs["size"],)


def is_shareable(op: Any) -> bool:
    """Return whether `op` is an attention that reads the rows of caches where they are."""
    rewrite = AttendToBuffer()
    captures = rewrite.pattern(op)
    return captures is not None and rewrite.check(op, **captures) is None


def _cache_of_heads(value: ir.Value) -> GrownCache | None:
    """The cache whose heads are those of `value`, which may have an axis of one head for each."""
    grown = grown_cache(value)
    reshape = producer(value, graph.ReshapeOp)
    if grown is not None or reshape is None:
        return grown
    given = graph.type_of(reshape.x).shape
    if graph.type_of(value).shape == (*given[:2], 1, *given[2:]):
        return grown_cache(reshape.x)
    return None


def _operands(op: graph.CachedAttentionOp) -> CacheAttention:
    return CacheAttention(
        op.q, op.k, op.v, op.past, op.last, op.mask, op.sink, scale=op.attrs["scale"],
        softcap=op.attrs["softcap"], left=op.left, right=op.right,
    )  # fmt: skip


def _without_padding(given: CacheAttention, cache: GrownCache) -> CacheAttention:
    """`given` with positions that count from the first row in use, in place of the padding."""
    before = graph.size_scalar(cache.read.attrs["size"])
    padding = graph.sub(before, cache.lengths)
    past, last = (graph.sub(x, padding) for x in (given.past, given.last))
    mask = given.mask
    if mask is not None and graph.type_of(mask).shape[3] != 1:
        mask = _shifted_left(mask, padding, graph.type_of(given.q).shape[0])
    return replace(given, past=past, last=last, mask=mask)


def _shifted_left(mask: ir.Value, padding: ir.Value, batch: Size) -> ir.Value:
    """The columns of `mask` behind the `padding` of each batch."""
    _, heads, rows, columns = graph.type_of(mask).shape
    zero, one = graph.size_scalar(0), graph.size_scalar(1)
    column = graph.range_(zero, one, size=columns)
    padding = graph.reshape(padding, shape=[graph.type_of(padding).shape[0], 1, 1, 1])
    column = graph.min_(graph.add(column, padding), graph.size_scalar(columns - 1))
    shape = [batch, heads, rows, columns]
    mask, column = (graph.expand(x, shape=shape) for x in (mask, column))
    return graph.gather_elements(mask, column, axis=3)


def _user_of(read: graph.ReadCacheOp) -> str:
    """The reason why `read` is left: what uses its rows, or those of it with new ones."""
    users = [use.owner for use in read.result.uses]
    for user in list(users):
        if any(grown_cache(result) is not None for result in user.operation.results):
            users.remove(user)
            users += [use.owner for result in user.operation.results for use in result.uses]
    found = sorted({user.operation.name.removeprefix("graph.") for user in users})
    return f"its rows are read by {', '.join(found)}"
