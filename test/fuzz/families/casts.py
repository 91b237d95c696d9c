"""Chains of casts through narrow types, each of which rounds."""

from dataclasses import replace

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value, element_type, is_on_grid

_WIDE = ("float32", "float64")
_NARROW = ("float16", "bfloat16")


@draws(weight=2, since=13)
def narrow_casts(b: GraphBuilder) -> None:
    """Casts of exact values through narrow types, with or without arithmetic there, and back.

    The rounding of each step is well defined, so the result is known to the last bit.
    """
    x = b.take(types=(*_WIDE, "float16"), exact=True)
    for _ in range(b.integer(1, 3)):
        x = _cast(b, x, b.choose([name for name in (*_NARROW, *_WIDE) if name != x.dtype.name]))
        if x.dtype.name in _NARROW and b.chance(0.4):
            (x,) = b.add(b.choose(("Add", "Mul")), [x, x])
    if x.dtype.name in _NARROW:
        x = _cast(b, x, b.choose(_WIDE))
    if is_on_grid(x.array):
        b.values[-1] = replace(x, exact=True, precision=x.dtype.name)


def _cast(b: GraphBuilder, x: Value, to: str) -> Value:
    (y,) = b.add("Cast", [x], to=element_type(to))
    return y
