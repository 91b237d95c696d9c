"""Resize: one axis after another, by gathers (nearest) or sums of a few elements."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import Dim, floordiv
from ...mlir import ir
from .evaluation import evaluated
from .registry import Node, UnsupportedError, onnx_op
from .shapes import (
    normalize_axis,
    of_length,
    positions,
    require_constant,
    require_sizes,
    size_scalar,
)

Size = int | Dim
Scalar = float | ir.Value
"""A number, or an f32 scalar that is computed when the model runs."""

_COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
_F32 = np.dtype(np.float32)
_DENOMINATORS = 4096
"""A scale is read as the fraction that it rounds, if that has a denominator up to this."""


@dataclass(frozen=True)
class Axis:
    """An axis of `extent` elements that gets `size`."""

    axis: int
    extent: Size
    size: Size
    scale: Scalar
    length: Scalar
    """``scale * extent``, of which `size` is the whole part."""
    roi: tuple[Scalar, Scalar]

    @property
    def is_known(self) -> bool:
        numbers = (self.scale, self.length, *self.roi)
        return isinstance(self.extent, int) and isinstance(self.size, int) and all(
            isinstance(number, float) for number in numbers
        )  # fmt: skip


@dataclass(frozen=True)
class Form:
    """The attributes of Resize."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    rounding: str = "round_prefer_floor"
    cubic_coefficient: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    extrapolation_value: float = 0.0

    def check(self) -> None:
        if self.mode not in graph.INTERPOLATIONS or self.coordinates not in _COORDINATES:
            raise graph.TypeRuleError(
                f"mode '{self.mode}' or coordinates '{self.coordinates}' is unknown"
            )
        if self.rounding not in _ROUNDINGS:
            raise graph.TypeRuleError(f"nearest_mode '{self.rounding}' is unknown")
        if self.antialias and self.mode == "nearest":
            raise graph.TypeRuleError("mode 'nearest' has no antialiasing")


def resize(x: ir.Value, axes: Sequence[Axis], form: Form, node: Node) -> ir.Value:
    """`x` with `axes` resized."""
    form.check()
    dtype = graph.type_of(x).dtype
    axes = [axis for axis in axes if not _is_identity(axis, form)]
    if form.mode == "nearest":
        for axis in axes:
            (places,) = _table(axis, lambda axis=axis: [_nearest(axis, form)])
            x = graph.gather(x, places, axis=axis.axis)
        return _extrapolated(x, axes, form)
    if not graph.is_float(dtype):
        x = graph.cast(x, to=_F32)
    for axis in axes:
        radius = _radius(axis, form, node)
        places, weights = _table(axis, lambda axis=axis, r=radius: _taps(axis, form, r))
        weights = weights if dtype != np.float64 else graph.cast(weights, to=np.float64)
        x = graph.interpolate(x, places, weights, axis=axis.axis)
    return graph.cast(_extrapolated(x, axes, form), to=dtype)


def _is_identity(axis: Axis, form: Form) -> bool:
    whole = form.coordinates != "tf_crop_and_resize" or axis.roi == (0.0, 1.0)
    return whole and axis.scale == 1.0 and axis.size == axis.extent


def _table(axis: Axis, build) -> list[ir.Value]:
    return evaluated(build) if axis.is_known else build()


# Formulas on graph values


def _number(value: Scalar | Size) -> ir.Value:
    """`value` as an f32 scalar."""
    if isinstance(value, ir.Value):
        return value
    if isinstance(value, Dim):
        return graph.cast(size_scalar(value), to=_F32)
    return graph.constant(value=np.array(value, np.float32))


def _coordinates(axis: Axis, form: Form) -> ir.Value:
    """For each element of the result, where it stands among those of `x`: f32 [size]."""
    place = graph.cast(positions(axis.size), to=_F32)
    scale, length, extent = _number(axis.scale), _number(axis.length), _number(axis.extent)
    one, half = _number(1.0), _number(0.5)
    last, steps = graph.sub(extent, one), graph.sub(length, one)
    is_one = graph.equal(length, one)
    match form.coordinates:
        case "asymmetric":
            return graph.div(place, scale)
        case "align_corners":
            return graph.where(is_one, _number(0.0), graph.div(graph.mul(place, last), steps))
        case "tf_crop_and_resize":
            start, end = map(_number, axis.roi)
            span = graph.mul(graph.sub(end, start), last)
            center = graph.mul(span, half)
            way = graph.where(is_one, center, graph.div(graph.mul(place, span), steps))
            return graph.add(graph.mul(start, last), way)
        case "tf_half_pixel_for_nn":
            return graph.div(graph.add(place, half), scale)
    center = graph.sub(graph.div(graph.add(place, half), scale), half)
    if form.coordinates == "pytorch_half_pixel":
        return graph.where(is_one, _number(0.0), center)
    if form.coordinates == "half_pixel_symmetric":
        adjustment = graph.div(_number(axis.size), length)
        shift = graph.mul(graph.mul(extent, half), graph.sub(one, adjustment))
        return graph.add(shift, center)
    return center


