"""Shardings: the axis of a tensor that is divided among ranks, and the form that an op has then."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....dialects import graph
from ....mlir import ir
from ...infra.rewrite import Decline


@dataclass(frozen=True)
class Mesh:
    """The ranks of a program, and the name of their group."""

    ranks: int
    axis: str


@dataclass(frozen=True)
class Sharding:
    """A tensor of which `axis` is divided among ranks, each of its `sections` evenly."""

    axis: int
    sections: tuple[int, ...]

    @property
    def size(self) -> int:
        """The size of the axis on all ranks together."""
        return sum(self.sections)

    def on(self, axis: int) -> "Sharding":
        """The same sections of another axis."""
        return Sharding(axis, self.sections)

    def local(self, sizes: Sequence[Any], mesh: Mesh) -> tuple[Any, ...]:
        """`sizes`, one for each axis, on one rank."""
        part = self.size // mesh.ranks
        return tuple(part if axis == self.axis else size for axis, size in enumerate(sizes))

    def problem(self, mesh: Mesh) -> str | None:
        """The reason why the ranks cannot have equal parts, or None."""
        for size in self.sections:
            if size == 0 or size % mesh.ranks:
                return f"{mesh.ranks} ranks do not divide {size}"
        return None


Request = Sharding | None
"""The sharding that an operand needs; None if each rank needs all of it."""


@dataclass(frozen=True)
class LocalForm:
    """The form of an op on one rank: what it needs of each operand group, and attributes that
    change."""

    operands: Sequence["Request | list[Request]"]
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def parts(self, op: Any) -> Iterator[tuple[ir.Value, Sharding]]:
        """The operands of `op` that a rank needs a part of, and which part."""
        for group, requests in zip(op.operand_groups.values(), self.operands, strict=True):
            several = isinstance(requests, list)
            pairs = zip(group, requests, strict=True) if several else [(group, requests)]
            yield from ((value, each) for value, each in pairs if each is not None)

    def map(self, op: Any, function: Callable[[ir.Value, Request], Any]) -> list[Any]:
        """`function` of each operand of `op` and what a rank needs of it, in operand groups."""
        found: list[Any] = []
        for group, requests in zip(op.operand_groups.values(), self.operands, strict=True):
            if isinstance(requests, list):
                found.append([function(x, r) for x, r in zip(group, requests, strict=True)])
            else:
                found.append(None if group is None else function(group, requests))
        return found


def whole_axis(value: ir.Value, axis: int) -> Sharding:
    """The sharding of `axis`, counted from the end if negative, in one section.

    Raises `Decline` for a size that is not known.
    """
    shape = graph.type_of(value).shape
    size = shape[axis]
    if not isinstance(size, int):
        raise Decline(f"the size {size} is not known at compile time")
    return Sharding(axis % len(shape), (size,))


def aligned(value: ir.Value, result: ir.Value, sharding: Sharding) -> Request:
    """The need of an operand that broadcasts to `result`."""
    shape, rank = graph.type_of(value).shape, graph.type_of(result).rank
    axis = sharding.axis - rank + len(shape)
    return None if axis < 0 or shape[axis] == 1 else sharding.on(axis)


def split_sections(sharding: Sharding, sizes: Sequence[int | Any], index: int) -> tuple[int, ...]:
    """The sections of an axis that splits into `sizes`, of which that at `index` has `sharding`."""
    outer, inner = (_product(part) for part in (sizes[:index], sizes[index + 1 :]))
    return tuple(size * inner for size in sharding.sections) * outer


def merged_axis(sharding: Sharding, sizes: Sequence[int | Any], mesh: Mesh) -> tuple[int, Sharding]:
    """The position in `sizes` of the axis that is divided where these, merged, have `sharding`,
    and its own sharding. Raises `Decline`."""
    for index, size in enumerate(sizes):
        outer, inner = _product(sizes[:index]), _product(sizes[index + 1 :])
        count, rest = divmod(len(sharding.sections), outer)
        if rest or not isinstance(size, int):
            continue
        first = sharding.sections[:count]
        if first * outer != sharding.sections or any(section % inner for section in first):
            continue
        found = Sharding(index, tuple(section // inner for section in first))
        if found.problem(mesh) is None:
            return index, found
    listing = "x".join(map(str, sizes))
    raise Decline(f"{mesh.ranks} ranks do not divide its {listing} elements by an axis")


def _product(sizes: Iterable[int | Any]) -> int:
    numbers = list(sizes)
    if not all(isinstance(size, int) for size in numbers):
        raise Decline("sizes of the axes around are not known at compile time")
    return math.prod(numbers)
