"""Convolutions by weights of dynamic sizes: gather the elements of all windows (im2col), and
multiply them by the weights as a matrix."""

from collections.abc import Sequence

import numpy as np

from ....dialects import graph
from ....dialects.graph.window import output_size
from ....dialects.symbolic import Dim, floordiv
from ....mlir import ir
from .shapes import positions
from .windows import Window

Size = int | Dim


def is_needed(weights: graph.TensorType, groups: int) -> bool:
    """True if a convolution by `weights` cannot be split into the taps of its kernel, or into its
    groups, at compile time."""
    sizes = weights.shape if groups > 1 else weights.shape[2:]
    return any(isinstance(size, Dim) for size in sizes)


def conv(x: ir.Value, w: ir.Value, window: Window, groups: int) -> ir.Value:
    """`x` [N, C, spatial...] with `w` [F, C/groups, kernel...]."""
    extents = graph.type_of(x).shape[2:]
    lists = (window.kernel, window.strides, window.dilations, window.low, window.high)
    out = [output_size(*axis) for axis in zip(extents, *lists, strict=True)]
    for i, (extent, size) in enumerate(zip(extents, out, strict=True)):
        start = graph.mul(positions(size), graph.size_scalar(window.strides[i]))
        tap = graph.mul(positions(window.kernel[i]), graph.size_scalar(window.dilations[i]))
        start = graph.sub(start, graph.size_scalar(window.low[i]))
        read = graph.add(graph.reshape(tap, shape=[window.kernel[i], 1]), start)
        x = _gathered(x, 2 + 2 * i, read, _is_inside(read, extent))
    features, channels_per_group, *kernel = graph.type_of(w).shape
    matrix = [groups, floordiv(features, groups), channels_per_group * graph.element_count(kernel)]
    return _product(x, graph.reshape(w, shape=matrix), features, out)


def conv_transpose(
    x: ir.Value,
    w: ir.Value,
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    groups: int,
) -> ir.Value:
    """`x` [N, C, spatial...] with `w` [C, F/groups, kernel...]: the full result.

    What each pixel gives to the block it reaches is a column, and columns that overlap are summed.
    """
    image, (channels, features, *kernel) = graph.type_of(x), graph.type_of(w).shape
    batch, _, *extents = image.shape
    wide = np.dtype(np.float32) if image.dtype.itemsize < 4 else image.dtype
    x, w = graph.cast(x, to=wide), graph.cast(w, to=wide)
    channels_per_group, taps = floordiv(channels, groups), graph.element_count(kernel)
    pixels = graph.element_count(extents)
    matrix = graph.reshape(w, shape=[groups, channels_per_group, features * taps])
    matrix = graph.transpose(matrix, perm=[0, 2, 1])
    columns = graph.matmul(
        matrix, graph.reshape(x, shape=[batch, groups, channels_per_group, pixels])
    )
    columns = graph.reshape(columns, shape=[batch, groups * features * taps, pixels])
    axes = zip(extents, kernel, strides, dilations, strict=True)
    full = [(size - 1) * s + d * (k - 1) + 1 for size, k, s, d in axes]
    none = [0] * len(full)
    y = graph.col2im(
        columns, image=full, block=kernel, strides=strides, dilations=dilations, low=none, high=none
    )
    shape = [batch, groups * features, *full]
    return graph.cast(graph.reshape(y, shape=shape), to=image.dtype)


def _is_inside(indices: ir.Value, extent: Size) -> ir.Value:
    first = graph.greater_or_equal(indices, graph.size_scalar(0))
    return graph.and_(first, graph.less(indices, graph.size_scalar(extent)))


def _gathered(x: ir.Value, axis: int, indices: ir.Value, inside: ir.Value) -> ir.Value:
    """The elements of `x` at `indices` [taps, out], which become two axes; 0 where not `inside`."""
    behind = graph.size_scalar(graph.type_of(x).shape[axis])  # where a gather finds zeros
    return graph.gather(x, graph.where(inside, indices, behind), axis=axis)


def _product(x: ir.Value, matrix: ir.Value, features: Size, out: Sequence[Size]) -> ir.Value:
    """`x` [N, C, taps, out, taps, out...] times `matrix` [groups, F/groups, C/groups * taps...]."""
    type_, (groups, _, k) = graph.type_of(x), graph.type_of(matrix).shape
    x = graph.transpose(x, perm=[0, 1, *range(2, type_.rank, 2), *range(3, type_.rank, 2)])
    columns = graph.reshape(x, shape=[type_.shape[0], groups, k, graph.element_count(out)])
    return graph.reshape(graph.matmul(matrix, columns), shape=[type_.shape[0], features, *out])


def with_stated_sizes(w: ir.Value, stated: Sequence[int] | None) -> ir.Value:
    """`w` [.., .., kernel...], whose unknown sizes are those of `stated`, the node's kernel_shape.

    That they are is checked when the model runs.
    """
    shape = graph.type_of(w).shape
    if stated is None or len(stated) != len(shape) - 2:
        return w
    sizes = list(shape)
    for axis, wanted in enumerate(stated, start=2):
        if isinstance(shape[axis], Dim):
            same = graph.equal(graph.size_scalar(shape[axis]), graph.size_scalar(wanted))
            message = f"kernel_shape is {list(stated)}, but the weights have another size"
            graph.require(same, message=message)
            sizes[axis] = wanted
    if sizes == list(shape):
        return w
    ones = [1] * len(sizes)
    return graph.slice_(w, starts=[0] * len(sizes), sizes=sizes, steps=ones)