_ROUNDINGS = {
    "round_prefer_floor": lambda x: graph.ceil(graph.sub(x, _number(0.5))),
    "round_prefer_ceil": lambda x: graph.floor(graph.add(x, _number(0.5))),
    "floor": lambda x: graph.floor(x),
    "ceil": lambda x: graph.ceil(x),
}


def _nearest(axis: Axis, form: Form) -> ir.Value:
    """The place that each element of the result is a copy of."""
    place = graph.cast(_ROUNDINGS[form.rounding](_coordinates(axis, form)), to=np.int64)
    return graph.max_(graph.min_(place, size_scalar(axis.extent - 1)), size_scalar(0))


def _radius(axis: Axis, form: Form, node: Node) -> Size:
    """How many taps there are on each side of a coordinate."""
    support = 1 if form.mode == "linear" else 2
    if not form.antialias:
        return support
    if isinstance(axis.scale, float):
        return math.ceil(support / min(axis.scale, 1.0))
    scale = graph.min_(axis.scale, _number(1.0))
    radius = graph.ceil(graph.div(_number(float(support)), scale))
    (size,) = require_sizes(graph.cast(radius, to=np.int64), node, "radius")
    return size


def _taps(axis: Axis, form: Form, radius: Size) -> tuple[ir.Value, ir.Value]:
    """Places and weights, both [size, 2 * radius]."""
    coordinate = graph.reshape(_coordinates(axis, form), shape=[axis.size, 1])
    base = graph.floor(coordinate)
    offset = graph.sub(graph.cast(positions(2 * radius), to=_F32), _number(radius - 1))
    place = graph.add(base, offset)
    distance = graph.abs_(graph.sub(offset, graph.sub(coordinate, base)))
    if form.antialias:
        distance = graph.mul(distance, graph.min_(_number(axis.scale), _number(1.0)))
    weight = _hat(distance) if form.mode == "linear" else _cubic(distance, form)
    if form.exclude_outside:
        outside = graph.or_(
            graph.less(place, _number(0.0)),
            graph.greater_or_equal(place, _number(axis.extent)),
        )
        weight = graph.where(outside, _number(0.0), weight)
    if form.exclude_outside or form.antialias:
        weight = graph.div(weight, graph.reduce_sum(weight, axes=[1], keepdims=True))
    return graph.cast(place, to=np.int64), weight


def _hat(distance: ir.Value) -> ir.Value:
    return graph.max_(graph.sub(_number(1.0), distance), _number(0.0))


def _cubic(distance: ir.Value, form: Form) -> ir.Value:
    """The kernel of cubic convolution."""
    a = form.cubic_coefficient
    near = _polynomial(distance, [a + 2, -(a + 3), 0.0, 1.0])
    far = _polynomial(distance, [a, -5 * a, 8 * a, -4 * a])
    far = graph.where(graph.less(distance, _number(2.0)), far, _number(0.0))
    return graph.where(graph.less_or_equal(distance, _number(1.0)), near, far)


