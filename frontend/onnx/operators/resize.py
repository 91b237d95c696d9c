"""Resize: one axis after another, by gathers (nearest) or sums of a few elements."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import Node, onnx_op
from .evaluation import evaluated
from .resized_axes import (
    WHOLE,
    Axis,
    Region,
    Size,
    axes_from_scales,
    axes_from_sizes,
    axes_that_keep_sizes,
    number,
    regions_of,
)
from .shapes import normalize_axis, positions, require_sizes

_CROP = "tf_crop_and_resize"
_COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    _CROP,
)
_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


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
    axes = [axis for axis in axes if not axis.is_copied]
    if form.mode == "nearest":
        return _extrapolated(_sampled(x, axes, form), axes, form)
    if not graph.is_float(dtype):
        x = graph.cast(x, to=_F32)
    for axis in axes:
        radius = _radius(axis, form, node)
        indices, weights = _table(axis, lambda axis=axis, r=radius: _taps(axis, form, r))
        weights = weights if dtype != np.float64 else graph.cast(weights, to=np.float64)
        x = graph.interpolate(x, indices, weights, axis=axis.axis)
    x = _extrapolated(x, axes, form)
    if form.antialias and axes and not graph.is_float(dtype):
        x = graph.floor(graph.add(x, graph.splat_like(0.5, x)))  # other sums are cut off
    return graph.cast(x, to=dtype)


def _sampled(x: ir.Value, axes: Sequence[Axis], form: Form) -> ir.Value:
    """`x` resized to the nearest elements: whole factors repeat elements or leave some out."""
    repeats, others = [1] * graph.type_of(x).rank, list[Axis]()
    for axis in axes:
        if axis.factor > 1 and _repeats(form):
            repeats[axis.axis] = axis.factor
        elif axis.divisor > 1 and form.coordinates in _FIRST_SAMPLES:
            x = _every_nth(x, axis, form)
        else:
            others.append(axis)
    if max(repeats, default=1) > 1:
        x = graph.repeat(x, repeats=repeats)
    for axis in others:
        (indices,) = _table(axis, lambda axis=axis: [_nearest(axis, form)])
        x = _taken(x, indices, axis.axis)
    return x


def _taken(x: ir.Value, indices: ir.Value, axis: int) -> ir.Value:
    """The slices of `x` at `indices`, all of which are inside. Those of f32 are interpolations of
    one element: these have a kernel, which moves rows of an image as vectors."""
    if graph.type_of(x).dtype != _F32:
        return graph.gather(x, indices, axis=axis)
    shape = (*graph.type_of(indices).shape, 1)
    weights = graph.expand(graph.constant(value=np.ones((1, 1), _F32)), shape=shape)
    return graph.interpolate(x, graph.reshape(indices, shape=shape), weights, axis=axis)


_HALF_PIXEL = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")


def _repeats(form: Form) -> bool:
    """Return whether a whole factor ``f`` maps element ``i`` of the result to element ``i // f``.

    With half-pixel coordinates, the element is less than half a pixel away from each of its copies,
    so that rounding finds it; with others, it is that before the coordinate.
    """
    if form.coordinates in _HALF_PIXEL:
        return form.rounding.startswith("round")
    return form.coordinates in ("asymmetric", "tf_half_pixel_for_nn") and form.rounding == "floor"


_FIRST_SAMPLES: dict[str, Callable[[int, str], int]] = {
    "asymmetric": lambda divisor, rounding: 0,
    "half_pixel": lambda divisor, rounding: divisor // 2 - 1 + rounding.endswith("ceil"),
    "tf_half_pixel_for_nn": lambda divisor, rounding: divisor // 2,
}
"""The element of `x` that becomes the first of the result where an axis shrinks by an even number:
with half-pixel coordinates, one of the two beside the coordinate."""


def _every_nth(x: ir.Value, axis: Axis, form: Form) -> ir.Value:
    """Every ``axis.divisor``-th element of `x`."""
    shape = graph.type_of(x).shape
    starts, steps, sizes = [0] * len(shape), [1] * len(shape), list(shape)
    first_sample = _FIRST_SAMPLES[form.coordinates]
    starts[axis.axis] = first_sample(axis.divisor, form.rounding)
    steps[axis.axis], sizes[axis.axis] = axis.divisor, axis.size
    return graph.slice_(x, starts=starts, sizes=sizes, steps=steps)


def _table(axis: Axis, build: Callable[[], Sequence[ir.Value]]) -> list[ir.Value]:
    return evaluated(build) if axis.is_known else list(build())


# Formulas on graph values


def _coordinates(axis: Axis, form: Form) -> ir.Value:
    """The coordinate in `x` of each element of the result: f32 [size]."""
    position = graph.cast(positions(axis.size), to=_F32)
    if axis.keeps is True:
        return position
    moved = _moved(position, axis, form)
    return moved if axis.keeps is False else graph.where(axis.keeps, position, moved)


def _moved(position: ir.Value, axis: Axis, form: Form) -> ir.Value:
    """The formulas of the operator's text.

    The length of the result is that of the tensor, not the product of scale and extent, of which
    that is the whole part: so the text has it, and ONNX Runtime and PyTorch compute. The product
    is used in half_pixel_symmetric alone.
    """
    scale, size, extent = number(axis.scale), number(axis.size), number(axis.extent)
    one, half = number(1.0), number(0.5)
    last, steps, is_one = graph.sub(extent, one), graph.sub(size, one), graph.equal(size, one)
    match form.coordinates:
        case "asymmetric":
            return graph.div(position, scale)
        case "align_corners":
            return graph.where(is_one, number(0.0), graph.div(graph.mul(position, last), steps))
        case "tf_crop_and_resize":
            start, end = map(number, axis.region)
            way = graph.mul(graph.mul(position, graph.sub(end, start)), last)
            center = graph.mul(graph.mul(half, graph.add(start, end)), last)
            inside = graph.add(graph.mul(start, last), graph.div(way, steps))
            return graph.where(is_one, center, inside)
        case "tf_half_pixel_for_nn":
            return graph.div(graph.add(position, half), scale)
    if form.coordinates == "half_pixel_symmetric":
        adjustment = graph.div(size, graph.mul(scale, extent))
        shift = graph.mul(graph.mul(extent, half), graph.sub(one, adjustment))
        # A sum in f64, as ONNX Runtime has it: many of these coordinates are whole, or ties.
        position, scale, half, shift = (
            graph.cast(v, to=_F64) for v in (position, scale, half, shift)
        )
        center = graph.add(shift, graph.div(graph.add(position, half), scale))
        return graph.cast(graph.sub(center, half), to=_F32)
    center = graph.sub(graph.div(graph.add(position, half), scale), half)
    if form.coordinates == "pytorch_half_pixel":
        return graph.where(is_one, number(0.0), center)
    return center


_TIE = 1e-6
"""The tolerance within which a coordinate counts as a half, ONNX Runtime's. Element 4 of 6 from 20
has the coordinate 14.5, which is a little less in f32."""


def _to_nearest(x: ir.Value, is_up: Callable[..., ir.Value], tie: float) -> ir.Value:
    """`x` rounded: up where what its fraction exceeds a half by is `is_up` to `tie`."""
    base = graph.floor(x)
    excess = graph.sub(graph.sub(x, base), number(0.5))
    return graph.where(is_up(excess, number(tie)), graph.add(base, number(1.0)), base)


_ROUNDINGS: dict[str, Callable[[ir.Value], ir.Value]] = {
    "round_prefer_floor": lambda x: _to_nearest(x, graph.greater, _TIE),
    "round_prefer_ceil": lambda x: _to_nearest(x, graph.greater_or_equal, -_TIE),
    "floor": lambda x: graph.floor(x),
    "ceil": lambda x: graph.ceil(x),
}


def _nearest(axis: Axis, form: Form) -> ir.Value:
    """The index in `x` that each element of the result copies."""
    position = graph.cast(_ROUNDINGS[form.rounding](_coordinates(axis, form)), to=np.int64)
    return graph.max_(
        graph.min_(position, graph.size_scalar(axis.extent - 1)), graph.size_scalar(0)
    )


def _radius(axis: Axis, form: Form, node: Node) -> Size:
    """The number of taps on each side of a coordinate."""
    support = 1 if form.mode == "linear" else 2
    if not form.antialias:
        return support
    if not isinstance(axis.scale, ir.Value):
        return math.ceil(support / min(axis.scale, 1.0))
    scale = graph.min_(axis.scale, number(1.0))
    radius = graph.ceil(graph.div(number(float(support)), scale))
    (size,) = require_sizes(graph.cast(radius, to=np.int64), node, "radius")
    return size


def _taps(axis: Axis, form: Form, radius: Size) -> tuple[ir.Value, ir.Value]:
    """Indices and weights, both [size, 2 * radius]."""
    coordinate = graph.reshape(_coordinates(axis, form), shape=[axis.size, 1])
    base = graph.floor(coordinate)
    offset = graph.sub(graph.cast(positions(2 * radius), to=_F32), number(radius - 1))
    position = graph.add(base, offset)
    distance = graph.abs_(graph.sub(offset, graph.sub(coordinate, base)))
    if form.antialias:
        distance = graph.mul(distance, graph.min_(number(axis.scale), number(1.0)))
    weight = _hat(distance) if form.mode == "linear" else _cubic(distance, form)
    if form.exclude_outside:
        outside = graph.or_(
            graph.less(position, number(0.0)),
            graph.greater_or_equal(position, number(axis.extent)),
        )
        weight = graph.where(outside, number(0.0), weight)
    if form.exclude_outside or form.antialias:
        weight = graph.div(weight, graph.reduce_sum(weight, axes=[1], keepdims=True))
    return graph.cast(position, to=np.int64), weight


def _hat(distance: ir.Value) -> ir.Value:
    return graph.max_(graph.sub(number(1.0), distance), number(0.0))


def _cubic(distance: ir.Value, form: Form) -> ir.Value:
    """The kernel of cubic convolution."""
    a = form.cubic_coefficient
    near = _polynomial(distance, [a + 2, -(a + 3), 0.0, 1.0])
    far = _polynomial(distance, [a, -5 * a, 8 * a, -4 * a])
    far = graph.where(graph.less(distance, number(2.0)), far, number(0.0))
    return graph.where(graph.less_or_equal(distance, number(1.0)), near, far)


def _polynomial(x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    total = number(coefficients[0])
    for coefficient in coefficients[1:]:
        total = graph.add(graph.mul(total, x), number(coefficient))
    return total


def _extrapolated(x: ir.Value, axes: Sequence[Axis], form: Form) -> ir.Value:
    """`x` with the value for what is outside where a crop reaches beyond an axis."""
    if form.coordinates != _CROP:
        return x
    for axis in axes:
        (outside,) = _table(axis, lambda axis=axis: [_is_outside(axis, form)])
        behind = [1] * (graph.type_of(x).rank - axis.axis - 1)
        outside = graph.reshape(outside, shape=[axis.size, *behind])
        x = graph.where(outside, graph.splat_like(form.extrapolation_value, x), x)
    return x


def _is_outside(axis: Axis, form: Form) -> ir.Value:
    coordinate = _coordinates(axis, form)
    last = graph.sub(number(axis.extent), number(1.0))
    return graph.or_(graph.less(coordinate, number(0.0)), graph.greater(coordinate, last))


# Attributes of a node


def _given(value: ir.Value | None) -> TypeGuard[ir.Value]:
    """Return whether an optional input is given; an input without elements counts as left out."""
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
    return _by_scales(x, scales, every, [WHOLE] * len(every), form, node)


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
    regions = [WHOLE] * len(which)
    if coordinate_transformation_mode == _CROP:
        regions = regions_of(roi, len(which))
    if _given(scales):
        return _by_scales(x, scales, which, regions, form, node)
    assert sizes is not None
    policy = keep_aspect_ratio_policy
    return resize(x, axes_from_sizes(x, sizes, which, regions, policy, node), form, node)


def _by_scales(
    x: ir.Value,
    scales: ir.Value,
    axes: Sequence[int],
    regions: Sequence[Region],
    form: Form,
    node: Node,
) -> ir.Value:
    resized = axes_from_scales(x, scales, axes, regions, node)
    if form.coordinates != _CROP:
        resized = axes_that_keep_sizes(resized, one_by_one=form.antialias)
    return resize(x, resized, form, node)
