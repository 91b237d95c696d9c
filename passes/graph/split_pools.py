"""The pass `graph-split-pools`: pools along few axes at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import producer, splat_of
from ..infra.registry import register
from ..infra.rewrite import Rewrite

Pool = graph.MaxPoolOp | graph.AveragePoolOp

LEAST_ROW = 16
"""Elements of a row that fill vectors well."""
_NEUTRAL = {"kernel": 1, "strides": 1, "dilations": 1, "low": 0, "high": 0, "extra": 0}
"""The attributes of pools with a number for each axis, and the number that changes nothing."""


@register
@dataclass(frozen=True)
class GraphSplitPools(Pass):
    """Pool channels-last images over three axes and more in several steps.

    %1 = "graph.max_pool"(%x) {kernel = [3, 3, 3], ...} : 1x8x9x9x32 -> 1x6x7x7x32
    -->
    %0 = "graph.max_pool"(reshape(%x)) {kernel = [3, 3], ...} : 8x9x9x32 -> 8x7x7x32
    %1 = "graph.max_pool"(reshape(%0)) {kernel = [3, 1], ...} : 1x8x49x32 -> 1x6x49x32

    A window of ``a * b * c`` taps has ``a + b * c`` then, and there are kernels for two axes. Exact
    for the largest elements; means are rounded once more.
    """

    name = "graph-split-pools"
    anchor = FUNCTION
    only_rewrites = True
    wide: bool = False
    """True to split windows over two axes, too, if that halves their taps."""
    rows: bool = False
    """True to pool the rows of channels-first images before these are transposed."""
    exact: bool = False
    """True to leave means, which would be rounded once more."""

    def run(self, op: Any, state: PassState) -> None:
        kinds = [*([PoolBeforeTranspose] if self.rows else []), SplitDeepPool]
        kinds += [SplitWidePool] if self.wide else []
        apply_rewrites(op, [kind(self.exact) for kind in kinds], state)


class _SplitPool(Rewrite):
    """Base of the rewrites; `exact` ones leave means."""

    root = (graph.MaxPoolOp, graph.AveragePoolOp)

    def __init__(self, exact: bool = False):
        self._exact = exact

    def check(self, op: Pool) -> str | None:
        if self._exact and isinstance(op, graph.AveragePoolOp):
            return "its means would be rounded once more"
        is_last = op.attrs["layout"] == "channels_last"
        return None if is_last else "its image is not channels-last"


class PoolBeforeTranspose(_SplitPool):
    """``pool(transpose(x), kernel=[a, b])  -->  pool(transpose(pool(x, [a, 1])), [1, b])`` for
    channels-first images, whose rows are vectors as good as channels are: what is transposed is
    smaller by the strides.
    """

    name = "pool-before-transpose"

    def pattern(self, op: Pool) -> dict[str, Any] | None:
        pad, axes = _border_of(op), len(op.attrs["kernel"])
        image = op.x if pad is None else pad.x
        moved = producer(image, graph.TransposeOp)
        if moved is None or not 1 < axes < 4 or len(list(image.uses)) > 1:
            return None
        is_last = moved.attrs["perm"] == (0, *range(2, 2 + axes), 1)
        return {"x": moved.x, "pad": pad} if is_last else None

    def check(self, op: Pool, x: ir.Value, pad: graph.PadOp | None) -> str | None:
        del pad
        row = graph.type_of(x).shape[-1]
        if not isinstance(row, int) or row < LEAST_ROW:
            return "its rows are short, or their length is not known"
        if all(stride == 1 for stride in op.attrs["strides"][:-1]):
            return "as much would have to be transposed"
        return super().check(op)

    def rewrite(self, op: Pool, x: ir.Value, pad: graph.PadOp | None) -> ir.Value:
        axes = len(op.attrs["kernel"])
        batch, channels, *extents, row = graph.type_of(x).shape
        *pooled, _ = result = graph.type_of(op.result).shape[1:-1]
        y = graph.reshape(x, shape=(batch * channels, *extents, row))
        y = _pool_along(op, _padded(y, pad, range(axes - 1)), range(axes - 1))
        y = graph.reshape(y, shape=(batch, channels, graph.element_count(pooled), row))
        y = _padded(graph.transpose(y, perm=(0, 2, 3, 1)), pad, (None, axes - 1))
        return graph.reshape(_pool_along(op, y, (None, axes - 1)), shape=(batch, *result, channels))


class SplitDeepPool(_SplitPool):
    """``pool(x, kernel=[a, b, c])  -->  pool(pool(x, kernel=[b, c]), kernel=[a, 1])``."""

    name = "split-deep-pool"

    def pattern(self, op: Pool) -> dict[str, Any] | None:
        return {} if len(op.attrs["kernel"]) > 2 else None

    def rewrite(self, op: Pool) -> ir.Value:
        pad, result = _border_of(op), graph.type_of(op.result).shape
        x = op.x if pad is None else pad.x
        batch, depth, *area = graph.type_of(x).shape
        inner, outer = range(1, len(op.attrs["kernel"])), (0, None)
        x = _padded(graph.reshape(x, shape=(batch * depth, *area)), pad, inner)
        x = _pool_along(op, x, inner)
        lines = (batch, depth, graph.element_count(result[2:-1]), area[-1])
        x = _padded(graph.reshape(x, shape=lines), pad, outer)
        return graph.reshape(_pool_along(op, x, outer), shape=result)


class SplitWidePool(_SplitPool):
    """``pool(x, kernel=[a, b])  -->  pool(pool(x, kernel=[1, b]), kernel=[a, 1])``."""

    name = "split-wide-pool"

    def pattern(self, op: Pool) -> dict[str, Any] | None:
        kernel = op.attrs["kernel"]
        return {} if len(kernel) == 2 and 1 not in kernel else None

    def check(self, op: Pool) -> str | None:
        height, width = op.attrs["kernel"]
        rows, lines = graph.type_of(op.result).shape[1], graph.type_of(op.x).shape[1]
        if not isinstance(rows, int) or not isinstance(lines, int):
            rows, lines = 1, op.strides[0]
        if height * width * rows <= 2 * (width * lines + height * rows):
            return "two steps would not halve its taps"
        return super().check(op)

    def rewrite(self, op: Pool) -> ir.Value:
        return _pool_along(op, _pool_along(op, op.x, (None, 1)), (0, None))


def _border_of(op: Pool) -> graph.PadOp | None:
    """The op that pads the image of `op` along its spatial axes, with elements whose pool, along
    some of the axes, is again such an element; None if there is none."""
    pad = producer(op.x, graph.PadOp)
    if pad is None:
        return None
    border = 0 if isinstance(op, graph.AveragePoolOp) else graph.lowest(graph.type_of(op.x).dtype)
    outside = [pad.attrs[side][axis] for side in ("low", "high") for axis in (0, -1)]
    is_one = splat_of(pad.value) == border and all(size == 0 for size in outside)
    return pad if is_one else None


_Axes = Sequence[int | None]
"""For each spatial axis of an image, that of a pool that it is; None if it is none."""


def _padded(x: ir.Value, pad: graph.PadOp | None, axes: _Axes) -> ir.Value:
    """`x`, padded along `axes` as `pad` does."""
    if pad is None:
        return x
    around = {
        side: (0, *(0 if axis is None else pad.attrs[side][1 + axis] for axis in axes), 0)
        for side in ("low", "high")
    }
    if all(size == 0 for size in (*around["low"], *around["high"])):
        return x
    return graph.pad(x, pad.value, **around)


def _pool_along(op: Pool, x: ir.Value, axes: _Axes) -> ir.Value:
    """The pool of `x` as `op` is, along `axes` alone."""
    attrs = dict(op.attrs)
    for name in _NEUTRAL.keys() & attrs.keys():
        neutral = _NEUTRAL[name]
        attrs[name] = tuple(neutral if axis is None else op.attrs[name][axis] for axis in axes)
    if all(set(attrs.get(name, ())) <= {neutral} for name, neutral in _NEUTRAL.items()):
        return x
    return graph.build(type(op), [x], attrs)
