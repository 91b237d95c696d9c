"""Names for sizes whose formulas have become long.

A chain of slices by computed bounds doubles the formula of its size with each. A name ends that:
the size is computed once, and what follows is a formula of the name.
"""

from collections.abc import Callable, MutableMapping
from typing import TypeGuard

from ....dialects import graph
from ....dialects.symbolic import LONG, Dim
from ....mlir import ir


def with_short_sizes(
    value: ir.Value, names: MutableMapping[Dim, Dim], fresh: Callable[[str], str]
) -> ir.Value:
    """`value`, of a type in which sizes with long formulas have `names`; missing ones are added,
    spelled as `fresh` says."""
    shape = graph.type_of(value).shape
    if not any(map(_is_long, shape)):
        return value

    def short(size: int | Dim) -> int | Dim:
        if not _is_long(size):
            return size
        if size not in names:
            name = fresh("size")
            graph.bind_sizes(graph.sizes(sizes=[size]), names=[name])
            names[size] = Dim.symbol(name)
        return names[size]

    sizes = list(map(short, shape))
    return graph.slice_(value, starts=[0] * len(sizes), sizes=sizes, steps=[1] * len(sizes))


def _is_long(size: int | Dim) -> TypeGuard[Dim]:
    return isinstance(size, Dim) and size.atoms > LONG
