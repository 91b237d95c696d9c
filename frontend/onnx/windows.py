"""Attributes of operators that slide windows: padding, strides, dilations, rounding."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects import graph
from ...dialects.symbolic import Dim
from .registry import UnsupportedError


@dataclass(frozen=True)
class Window:
    """Window attributes with every default resolved, one entry per spatial axis.

    `extra` is padding at the end that only `ceil_mode` asked for.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    extra: tuple[int, ...]


def resolve_window(
    extents: Sequence[int | Dim],
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: bool = False,
) -> Window:
    """Resolve what a node says. TypeRuleError for lists of wrong length or unknown `auto_pad`."""
    rank = len(extents)
    strides = [1] * rank if strides is None else list(strides)
    dilations = [1] * rank if dilations is None else list(dilations)
    for name, values in (("kernel_shape", kernel), ("strides", strides), ("dilations", dilations)):
        if len(values) != rank or min(values, default=1) < 1:
            raise graph.TypeRuleError(f"{name} {list(values)} does not fit {rank} spatial axes")
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    low, high = _padding(extents, spans, strides, pads, auto_pad)
    extra = [0] * rank
    if ceil_mode:
        extra = [_extra(*axis) for axis in zip(extents, spans, strides, low, high, strict=True)]
    return Window(*map(tuple, (kernel, strides, dilations, low, high, extra)))


def _padding(
    extents: Sequence[int | Dim],
    spans: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int] | None,
    auto_pad: str,
) -> tuple[list[int], list[int]]:
    rank = len(extents)
    if auto_pad in ("NOTSET", ""):
        pads = [0] * (2 * rank) if pads is None else list(pads)
        if len(pads) != 2 * rank or min(pads, default=0) < 0:
            raise graph.TypeRuleError(f"pads {pads} does not fit {rank} spatial axes")
        return pads[:rank], pads[rank:]
    if auto_pad == "VALID":
        return [0] * rank, [0] * rank
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise graph.TypeRuleError(f"auto_pad '{auto_pad}' is unknown")
    totals = [_same_total(*axis) for axis in zip(extents, spans, strides, strict=True)]
    less, more = [t // 2 for t in totals], [t - t // 2 for t in totals]
    return (less, more) if auto_pad == "SAME_UPPER" else (more, less)


def _same_total(extent: int | Dim, span: int, stride: int) -> int:
    """Padding that gives ``ceil(extent / stride)`` places."""
    if stride == 1:
        return max(span - 1, 0)
    if not isinstance(extent, int):
        raise UnsupportedError("auto_pad=SAME with a stride on an axis of unknown size")
    places = -(-extent // stride)
    return max((places - 1) * stride + span - extent, 0)


def _extra(extent: int | Dim, span: int, stride: int, low: int, high: int) -> int:
    """Padding that makes room for one more window, if one begins before the padding at the end."""
    if stride == 1:
        return 0
    if not isinstance(extent, int):
        raise UnsupportedError("ceil_mode with a stride on an axis of unknown size")
    rest = (extent + low + high - span) % stride
    if rest == 0:
        return 0
    start = (extent + low + high - span) // stride * stride + stride
    return stride - rest if start < extent + low else 0
