"""Reads of single columns from weights of few bits that are packed for matmuls."""

import math
from typing import TypedDict, Unpack

import numpy as np

from .attributes import ElementType, Int, Ints, Str
from .base import GraphOp, Tensor, TypeRuleError, builder
from .elementwise import require_integer
from .indexing import GatherOp
from .nbits_format import NbitsFormat
from .traits import MixedPrecision
from .types import TensorType


class NbitsGatherAttrs(TypedDict):
    """The attributes of `graph.nbits_gather`."""

    columns: int
    bits: int
    block: int
    nr: int
    scales: str
    slice: tuple[int, ...]
    middle: int
    to: np.dtype


class NbitsGatherOp(GraphOp, name="nbits_gather"):
    """The integers of columns of packed weights, one column for each index (ONNX Gather).

    `panels` [panels, K/block, words] are those of `graph.nbits_matmul` and hold `columns` columns.
    An integer is that in a panel plus `middle`, of type `to`; `slice` is the shape of a column in
    the result, of K elements. A table of embeddings is read from the weights of the last matmul so.
    """

    amp = MixedPrecision.KEEP

    panels: Tensor
    indices: Tensor
    columns: Int
    bits: Int
    block: Int
    nr: Int
    scales: Str
    slice: Ints
    middle: Int
    to: ElementType

    @staticmethod
    def infer(
        panels: TensorType, indices: TensorType, **attrs: Unpack[NbitsGatherAttrs]
    ) -> TensorType:
        require_integer(indices)
        layout = _format(attrs)
        if panels.dtype != np.uint32 or panels.rank != 3 or not layout.is_valid:
            raise TypeRuleError(f"cannot unpack {panels} by {layout}")
        count, blocks, words = panels.static_shape
        if words < layout.words or not 0 < attrs["columns"] <= count * layout.nr:
            raise TypeRuleError(f"panels {panels} do not hold {attrs['columns']} columns")
        if math.prod(attrs["slice"]) != blocks * layout.block:
            raise TypeRuleError(f"columns of {panels} have no shape {attrs['slice']}")
        return TensorType((*indices.shape, *attrs["slice"]), attrs["to"])

    @staticmethod
    def evaluate(
        panels: np.ndarray, indices: np.ndarray, **attrs: Unpack[NbitsGatherAttrs]
    ) -> np.ndarray:
        integers = _format(attrs).integers(panels).transpose(0, 3, 1, 2)
        table = integers.reshape(-1, *attrs["slice"])[: attrs["columns"]] + attrs["middle"]
        return GatherOp.evaluate(table.astype(attrs["to"]), indices, axis=0)


def _format(attrs: NbitsGatherAttrs) -> NbitsFormat:
    """The layout of the integers, with which zero points have nothing to do."""
    return NbitsFormat(attrs["bits"], attrs["block"], attrs["nr"], attrs["scales"])


nbits_gather = builder(NbitsGatherOp)