def _polynomial(x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    total = _number(coefficients[0])
    for coefficient in coefficients[1:]:
        total = graph.add(graph.mul(total, x), _number(coefficient))
    return total


def _extrapolated(x: ir.Value, axes: Sequence[Axis], form: Form) -> ir.Value:
    """`x` with the value for what is outside where a crop reaches beyond an axis."""
    if form.coordinates != "tf_crop_and_resize":
        return x
    for axis in axes:
        (outside,) = _table(axis, lambda axis=axis: [_is_outside(axis, form)])
        behind = [1] * (graph.type_of(x).rank - axis.axis - 1)
        outside = graph.reshape(outside, shape=[axis.size, *behind])
        x = graph.where(outside, graph.splat_like(form.extrapolation_value, x), x)
    return x


def _is_outside(axis: Axis, form: Form) -> ir.Value:
    coordinate = _coordinates(axis, form)
    last = graph.sub(_number(axis.extent), _number(1.0))
    return graph.or_(graph.less(coordinate, _number(0.0)), graph.greater(coordinate, last))


# What a node says


def _scaled_axis(axis: int, extent: Size, scale: Scalar, size: Size | None, roi) -> Axis:
    """An axis of which the scale is given; `size`, unless None, is what is left of it."""
    if isinstance(scale, float):
        fraction = Fraction(scale).limit_denominator(_DENOMINATORS)
        if np.float32(fraction.numerator / fraction.denominator) != np.float32(scale):
            fraction = Fraction(scale)
        if size is None:
            size = floordiv(extent * fraction.numerator, fraction.denominator)
        if isinstance(extent, int):
            return Axis(axis, extent, size, scale, float(extent * fraction), roi)
        if isinstance(size, Dim) and fraction.denominator == 1:
            return Axis(axis, extent, size, scale, _number(size), roi)
    assert size is not None
    return Axis(axis, extent, size, scale, graph.mul(_number(extent), _number(scale)), roi)


def _sized_axis(axis: int, extent: Size, size: Size, roi) -> Axis:
    if isinstance(extent, int) and isinstance(size, int):
        if extent == 0 and size != 0:
            raise graph.TypeRuleError(f"cannot resize axis {axis}, which is empty, to {size}")
        scale = float(np.float32(size) / np.float32(max(extent, 1)))
        return Axis(axis, extent, size, scale, float(size), roi)
    if extent == size:
        return Axis(axis, extent, size, 1.0, _number(size), roi)
    scale = graph.div(_number(size), _number(extent))
    length = float(size) if isinstance(size, int) else _number(size)
    return Axis(axis, extent, size, scale, length, roi)


def _elements(value: ir.Value, count: int) -> list[Scalar]:
    """The elements of a float tensor of `count`, as numbers where they are known."""
    try:
        return [float(v) for v in require_constant(value, "scales").astype(np.float32).ravel()]
    except UnsupportedError:
        value = graph.cast(value, to=_F32)
        parts = [graph.slice_(value, starts=[i], sizes=[1], steps=[1]) for i in range(count)]
        return [graph.reshape(part, shape=[]) for part in parts]


def _regions(roi: ir.Value | None, count: int, form: Form) -> list[tuple[Scalar, Scalar]]:
    """Start and end of the region of each axis, in lengths of the axis."""
    if form.coordinates != "tf_crop_and_resize":
        return [(0.0, 1.0)] * count
    if roi is None or graph.type_of(roi).shape != (2 * count,):
        raise graph.TypeRuleError(f"tf_crop_and_resize needs a roi of {2 * count} elements")
    values = _elements(roi, 2 * count)
    return list(zip(values[:count], values[count:], strict=True))


def axes_from_scales(x: ir.Value, scales: ir.Value, roi, axes, form: Form, node: Node):
    """The axes to resize, from the scale of each of `axes`."""
    shape = graph.type_of(x).shape
    scales = of_length(scales, len(axes))
    _require_length(scales, "scales", axes)
    factors = _elements(scales, len(axes))
    if any(isinstance(factor, float) and factor <= 0 for factor in factors):
        raise graph.TypeRuleError(f"scales {factors} are not all positive")
    sizes: Sequence[Size | None] = [None] * len(axes)
    if not all(isinstance(factor, float) for factor in factors):
        extents = graph.cast(graph.sizes(sizes=[shape[a] for a in axes]), to=_F32)
        scaled = graph.floor(graph.mul(extents, graph.cast(scales, to=_F32)))
        sizes = require_sizes(graph.cast(scaled, to=np.int64), node, "size")
    regions = _regions(roi, len(axes), form)
    each = zip(axes, factors, sizes, regions, strict=True)
    return [_scaled_axis(a, shape[a], scale, size, region) for a, scale, size, region in each]


def axes_from_sizes(x, sizes: ir.Value, roi, axes, form: Form, policy: str, node: Node):
    """The axes to resize, from the size of each of `axes`, or the size that it must fit."""
    shape = graph.type_of(x).shape
    sizes = of_length(sizes, len(axes))
    _require_length(sizes, "sizes", axes)
    regions = _regions(roi, len(axes), form)
    if policy == "stretch":
        wanted = require_sizes(sizes, node, "size")
        each = zip(axes, wanted, regions, strict=True)
        return [_sized_axis(axis, shape[axis], size, region) for axis, size, region in each]
    if policy not in ("not_larger", "not_smaller"):
        raise graph.TypeRuleError(f"keep_aspect_ratio_policy '{policy}' is unknown")
    wanted, extents = graph.known_sizes(sizes), [shape[axis] for axis in axes]
    choose = min if policy == "not_larger" else max
    if wanted is not None and all(isinstance(size, int) for size in (*wanted, *extents)):
        scale = choose(Fraction(w, e) for w, e in zip(wanted, extents, strict=True))  # type: ignore[arg-type]
        fitted = [math.floor(scale * extent + Fraction(1, 2)) for extent in extents]  # type: ignore[operator]
        each = zip(axes, fitted, regions, strict=True)
        return [
            Axis(a, shape[a], s, float(np.float32(scale)), float(scale * shape[a]), region)  # type: ignore[operator]
            for a, s, region in each
        ]
    return _fitted(sizes, axes, shape, policy, regions, node)


def _fitted(sizes: ir.Value, axes, shape, policy: str, regions, node: Node) -> list[Axis]:
    """As `axes_from_sizes` keeps the aspect ratio, with sizes that only the run knows."""
    extents = graph.cast(graph.sizes(sizes=[shape[axis] for axis in axes]), to=_F32)
    ratios = graph.div(graph.cast(sizes, to=_F32), extents)
    reduce = graph.reduce_min if policy == "not_larger" else graph.reduce_max
    scale = reduce(ratios, axes=[0], keepdims=False)
    rounded = graph.floor(graph.add(graph.mul(extents, scale), _number(0.5)))
    fitted = require_sizes(graph.cast(rounded, to=np.int64), node, "size")
    each = zip(axes, fitted, regions, strict=True)
    return [_scaled_axis(a, shape[a], scale, size, region) for a, size, region in each]


def _require_length(value: ir.Value, name: str, axes: Sequence[int]) -> None:
    if graph.type_of(value).shape != (len(axes),):
        raise graph.TypeRuleError(f"{name} must have {len(axes)} elements: {graph.type_of(value)}")


def _given(value: ir.Value | None) -> bool:
    """Whether an optional input is there; it may be left out by giving no elements."""
    return value is not None and 0 not in graph.type_of(value).shape


@onnx_op("Upsample")
def upsample_1(x, *, node, height_scale, width_scale, mode="nearest"):
    return upsample_7(x, node=node, scales=[1.0, 1.0, height_scale, width_scale], mode=mode)


@onnx_op("Upsample", since=7)
def upsample_7(x, *, node, scales, mode="nearest"):
    return upsample(x, graph.constant(value=np.array(scales, np.float32)), node=node, mode=mode)


@onnx_op("Upsample", since=9)
def upsample(x, scales, *, node, mode="nearest"):
    """Opset 9 and, under the name of Resize, opset 10."""
    mode = {"bilinear": "linear"}.get(mode, mode)
    form = Form(mode=mode, coordinates="asymmetric", rounding="floor")
    every = range(graph.type_of(x).rank)
    return resize(x, axes_from_scales(x, scales, None, every, form, node), form, node)


@onnx_op("Resize", since=10)
def resize_10(x, scales, *, node, mode="nearest"):
    return upsample(x, scales, node=node, mode=mode)


@onnx_op("Resize", since=11)
def resize_11(
    x,
    roi=None,
    scales=None,
    sizes=None,
    *,
    node,
    antialias=0,
    axes=None,
    coordinate_transformation_mode="half_pixel",
    cubic_coeff_a=-0.75,
    exclude_outside=0,
    extrapolation_value=0.0,
    keep_aspect_ratio_policy="stretch",
    mode="nearest",
    nearest_mode="round_prefer_floor",
):
    form = Form(
        mode=mode,
        coordinates=coordinate_transformation_mode,
        rounding=nearest_mode,
        cubic_coefficient=cubic_coeff_a,
        exclude_outside=bool(exclude_outside),
        antialias=bool(antialias),
        extrapolation_value=extrapolation_value,
    )
    form.check()
    if _given(scales) == _given(sizes):
        raise graph.TypeRuleError("needs either scales or sizes")
    rank = graph.type_of(x).rank
    which = range(rank) if axes is None else [normalize_axis(axis, rank) for axis in axes]
    if _given(scales):
        return resize(x, axes_from_scales(x, scales, roi, which, form, node), form, node)
    resized = axes_from_sizes(x, sizes, roi, which, form, keep_aspect_ratio_policy, node)
    return resize(x, resized, form, node)
