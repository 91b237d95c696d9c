"""Matmuls of rows that belong to experts, by the weights of these.

`group_rows` brings the rows of each expert together. The matmuls then multiply a stretch of rows by
the weights of one expert, which are packed into panels. Experts that nobody has chosen are not
read.
"""

from collections.abc import Callable
from typing import TypedDict, Unpack

import numpy as np

from .attributes import Bool, Int, Str
from .base import GraphOp, Result, Tensor, TypeRuleError, builder, tuple_builder
from .contraction import KernelContraction, require_equal_sizes
from .nbits_format import NbitsFormat
from .packed_matmul import unpack_weights
from .traits import MixedPrecision
from .types import TensorType

_I64 = np.dtype(np.int64)


class GroupRowsOp(GraphOp, name="group_rows"):
    """The order of rows by their `groups` [U], numbers below `count` (all i64).

    `source` [U] is the row of each place in that order, divided by `repeat`; `place` [U] is the
    place of each row; `starts` [count + 1] is where groups begin, and the number of rows. Rows of
    one group keep their order.
    """

    amp = MixedPrecision.KEEP

    groups: Tensor
    count: Int
    repeat: Int
    source: Result
    place: Result
    starts: Result

    @staticmethod
    def infer(
        groups: TensorType, *, count: int, repeat: int
    ) -> tuple[TensorType, TensorType, TensorType]:
        if groups.rank != 1 or groups.dtype != _I64 or count < 1 or repeat < 1:
            raise TypeRuleError(f"{count} groups of rows {groups}, each {repeat} times")
        return groups, groups, TensorType((count + 1,), _I64)

    @staticmethod
    def evaluate(
        groups: np.ndarray, *, count: int, repeat: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        order = np.argsort(groups, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return order // repeat, place, np.searchsorted(groups[order], np.arange(count + 1))


class ExpertMatmulOp(KernelContraction, name="expert_matmul"):
    """Rows `x` [U, K] by the weights of experts: rows from ``starts[e]`` to ``starts[e + 1]`` by
    those of expert ``e``, and plus its bias.

    `w` [E * panels, K, nr] has the panels of one expert after the other, `bias` is [E, columns],
    the result [U, columns]. `mr` rows are multiplied at a time, in vectors of `lanes`.
    """

    x: Tensor
    w: Tensor
    starts: Tensor
    bias: Tensor
    mr: Int
    columns: Int
    lanes: Int

    @staticmethod
    def infer(
        x: TensorType,
        w: TensorType,
        starts: TensorType,
        bias: TensorType,
        *,
        mr: int,
        columns: int,
        lanes: int,
    ) -> TensorType:
        if w.rank != 3 or w.dtype != np.float32 or mr < 1 or w.shape[2] % lanes:
            raise TypeRuleError(f"cannot multiply {x} by panels {w}, {mr} rows at a time")
        require_equal_sizes(x.shape[-1], w.shape[1], "the contracted sizes")
        _require_experts(x, w, starts, bias, columns, w.static_shape[2])
        return x.with_shape((x.shape[0], columns))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        w: np.ndarray,
        starts: np.ndarray,
        bias: np.ndarray,
        *,
        mr: int,
        columns: int,
        lanes: int,
    ) -> np.ndarray:
        del mr, columns, lanes
        return _by_experts(x, w, starts, bias, unpack_weights)


class ExpertPanelAttrs(TypedDict):
    """The attributes of `graph.nbits_expert_matmul`."""

    mr: int
    columns: int
    lanes: int
    bits: int
    block: int
    nr: int
    scales: str
    zeros: bool
    offset: int
    exact: bool


class NbitsExpertMatmulOp(KernelContraction, name="nbits_expert_matmul"):
    """`graph.expert_matmul` by weights of few bits, `w` [E * panels, K/block, words], with
    attributes as in `graph.nbits_matmul`."""

    x: Tensor
    w: Tensor
    starts: Tensor
    bias: Tensor
    mr: Int
    columns: Int
    lanes: Int
    bits: Int
    block: Int
    nr: Int
    scales: Str
    zeros: Bool
    offset: Int
    exact: Bool

    @staticmethod
    def infer(
        x: TensorType,
        w: TensorType,
        starts: TensorType,
        bias: TensorType,
        **attrs: Unpack[ExpertPanelAttrs],
    ) -> TensorType:
        layout = expert_format(attrs)
        if not layout.is_valid or attrs["lanes"] < 1 or layout.nr % attrs["lanes"]:
            raise TypeRuleError(f"cannot unpack {layout} in vectors of {attrs['lanes']}")
        if w.rank != 3 or w.dtype != np.uint32 or attrs["mr"] < 1 or w.shape[2] != layout.words:
            raise TypeRuleError(f"cannot multiply {x} by panels {w}, {attrs['mr']} rows at a time")
        _, blocks, _ = w.static_shape
        require_equal_sizes(x.shape[-1], blocks * layout.block, "the contracted sizes")
        _require_experts(x, w, starts, bias, attrs["columns"], layout.nr)
        return x.with_shape((x.shape[0], attrs["columns"]))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        w: np.ndarray,
        starts: np.ndarray,
        bias: np.ndarray,
        **attrs: Unpack[ExpertPanelAttrs],
    ) -> np.ndarray:
        return _by_experts(x, w, starts, bias, expert_format(attrs).unpack)


def expert_format(attrs: ExpertPanelAttrs) -> NbitsFormat:
    """The layout of the weights."""
    return NbitsFormat(
        attrs["bits"], attrs["block"], attrs["nr"], attrs["scales"], attrs["zeros"], attrs["offset"]
    )


def _require_experts(
    x: TensorType, w: TensorType, starts: TensorType, bias: TensorType, columns: int, nr: int
) -> None:
    if x.rank != 2 or x.dtype != np.float32 or bias.rank != 2 or bias.dtype != np.float32:
        raise TypeRuleError(f"is for rows of f32, not for {x} and biases {bias}")
    experts, width = bias.static_shape
    if starts != TensorType((experts + 1,), _I64):
        raise TypeRuleError(f"{experts} experts begin at {starts}")
    if columns < 1 or width != columns or w.shape[0] != experts * -(-columns // nr):
        raise TypeRuleError(f"panels {w} and biases {bias} for {columns} columns")


def _by_experts(
    x: np.ndarray,
    w: np.ndarray,
    starts: np.ndarray,
    bias: np.ndarray,
    unpack: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """The result, from panels that `unpack` makes matrices of."""
    experts, columns = bias.shape
    panels = w.reshape(experts, -1, *w.shape[1:])
    y = np.empty((len(x), columns), np.float32)
    for expert in np.flatnonzero(np.diff(starts)):
        own = slice(starts[expert], starts[expert + 1])
        y[own] = x[own] @ unpack(panels[expert])[:, :columns] + bias[expert]
    return y


group_rows = tuple_builder(GroupRowsOp)
expert_matmul = builder(ExpertMatmulOp)
nbits_expert_matmul = builder(NbitsExpertMatmulOp)
