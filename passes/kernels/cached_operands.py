"""The operands of attention to a cache, as its kernel reads them."""

from dataclasses import dataclass

from ...dialects.symbolic import Dim
from ...mlir import arith, ir, memref, vector
from .cached_attention_shape import CachedAttentionShape, Size
from .emitter import VectorEmitter
from .scalar_functions import tanh
from .sizes import Index


@dataclass(frozen=True)
class CacheMemory:
    """The buffers of the operands, the result and scratch."""

    q: ir.Value
    k: ir.Value
    v: ir.Value
    past: ir.Value
    last: ir.Value
    mask: ir.Value | None
    sink: ir.Value | None
    cache_batch: ir.Value | None
    y: ir.Value
    scratch: ir.Value


@dataclass(frozen=True)
class HeadOfKeys:
    """The keys of a head: number `block` of all heads of keys, for the queries of batch `batch`,
    the first of which is at position `past`. The keys up to `last` are in use."""

    batch: ir.Value
    block: ir.Value
    past: ir.Value
    last: ir.Value


class CacheReader(VectorEmitter):
    """Emits what all forms of the kernel have in common. Indices count elements from the start of a
    buffer."""

    def __init__(self, shape: CachedAttentionShape, memory: CacheMemory):
        super().__init__(shape.lanes)
        self.shape, self.memory = shape, memory
        self.known: dict[Dim, ir.Value] = {}

    def size(self, size: Size) -> Index:
        """A size or stride of the shape."""
        return size if isinstance(size, int) else self.known[size]

    def keys_of(self, block: ir.Value, batch: ir.Value) -> HeadOfKeys:
        """The keys for a block of heads of a batch, which the cache may have in another batch."""
        shape, memory = self.shape, self.memory
        past = self._number(memory.past, batch, shape.one_past)
        last = self._number(memory.last, batch, shape.one_last)
        if memory.cache_batch is not None:
            assert shape.cache_batches is not None
            number = self.index_below(memory.cache_batch, batch, self.size(shape.cache_batches))
            head = arith.remui(block, self.index(shape.shared))
            block = self.add(self.times(number, shape.shared), head)
        return HeadOfKeys(batch, block, past, last)

    def _number(self, memory: ir.Value, batch: ir.Value, is_one: bool) -> ir.Value:
        which = self.index(0) if is_one else batch
        return arith.index_cast(ir.IndexType.get(), memref.load(memory, [which]))

    def query_row(self, head: ir.Value, number: ir.Value, keys: HeadOfKeys) -> ir.Value:
        """The number of a query of a head among all."""
        former = self.add(self.times(keys.batch, self.shape.heads), head)
        return self.add(self.times(former, self.size(self.shape.queries)), number)

    def key_row(self, keys: HeadOfKeys, key: ir.Value, width: int) -> ir.Value:
        """The first element of row `key` of `width` elements."""
        rows = self.times(keys.block, self.size(self.shape.keys))
        return self.times(self.add(rows, key), width)

    def seen(self, first: ir.Value, last: ir.Value, keys: HeadOfKeys) -> tuple[ir.Value, ir.Value]:
        """The first key that one of the queries from `first` to `last` sees, and the one behind the
        last."""
        shape, zero, one = self.shape, self.index(0), self.index(1)
        end = keys.last
        if shape.right >= 0:
            own = arith.addi(keys.past, last)
            end = arith.minsi(end, self.add(own, shape.right))
        end = arith.minsi(arith.addi(end, one), self.index(self.size(shape.keys)))
        if shape.mask is not None and shape.mask[3] not in (1, shape.keys):
            end = arith.minsi(end, self.index(self.size(shape.mask[3])))
        end = arith.maxsi(end, zero)
        if shape.left < 0:
            return zero, end
        begin = arith.subi(arith.addi(keys.past, first), self.index(shape.left))
        return arith.minsi(arith.maxsi(begin, zero), end), end

    def mask_start(self, *numbers: ir.Value) -> ir.Value | None:
        """The start of the line of the mask for a batch, a head and a query."""
        if self.shape.mask is None:
            return None
        start = self.index(0)
        for number, stride in zip(numbers, self.shape.mask_strides, strict=True):
            start = start if stride == 0 else self.add(start, self.times(number, self.size(stride)))
        return start

    def sink(self, head: ir.Value) -> ir.Value | None:
        """The score of the sink of a head."""
        if not self.shape.has_sink:
            return None
        assert self.memory.sink is not None
        value = memref.load(self.memory.sink, [head])
        return value if value.type == self.element else arith.extf(self.element, value)

    def load_f32(self, memory: ir.Value, at: ir.Value) -> ir.Value:
        """Load a vector of features as f32."""
        value = self.load(memory, at)
        if ir.VectorType(value.type).element_type == self.element:
            return value
        return arith.extf(self.vector_type, value)

    def capped(self, scores: ir.Value) -> ir.Value:
        """Scores with the cap."""
        cap = self.shape.softcap
        if not cap:
            return scores
        return arith.mulf(tanh(arith.mulf(scores, self.splat(1 / cap))), self.splat(cap))

    def spread(self, value: ir.Value) -> ir.Value:
        """A vector of equal elements."""
        return vector.broadcast(self.vector_type, value)
