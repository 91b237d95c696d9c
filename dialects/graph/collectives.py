"""Collectives of programs that several ranks run (SPMD).

Every rank runs the same program, and a value has one array on each rank. Most are the same on all
ranks. `all_slice` gives each rank its part of a tensor; `all_reduce` and `all_gather` combine what
the ranks have to a value that is the same on all. Types are those of one rank. The names are those
of MLIR's dialect `shard` and of Shardy; `mesh_axis` names the group of ranks.

The interpreter runs all ranks at once: where the arrays of a value differ, they are `Shards`.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...mlir import ir
from ..symbolic import Dim
from .attributes import Int, Ints, Str
from .base import (
    GraphOp,
    Tensor,
    TensorValue,
    TypeRuleError,
    builder,
    is_several,
    map_group,
)
from .elementwise import require_number
from .movement import require_axis
from .traits import MixedPrecision
from .types import TensorType, is_float


class Shards(np.ndarray):
    """The arrays of one value on all ranks, along a leading axis."""

    @classmethod
    def of(cls, arrays: Sequence[np.ndarray]) -> "Shards":
        """The value that is ``arrays[rank]`` on each rank."""
        return np.stack(arrays).view(cls)

    def on(self, rank: int) -> np.ndarray:
        """The array of one rank."""
        return self.view(np.ndarray)[rank]


def evaluate_on_ranks(
    meaning: Callable[..., Any], groups: Sequence[Any]
) -> "tuple[Shards, ...] | None":
    """The results of `meaning` on each rank, for operand groups of which some differ between ranks;
    None if all are the same everywhere."""
    counts = {len(each) for each in _arrays(groups) if isinstance(each, Shards)}
    if not counts:
        return None
    if len(counts) > 1:
        raise ValueError(f"operands are divided among {' and '.join(map(str, sorted(counts)))}")
    found: list[list[np.ndarray]] = []
    for rank in range(counts.pop()):
        given = meaning(*(_on_rank(group, rank) for group in groups))
        results = given if is_several(given) else (given,)
        found.append([np.asarray(each) for each in results])
    return tuple(map(Shards.of, zip(*found, strict=True)))


def _arrays(groups: Sequence[Any]) -> Iterator[Any]:
    for group in groups:
        yield from group if is_several(group) else (group,)


def _on_rank(group: Any, rank: int) -> Any:
    return map_group(lambda x: x.on(rank) if isinstance(x, Shards) else x, group)


class Collective(GraphOp):
    """Base of the ops that relate the values of several ranks."""

    amp = MixedPrecision.KEEP


def sum_in_rank_order(parts: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """The sum of the arrays of all ranks: the same bits wherever it is computed.

    Floats of 16 bits are summed in f32 and rounded once.
    """
    dtype = parts[0].dtype
    total = parts[0].astype(np.float32 if is_float(dtype) and dtype.itemsize < 4 else dtype)
    for part in parts[1:]:
        total += part
    return total.astype(dtype, copy=False)


def reduce_in_rank_order(parts: Sequence[np.ndarray] | np.ndarray, reduction: str) -> np.ndarray:
    """The arrays of all ranks combined by one of `REDUCTIONS`."""
    if reduction == "sum":
        return sum_in_rank_order(parts)
    return functools.reduce(np.maximum if reduction == "max" else np.minimum, list(parts))


REDUCTIONS = ("sum", "max", "min")


class AllReduceOp(Collective, name="all_reduce"):
    """`x` of all ranks combined, on each of them (MPI_Allreduce), in the order of the ranks.

    `reduction` is ``sum``, ``max`` or ``min``.
    """

    x: Tensor
    reduction: Str
    ranks: Int
    mesh_axis: Str

    @staticmethod
    def infer(x: TensorType, *, reduction: str, ranks: int, mesh_axis: str) -> TensorType:
        require_number(x)
        if reduction not in REDUCTIONS:
            raise TypeRuleError(f"'{reduction}' is none of {', '.join(REDUCTIONS)}")
        _require_mesh(ranks, mesh_axis)
        return x

    @staticmethod
    def evaluate(x: np.ndarray, *, reduction: str, ranks: int, mesh_axis: str) -> np.ndarray:
        del mesh_axis
        return reduce_in_rank_order(_parts(x, ranks), reduction)


class AllGatherOp(Collective, name="all_gather"):
    """`x` of all ranks, joined along `axis`, on each of them (MPI_Allgather).

    The inverse of `all_slice` with the same attributes: `sections` are those of the result.
    """

    along_axis = "each rank owns a part of the axis"

    x: Tensor
    axis: Int
    sections: Ints
    ranks: Int
    mesh_axis: Str

    @staticmethod
    def infer(
        x: TensorType, *, axis: int, sections: tuple[int, ...], ranks: int, mesh_axis: str
    ) -> TensorType:
        _require_mesh(ranks, mesh_axis)
        require_axis(axis, x.rank)
        _require_sections(sections, ranks)
        if not _is(x.shape[axis], sum(sections) // ranks):
            raise TypeRuleError(f"{x} is no part of sections {list(sections)} of axis {axis}")
        return _with_size(x, axis, sum(sections))

    @staticmethod
    def evaluate(
        x: np.ndarray, *, axis: int, sections: tuple[int, ...], ranks: int, mesh_axis: str
    ) -> np.ndarray:
        del mesh_axis
        return join_parts(_parts(x, ranks), axis, sections)


class AllSliceOp(Collective, name="all_slice"):
    """The part of `x` that belongs to a rank, which has all of it.

    `axis` consists of `sections`, such as queries, keys and values, each of which is divided evenly
    among the ranks in their order.
    """

    along_axis = "each rank owns a part of the axis"
    per_rank = True

    x: Tensor
    axis: Int
    sections: Ints
    ranks: Int
    mesh_axis: Str

    @staticmethod
    def infer(
        x: TensorType, *, axis: int, sections: tuple[int, ...], ranks: int, mesh_axis: str
    ) -> TensorType:
        _require_mesh(ranks, mesh_axis)
        require_axis(axis, x.rank)
        _require_sections(sections, ranks)
        if not _is(x.shape[axis], sum(sections)):
            raise TypeRuleError(f"axis {axis} of {x} does not consist of {list(sections)}")
        return _with_size(x, axis, sum(sections) // ranks)

    @staticmethod
    def evaluate(
        x: np.ndarray, *, axis: int, sections: tuple[int, ...], ranks: int, mesh_axis: str
    ) -> Shards:
        del mesh_axis
        given = _parts(x, ranks)
        return Shards.of(
            [part_of_rank(x, axis, sections, ranks, rank) for rank, x in enumerate(given)]
        )


def ranges_of_rank(sections: Sequence[int], ranks: int, rank: int) -> list[tuple[int, int]]:
    """The start and the size of what a rank owns of each section of an axis."""
    starts = [sum(sections[:number]) for number in range(len(sections))]
    return [
        (start + rank * (size // ranks), size // ranks)
        for start, size in zip(starts, sections, strict=True)
    ]


def part_of_rank(
    x: np.ndarray, axis: int, sections: Sequence[int], ranks: int, rank: int
) -> np.ndarray:
    """The part of `x` that belongs to `rank`: a view if there is one section."""
    parts = [
        x[(slice(None),) * axis + (slice(start, start + size),)]
        for start, size in ranges_of_rank(sections, ranks, rank)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis)


def join_parts(
    parts: Sequence[np.ndarray] | np.ndarray, axis: int, sections: Sequence[int]
) -> np.ndarray:
    """The array of which each rank has its part."""
    ends = np.cumsum([size // len(parts) for size in sections])[:-1]
    divided = [np.split(part, ends, axis) for part in parts]
    return np.concatenate([piece for section in zip(*divided, strict=True) for piece in section],
                          axis)  # fmt: skip


def _parts(x: np.ndarray, ranks: int) -> list[np.ndarray]:
    """`x` on each rank."""
    if not isinstance(x, Shards):
        return [x] * ranks
    if len(x) != ranks:
        raise ValueError(f"a value of {len(x)} ranks where there are {ranks}")
    return [x.on(rank) for rank in range(ranks)]


def _require_mesh(ranks: int, mesh_axis: str) -> None:
    if ranks < 1:
        raise TypeRuleError(f"{ranks} ranks")
    if not mesh_axis:
        raise TypeRuleError("the mesh axis has no name")


def _require_sections(sections: Sequence[int], ranks: int) -> None:
    if not sections or any(size < 0 or size % ranks for size in sections):
        raise TypeRuleError(f"{ranks} ranks do not divide sections {list(sections)}")


def _is(size: int | Dim, number: int) -> bool:
    return isinstance(size, int) and size == number


def _with_size(x: TensorType, axis: int, size: int) -> TensorType:
    return x.with_shape(size if number == axis else n for number, n in enumerate(x.shape))


_all_reduce = builder(AllReduceOp)


def all_reduce(x: ir.Value, *, ranks: int, mesh_axis: str, reduction: str = "sum") -> TensorValue:
    """Build the `graph.all_reduce` of `x`."""
    return _all_reduce(x, reduction=reduction, ranks=ranks, mesh_axis=mesh_axis)


all_gather = builder(AllGatherOp)
all_slice = builder(AllSliceOp)
