"""Attributes of operators that slide windows: padding, strides, dilations, rounding."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim, at_least, ceildiv, floordiv, maximum, minimum
from ....mlir import ir

Extra = Callable[[int | Dim, int | Dim, int, int | Dim, int | Dim], int | Dim]
"""Padding that is added at the end of an axis, by its extent, the window's span and stride, and the
padding before and after."""


@dataclass(frozen=True)
class Window:
    """Window attributes with every default resolved, one entry per spatial axis.

    `low`, `high` and `extra` are symbolic where the padding depends on an unknown size;
    `apply_symbolic` makes them numbers. `extra` is padding at the end that the node did not ask
    for: room for the rest of a window that begins in the image.
    """

    kernel: tuple[int | Dim, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int | Dim, ...]
    high: tuple[int | Dim, ...]
    extra: tuple[int | Dim, ...]

    @property
    def full_high(self) -> tuple[int | Dim, ...]:
        """Padding at the end, whoever asked for it."""
        return tuple(a + b for a, b in zip(self.high, self.extra, strict=True))

    @property
    def static_kernel(self) -> graph.StaticShape:
        """`kernel` where it is known. ValueError when it is not; likewise for the padding."""
        return tuple(map(graph.static_size, self.kernel))

    @property
    def static_low(self) -> graph.StaticShape:
        return tuple(map(graph.static_size, self.low))

    @property
    def static_high(self) -> graph.StaticShape:
        return tuple(map(graph.static_size, self.high))

    @property
    def static_extra(self) -> graph.StaticShape:
        return tuple(map(graph.static_size, self.extra))

    @property
    def is_symbolic(self) -> bool:
        """True if the padding depends on sizes that are only known at run time."""
        return any(isinstance(size, Dim) for size in (*self.low, *self.high, *self.extra))


def resolve_window(
    extents: Sequence[int | Dim],
    kernel: Sequence[int | Dim],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
    extra: Extra | None = None,
) -> Window:
    """Resolve what a node says, with the padding at the end of each axis that `extra` adds to it.

    TypeRuleError for lists of wrong length or unknown `auto_pad`.
    """
    rank = len(extents)
    strides = [1] * rank if strides is None else list(strides)
    dilations = [1] * rank if dilations is None else list(dilations)
    for name, values in (("kernel_shape", kernel), ("strides", strides), ("dilations", dilations)):
        known = [value for value in values if isinstance(value, int)]
        if len(values) != rank or min(known, default=1) < 1:
            raise graph.TypeRuleError(f"{name} {list(values)} does not fit {rank} spatial axes")
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    low, high = _padding(extents, spans, strides, pads, auto_pad)
    more: list[int | Dim] = [0] * rank
    if extra is not None and not auto_pad.startswith("SAME"):  # which has no incomplete windows
        more = [extra(*axis) for axis in zip(extents, spans, strides, low, high, strict=True)]
    return Window(
        tuple(kernel), tuple(strides), tuple(dilations), tuple(low), tuple(high), tuple(more)
    )


def _padding(
    extents: Sequence[int | Dim],
    spans: Sequence[int | Dim],
    strides: Sequence[int],
    pads: Sequence[int] | None,
    auto_pad: str,
) -> tuple[list[int | Dim], list[int | Dim]]:
    rank = len(extents)
    if auto_pad in ("NOTSET", ""):
        pads = [0] * (2 * rank) if pads is None else list(pads)
        if len(pads) != 2 * rank or min(pads, default=0) < 0:
            raise graph.TypeRuleError(f"pads {pads} does not fit {rank} spatial axes")
        return [*pads[:rank]], [*pads[rank:]]
    if auto_pad == "VALID":
        return [0] * rank, [0] * rank
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise graph.TypeRuleError(f"auto_pad '{auto_pad}' is unknown")
    totals = [_same_total(*axis) for axis in zip(extents, spans, strides, strict=True)]
    less = [floordiv(total, 2) for total in totals]
    more = [total - half for total, half in zip(totals, less, strict=True)]
    return (less, more) if auto_pad == "SAME_UPPER" else (more, less)


def _same_total(extent: int | Dim, span: int | Dim, stride: int) -> int | Dim:
    """Padding that gives ``ceil(extent / stride)`` output positions."""
    if stride == 1:
        return span - 1
    return maximum((ceildiv(extent, stride) - 1) * stride + span - extent, 0)


def rounded_up(
    extent: int | Dim, span: int | Dim, stride: int, low: int | Dim, high: int | Dim
) -> int | Dim:
    """Padding that makes room for one more window, if one begins before the padding at the end."""
    if stride == 1:
        return 0
    rest = extent + low + high - span
    if isinstance(high, int) and isinstance(span, int) and high + stride <= span:
        # No window begins in the padding.
        return -rest % stride if isinstance(rest, int) else stride - 1
    begin = minimum(ceildiv(rest, stride), ceildiv(extent + low, stride) - 1) * stride
    return maximum(begin - rest, 0)


def rounded_to_zero(
    extent: int | Dim, span: int | Dim, stride: int, low: int | Dim, high: int | Dim
) -> int | Dim:
    """Padding that makes room for one window where none fits, but one does if the axis is longer by
    less than `stride`.

    ONNX Runtime counts the steps behind the first window as ``(padded - span) / stride``, which
    rounds towards zero: a step short of one back is none.
    """
    rest = extent + low + high - span
    if stride == 1 or at_least(rest, 0) or at_least(low + high + 1, span):  # no image is empty
        return 0
    return minimum(maximum(-rest, 0), stride - 1)


def apply_symbolic(x: ir.Value, window: Window, value: float) -> tuple[ir.Value, Window]:
    """`x` padded with `value` where the padding is symbolic, and the window without it."""
    if not window.is_symbolic:
        return x, window
    zeros = (0,) * len(window.low)
    x = pad_spatial(x, window.low, window.full_high, value)
    return x, replace(window, low=zeros, high=zeros, extra=zeros)


def pad_spatial(
    x: ir.Value, low: Sequence[int | Dim], high: Sequence[int | Dim], value: float
) -> ir.Value:
    """`x`, [N, C, spatial...], with `value` at the borders of its spatial axes."""
    padding = graph.constant(value=np.array(value, graph.type_of(x).dtype))
    return graph.pad(x, padding, low=[0, 0, *low], high=[0, 0, *high])
