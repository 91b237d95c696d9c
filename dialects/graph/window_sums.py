"""Sums over the windows of convolutions of integers, of ops of this dialect.

Where weights have a zero point, or are moved so that they fit fewer bits, a convolution takes off
these sums, times what each filter was moved by::

    conv(x, w - z)  =  conv(x, w) - z * window_sums(channel_sums(x))
"""

from collections.abc import Sequence

import numpy as np

from ...mlir import ir
from ..symbolic import Dim, floordiv
from .casts import cast
from .elementwise import mul
from .movement import expand, pad, reshape, reshaped_constant
from .pooling import sum_pool
from .reduction import reduce_sum
from .shapes import constant
from .types import type_of

_I32 = np.dtype(np.int32)


def channel_sums(x: ir.Value, groups: int) -> ir.Value:
    """The sums of `x`, integers [N, C, spatial...], over the channels of each group, as i32:
    [N, groups, spatial...]."""
    batch, channels, *extents = type_of(x).shape
    if groups == 1:
        return reduce_sum(cast(x, to=_I32), axes=[1], keepdims=True)
    parts = reshape(x, shape=[batch, groups, floordiv(channels, groups), *extents])
    return reduce_sum(cast(parts, to=_I32), axes=[2], keepdims=False)


def window_sums(
    x: ir.Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    low: Sequence[int | Dim],
    high: Sequence[int | Dim],
) -> ir.Value:
    """The sums of the elements of each window of `x`, i32 [N, groups, spatial...], which is padded
    with zeros."""
    if any(size != 0 for size in (*low, *high)):
        zero = constant(value=np.zeros((), _I32))
        x = pad(x, zero, low=[0, 0, *low], high=[0, 0, *high])
    if set(kernel) | set(strides) == {1}:
        return x
    none = [0] * len(kernel)
    return sum_pool(
        x, kernel=kernel, strides=strides, dilations=dilations, low=none, high=none,
        layout="channels_first",
    )  # fmt: skip


def times_filters(sums: ir.Value, factors: ir.Value, filters: int | Dim) -> ir.Value:
    """`sums`, [N, groups, spatial...], times the factor of each filter: [N, 1 or filters,
    spatial...]. The factors are one number, or [filters, 1, 1...] as weights have them."""
    batch, groups, *extents = type_of(sums).shape
    shape = type_of(factors).shape
    if shape:
        factors = reshaped_constant(factors, [shape[0], *shape[2:]])
    if groups in (1, filters):
        return mul(sums, factors)
    repeated = [batch, groups, floordiv(filters, groups), *extents]
    sums = expand(reshape(sums, shape=[batch, groups, 1, *extents]), shape=repeated)
    return mul(reshape(sums, shape=[batch, filters, *extents]), factors)
