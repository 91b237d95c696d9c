"""Operators that move data and have a form of their own here."""

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import floordiv, maximum
from ....mlir import ir
from ..operators.indexing import gather_nd, range_, trilu
from ..operators.movement import unsqueeze_1
from ..operators.padding import pad
from ..operators.shapes import require_constant
from ..operators.sorting import unique
from .registry import microsoft_op

microsoft_op("Trilu")(trilu)
microsoft_op("GatherND")(gather_nd)


@microsoft_op("Unique")
def unique_(x, *, node):
    """The values in the order in which they appear."""
    values, _, inverse, counts = unique(x, node=node, sorted=0)
    return values, inverse, counts


@microsoft_op("ExpandDims")
def expand_dims(x, axis):
    return unsqueeze_1(x, axes=require_constant(axis, "axis").ravel().tolist())


@microsoft_op("Range")
def range_with_default(start, limit, delta=None, *, node):
    if delta is None:
        delta = graph.splat_like(1, start)
    return range_(start, limit, delta, node=node)


@microsoft_op("Pad")
def pad_(x, pads, value=None, *, node, mode="constant"):
    shape = graph.type_of(pads).shape
    pads = graph.reshape(pads, shape=[graph.element_count(shape)])
    return pad(x, pads, value, node=node, mode=mode)


@microsoft_op("UnfoldTensor")
def unfold_tensor(x, *, size, dim=-1, step=1):
    """Windows of `size` along `dim`, every `step`, in a last axis of their own."""
    shape = graph.type_of(x).shape
    dim = dim + len(shape) if dim < 0 else dim
    extent = shape[dim]
    if size < 1 or step < 1 or (isinstance(extent, int) and size > extent):
        raise graph.TypeRuleError(f"windows of {size} every {step} on an axis of {extent}")
    count = maximum(floordiv(extent - size, step) + 1, 0)
    zero, every = (graph.constant(value=np.array(n)) for n in (0, step))
    first = graph.reshape(graph.range_(zero, every, size=count), shape=[count, 1])
    indices = graph.add(first, graph.constant(value=np.arange(size)))
    y = graph.gather(x, indices, axis=dim)
    rest = range(dim + 2, len(shape) + 1)
    return graph.transpose(y, perm=[*range(dim + 1), *rest, dim + 1])


def _complex_product(a: ir.Value, b: ir.Value, sign: int) -> ir.Value:
    """Pairs of real and imaginary part in the last axis; `b` conjugated for `sign` -1."""

    def part(x: ir.Value, which: int) -> ir.Value:
        type_ = graph.type_of(x)
        starts = [*[0] * (type_.rank - 1), which]
        return graph.slice_(x, starts=starts, sizes=[*type_.shape[:-1], 1], steps=[1] * type_.rank)

    (ar, ai), (br, bi) = ((part(x, 0), part(x, 1)) for x in (a, b))
    bi = bi if sign > 0 else graph.neg(bi)
    real = graph.sub(graph.mul(ar, br), graph.mul(ai, bi))
    imaginary = graph.add(graph.mul(ar, bi), graph.mul(ai, br))
    return graph.concat([real, imaginary], axis=graph.type_of(real).rank - 1)


@microsoft_op("ComplexMul")
def complex_mul(a, b):
    return _complex_product(a, b, 1)


@microsoft_op("ComplexMulConj")
def complex_mul_conj(a, b):
    return _complex_product(a, b, -1)


@microsoft_op("NGramRepeatBlock")
def ngram_repeat_block(input_ids, scores, *, ngram_size):
    """-inf for each token that would repeat a run of `ngram_size` tokens seen before.

    Sequences of named length, which may be shorter than a run, get as many tokens in front that
    equal no other.
    """
    if ngram_size < 1:
        raise graph.TypeRuleError(f"runs of {ngram_size} tokens")
    if not isinstance(graph.type_of(input_ids).shape[1], int):
        none = graph.splat_like(np.iinfo(graph.type_of(input_ids).dtype).min, input_ids)
        input_ids = graph.pad(input_ids, none, low=[0, ngram_size], high=[0, 0])
    batch, length = graph.type_of(input_ids).shape
    count = length - ngram_size + 1
    if isinstance(count, int) and count <= 0:
        return scores
    before = ngram_size - 1

    def tokens(start: int, size: int) -> ir.Value:
        return graph.slice_(input_ids, starts=[0, start], sizes=[batch, size], steps=[1, 1])

    repeated = graph.constant(value=np.ones((1, 1), np.bool_))
    for i in range(before):
        same = graph.equal(tokens(i, count), tokens(length - before + i, 1))
        repeated = graph.and_(repeated, same)
    last = graph.cast(tokens(before, count), to=np.int64)
    for inside in (
        graph.greater_or_equal(last, graph.splat_like(0, last)),
        graph.less(last, graph.size_scalar(graph.type_of(scores).shape[1])),
    ):
        repeated = graph.and_(repeated, inside)
    least, most = (graph.splat_like(bound, scores) for bound in (-np.inf, np.inf))
    bounds = graph.expand(graph.where(repeated, least, most), shape=[batch, count])
    return graph.scatter_elements(scores, last, bounds, axis=1, reduction="min")
