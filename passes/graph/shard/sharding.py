"""Shardings: the axis of a tensor that is divided among ranks, and the form that an op has then."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ....dialects import graph
from ....dialects.graph.movement import element_count
from ....dialects.symbolic import Dim
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
    repeats: int | Dim = 1
    """The number of times that the sections repeat, if it is a named size: the heads of each batch
    in one axis."""

    @property
    def size(self) -> int | Dim:
        """The size of the axis on all ranks together."""
        return self.repeats * sum(self.sections)

    def on(self, axis: int) -> "Sharding":
        """The same sections of another axis."""
        return replace(self, axis=axis)

    def local(self, sizes: Sequence[Any], mesh: Mesh) -> tuple[Any, ...]:
        """`sizes`, one for each axis, on one rank."""
        part = self.repeats * (sum(self.sections) // mesh.ranks)
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


def split_axis(sharding: Sharding, sizes: Sequence[int | Dim], index: int) -> Sharding:
    """The sharding of axis 0 that splits into `sizes`, of which that at `index` has `sharding`.
    Raises `Decline`."""
    outer, inner = element_count(sizes[:index]), _known(element_count(sizes[index + 1 :]))
    sections = tuple(size * inner for size in sharding.sections)
    if isinstance(outer, int) and sharding.repeats == 1:
        return Sharding(0, sections * outer)
    return Sharding(0, sections, sharding.repeats * outer)


def merged_axis(sharding: Sharding, sizes: Sequence[int | Dim], mesh: Mesh) -> Sharding:
    """The axis of `sizes` that is divided where these, merged to one axis, have `sharding`.
    Raises `Decline`."""
    for index, size in enumerate(sizes):
        outer, inner = element_count(sizes[:index]), element_count(sizes[index + 1 :])
        found = _unrepeated(sharding, outer)
        if found is None or not isinstance(inner, int):
            continue
        if any(section % inner for section in found.sections):
            continue
        sections = tuple(section // inner for section in found.sections)
        mine = Sharding(index, sections, found.repeats)
        if mine.size == size and mine.problem(mesh) is None:
            return mine
    listing = "x".join(map(str, sizes))
    raise Decline(f"{mesh.ranks} ranks do not divide its {listing} elements by an axis")


def _unrepeated(sharding: Sharding, count: int | Dim) -> Sharding | None:
    """The sharding of which `sharding` is `count` repetitions, or None."""
    if count == 1:
        return sharding
    for times in range(1, len(sharding.sections) + 1):
        first = sharding.sections[: len(sharding.sections) // times]
        if first * times == sharding.sections:
            if count == times:
                return replace(sharding, sections=first)
            if count == sharding.repeats * times:
                return replace(sharding, sections=first, repeats=1)
    return None


def _known(size: int | Dim) -> int:
    if isinstance(size, int):
        return size
    raise Decline(f"the size {size} of the axes behind is not known at compile time")
