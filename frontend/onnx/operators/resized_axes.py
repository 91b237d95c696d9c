"""The axes that a Resize changes, with their sizes and scales, from its scales or sizes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim, floordiv
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError
from .shapes import of_length, require_constant, require_sizes

Size = int | Dim
Scalar = float | ir.Value
"""A number, or an f32 scalar that is computed when the model runs."""

Region = tuple[Scalar, Scalar]
"""Start and end of what is cropped from an axis, in lengths of the axis."""

WHOLE: Region = (0.0, 1.0)

_F32 = np.dtype(np.float32)
_DENOMINATORS = 4096
"""A scale is read as the fraction that it rounds, if that has a denominator up to this."""

_LARGEST_NUMERATOR = 64
"""The largest numerator of that fraction: products with sizes of up to 2^17 do not round."""


@dataclass(frozen=True)
class Axis:
    """An axis of `extent` elements that gets `size`."""

    axis: int
    extent: Size
    size: Size
    scale: Scalar
    region: Region = WHOLE
    keeps: bool | ir.Value = False
    """True if the elements stay in place, whatever the scale; a bool of rank 0 if that is known
    only at run time."""

    @property
    def is_known(self) -> bool:
        numbers = all(isinstance(number, float) for number in (self.scale, *self.region))
        sizes = isinstance(self.extent, int) and isinstance(self.size, int)
        return numbers and sizes and isinstance(self.keeps, bool)

    @property
    def factor(self) -> int:
        """The whole number by which the axis grows; 1 where there is none, or a large one."""
        if not isinstance(self.scale, float) or self.region != WHOLE or self.keeps is not False:
            return 1
        factor = int(self.scale)
        is_whole = factor == self.scale and 0 < factor <= _LARGEST_NUMERATOR
        return factor if is_whole and self.extent * factor == self.size else 1

    @property
    def divisor(self) -> int:
        """The power of two by which the axis shrinks; 1 where there is none, or a large one. The
        scale of others is no exact number."""
        if not isinstance(self.scale, float) or self.region != WHOLE or self.keeps is not False:
            return 1
        mantissa, exponent = math.frexp(self.scale)
        divisor = 2 ** (1 - exponent) if mantissa == 0.5 and exponent < 1 else 1
        is_size = divisor <= _LARGEST_NUMERATOR and self.size == floordiv(self.extent, divisor)
        return divisor if is_size else 1

    @property
    def is_copied(self) -> bool:
        """True if the axis is known to stay unchanged."""
        if self.region != WHOLE or self.size != self.extent:
            return False
        return self.keeps is True or self.scale == 1.0


def number(value: Scalar | Size) -> ir.Value:
    """`value` as an f32 scalar."""
    if isinstance(value, ir.Value):
        return value
    if isinstance(value, Dim):
        return graph.cast(graph.size_scalar(value), to=_F32)
    return graph.constant(value=np.array(value, np.float32))


def axes_from_scales(
    x: ir.Value, scales: ir.Value, axes: Sequence[int], regions: Sequence[Region], node: Node
) -> list[Axis]:
    """The axes to resize, from the scale of each of `axes`."""
    shape = graph.type_of(x).shape
    scales = of_length(scales, len(axes))
    _require_length(scales, "scales", axes)
    factors = _elements(scales, len(axes))
    if any(isinstance(factor, float) and factor <= 0 for factor in factors):
        raise graph.TypeRuleError(f"scales {factors} are not all positive")
    sizes: list[Size | None] = [
        _scaled_size(shape[axis], factor) for axis, factor in zip(axes, factors, strict=True)
    ]
    if None in sizes:
        extents = graph.cast(graph.sizes(sizes=[shape[a] for a in axes]), to=_F32)
        scaled = graph.floor(graph.mul(extents, graph.cast(scales, to=_F32)))
        computed = require_sizes(graph.cast(scaled, to=np.int64), node, "size")
        sizes = [new if size is None else size for size, new in zip(sizes, computed, strict=True)]
    each = zip(axes, sizes, factors, regions, strict=True)
    return [Axis(a, shape[a], size, scale, region) for a, size, scale, region in each]  # type: ignore[arg-type]


def _scaled_size(extent: Size, scale: Scalar) -> Size | None:
    """The whole part of the product in f32, as ONNX Runtime computes it: 1.3, which is a little
    less in f32, makes 116 of 90, not 117. None where that is left to the run."""
    if not isinstance(scale, float):
        return None
    if isinstance(extent, int):
        return int(np.float32(extent) * np.float32(scale))
    fraction = Fraction(scale).limit_denominator(_DENOMINATORS)
    rounded = np.float32(fraction.numerator / fraction.denominator)
    if rounded != np.float32(scale) or fraction.numerator > _LARGEST_NUMERATOR:
        return None
    if Fraction(scale) < fraction:  # whose products may fall below a whole number
        return None
    return floordiv(extent * fraction.numerator, fraction.denominator)


def axes_that_keep_sizes(axes: Sequence[Axis], one_by_one: bool) -> list[Axis]:
    """`axes` of which those that keep their size keep their elements, if all do or `one_by_one`.

    The operator's text has a scale for this, size by extent, which the one that is given may
    exceed: that is 1.3 for 3 elements that stay 3. ONNX Runtime copies where no axis changes its
    size and, where it filters (antialias), any such axis; PyTorch copies any.
    """
    same = [_keeps_size(axis) for axis in axes]
    if not one_by_one:
        same = [_all(same)] * len(axes)
    return [replace(axis, keeps=keeps) for axis, keeps in zip(axes, same, strict=True)]


def _keeps_size(axis: Axis) -> bool | ir.Value:
    if axis.size == axis.extent:
        return True
    sizes_known = isinstance(axis.size, int) and isinstance(axis.extent, int)
    if sizes_known or (isinstance(axis.scale, float) and not 1 <= axis.scale < 2):
        return False
    return graph.equal(graph.size_scalar(axis.size), graph.size_scalar(axis.extent))


def _all(conditions: Sequence[bool | ir.Value]) -> bool | ir.Value:
    if False in conditions:
        return False
    unknown = [condition for condition in conditions if isinstance(condition, ir.Value)]
    total: bool | ir.Value = True
    for condition in unknown:
        total = condition if total is True else graph.and_(total, condition)
    return total


def axes_from_sizes(
    x: ir.Value,
    sizes: ir.Value,
    axes: Sequence[int],
    regions: Sequence[Region],
    policy: str,
    node: Node,
) -> list[Axis]:
    """The axes to resize, from the size of each of `axes`, or the size that it must fit."""
    shape = graph.type_of(x).shape
    sizes = of_length(sizes, len(axes))
    _require_length(sizes, "sizes", axes)
    if policy == "stretch":
        wanted = require_sizes(sizes, node, "size")
        each = zip(axes, wanted, regions, strict=True)
        return [_sized_axis(axis, shape[axis], size, region) for axis, size, region in each]
    if policy not in ("not_larger", "not_smaller"):
        raise graph.TypeRuleError(f"keep_aspect_ratio_policy '{policy}' is unknown")
    fitted, scale = _fitted(sizes, [shape[axis] for axis in axes], policy, node)
    each = zip(axes, fitted, regions, strict=True)
    return [Axis(axis, shape[axis], size, scale, region) for axis, size, region in each]


def _sized_axis(axis: int, extent: Size, size: Size, region: Region) -> Axis:
    if isinstance(extent, int) and isinstance(size, int):
        if extent == 0 and size != 0:
            raise graph.TypeRuleError(f"cannot resize axis {axis}, which is empty, to {size}")
        scale = float(np.float32(size) / np.float32(max(extent, 1)))
        return Axis(axis, extent, size, scale, region)
    factor = floordiv(size, extent)
    if isinstance(factor, int) and extent * factor == size:
        return Axis(axis, extent, size, float(factor), region)
    return Axis(axis, extent, size, graph.div(number(size), number(extent)), region)


def _fitted(
    sizes: ir.Value, extents: Sequence[Size], policy: str, node: Node
) -> tuple[Sequence[Size], Scalar]:
    """The sizes that keep the ratios of `extents`, and the scale of all of them.

    In f32, as ONNX and ONNX Runtime infer sizes.
    """
    known, half = graph.known_sizes(sizes), np.float32(0.5)
    if known is not None and all(isinstance(size, int) for size in (*known, *extents)):
        lengths = np.array(extents, np.float32)
        ratios = np.array(known, np.float32) / lengths
        scale = ratios.min() if policy == "not_larger" else ratios.max()
        return [int(size) for size in np.floor(lengths * scale + half)], float(scale)
    lengths = graph.cast(graph.sizes(sizes=list(extents)), to=_F32)
    ratios = graph.div(graph.cast(sizes, to=_F32), lengths)
    reduce = graph.reduce_min if policy == "not_larger" else graph.reduce_max
    scale = reduce(ratios, axes=[0], keepdims=False)
    rounded = graph.floor(graph.add(graph.mul(lengths, scale), number(float(half))))
    return require_sizes(graph.cast(rounded, to=np.int64), node, "size"), scale


def regions_of(roi: ir.Value | None, count: int) -> list[Region]:
    """The regions that tf_crop_and_resize crops from `count` axes."""
    if roi is None or graph.type_of(roi).shape != (2 * count,):
        raise graph.TypeRuleError(f"tf_crop_and_resize needs a roi of {2 * count} elements")
    values = _elements(roi, 2 * count)
    return list(zip(values[:count], values[count:], strict=True))


def _elements(value: ir.Value, count: int) -> list[Scalar]:
    """The elements of a float tensor of `count`, as numbers where they are known."""
    try:
        return [float(v) for v in require_constant(value, "scales").astype(np.float32).ravel()]
    except UnsupportedError:
        value = graph.cast(value, to=_F32)
        parts = [graph.slice_(value, starts=[i], sizes=[1], steps=[1]) for i in range(count)]
        return [graph.reshape(part, shape=[]) for part in parts]


def _require_length(value: ir.Value, name: str, axes: Sequence[int]) -> None:
    if graph.type_of(value).shape != (len(axes),):
        raise graph.TypeRuleError(f"{name} must have {len(axes)} elements: {graph.type_of(value)}")
