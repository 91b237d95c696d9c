"""Images assembled from blocks that neither overlap nor leave gaps."""

import itertools
from typing import Any

from ....dialects import graph
from ...infra.rewrite import rewrite


@rewrite(graph.Col2ImOp)
def col2im_of_tiles(op: graph.Col2ImOp) -> Any:
    """``col2im(x)  -->  reshape(transpose(reshape(x)))`` if each element of the image lies in one
    block. Exact but for the sign of zeros."""
    attrs, source, result = op.attrs, graph.type_of(op.x).shape, graph.type_of(op.result).shape
    block, axes = attrs["block"], len(attrs["block"])
    if tuple(attrs["strides"]) != tuple(block) or any((*attrs["low"], *attrs["high"])):
        return None
    if any(d != 1 for d in attrs["dilations"]) or 0 in (*source, *result):
        return None
    positions = graph.block_positions(**attrs)
    sizes = [taps * count for taps, count in zip(block, positions, strict=True)]
    batch, channels = result[:2]
    columns = (batch, channels * graph.element_count(block), graph.element_count(positions))
    if tuple(sizes) != tuple(result[2:]) or columns != source:
        return None
    pairs = zip(range(2 + axes, 2 + 2 * axes), range(2, 2 + axes), strict=True)
    split = graph.reshape(op.x, shape=(batch, channels, *block, *positions))
    moved = graph.transpose(split, perm=(0, 1, *itertools.chain.from_iterable(pairs)))
    return graph.reshape(moved, shape=result)


REWRITES = (col2im_of_tiles,)
