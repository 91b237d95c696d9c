"""Types of MLIR's `vector`. Written by `make stubs`; edits here are lost."""

import enum
from collections.abc import Sequence
from typing import Any, Unpack

from typing_extensions import TypeVar

from . import ir

_T = TypeVar("_T", bound=ir.Type)

class VectorScaleOp(ir.OpView):
    def __init__(
        self, *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def res(self) -> ir.OpResult[ir.IndexType]: ...

def vscale(
    *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.IndexType]: ...

class BitCastOp(ir.OpView):
    def __init__(self, result: ir.Type, source: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def source(self) -> ir.Value[ir.VectorType]: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def bitcast(
    result: ir.Type, source: ir.Value, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.VectorType]: ...

class BroadcastOp(ir.OpView):
    def __init__(self, vector: ir.Type, source: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def vector(self) -> ir.OpResult[ir.VectorType]: ...

def broadcast(
    vector: ir.Type, source: ir.Value, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.VectorType]: ...

class CompressStoreOp(ir.OpView):
    def __init__(
        self,
        base: ir.Value,
        indices: Sequence[ir.Value],
        mask: ir.Value,
        valueToStore: ir.Value,
        *,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def base(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def mask(self) -> ir.Value[ir.VectorType]: ...
    @property
    def valueToStore(self) -> ir.Value[ir.VectorType]: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...

def compressstore(
    base: ir.Value,
    indices: Sequence[ir.Value],
    mask: ir.Value,
    value_to_store: ir.Value,
    *,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> CompressStoreOp: ...

class ConstantMaskOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        mask_dim_sizes: Sequence[int] | ir.DenseI64ArrayAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def mask_dim_sizes(self) -> ir.DenseI64ArrayAttr: ...

def constant_mask(
    result: ir.Type, mask_dim_sizes: Sequence[int] | ir.DenseI64ArrayAttr, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.VectorType]: ...

class ContractionOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        lhs: ir.Value,
        rhs: ir.Value,
        acc: ir.Value,
        indexing_maps: Sequence[ir.Attribute] | ir.ArrayAttr,
        iterator_types: Any,
        *,
        kind: Any = None,
        fastmath: Any = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value[ir.VectorType]: ...
    @property
    def rhs(self) -> ir.Value[ir.VectorType]: ...
    @property
    def acc(self) -> ir.Value: ...
    @property
    def indexing_maps(self) -> ir.ArrayAttr: ...
    @property
    def iterator_types(self) -> ir.ArrayAttr: ...
    @property
    def kind(self) -> ir.Attribute: ...
    @property
    def fastmath(self) -> ir.Attribute: ...

def contract(
    result: _T,
    lhs: ir.Value,
    rhs: ir.Value,
    acc: ir.Value,
    indexing_maps: Sequence[ir.Attribute] | ir.ArrayAttr,
    iterator_types: Any,
    *,
    kind: Any = None,
    fastmath: Any = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class CreateMaskOp(ir.OpView):
    def __init__(
        self, result: ir.Type, mask_dim_sizes: Sequence[ir.Value], **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def mask_dim_sizes(self) -> ir.OpOperandList[ir.IndexType]: ...

def create_mask(
    result: ir.Type, mask_dim_sizes: Sequence[ir.Value], **where: Unpack[ir.Where]
) -> ir.OpResult[ir.VectorType]: ...

class DeinterleaveOp(ir.OpView):
    def __init__(
        self,
        source: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.VectorType]: ...
    @property
    def res1(self) -> ir.OpResult[ir.VectorType]: ...
    @property
    def res2(self) -> ir.OpResult[ir.VectorType]: ...

def deinterleave(
    source: ir.Value, *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResultList: ...

class ExpandLoadOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        base: ir.Value,
        indices: Sequence[ir.Value],
        mask: ir.Value,
        pass_thru: ir.Value,
        *,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def base(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def mask(self) -> ir.Value[ir.VectorType]: ...
    @property
    def pass_thru(self) -> ir.Value[ir.VectorType]: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def expandload(
    result: ir.Type,
    base: ir.Value,
    indices: Sequence[ir.Value],
    mask: ir.Value,
    pass_thru: ir.Value,
    *,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class ExtractOp(ir.OpView):
    def __init__(
        self,
        source: ir.Value,
        dynamic_position: Sequence[ir.Value],
        static_position: Sequence[int] | ir.DenseI64ArrayAttr,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.VectorType]: ...
    @property
    def dynamic_position(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def static_position(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def result(self) -> ir.OpResult: ...

def extract(
    source: ir.Value,
    dynamic_position: Sequence[ir.Value],
    static_position: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class ExtractStridedSliceOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        source: ir.Value,
        offsets: Sequence[int] | ir.ArrayAttr,
        sizes: Sequence[int] | ir.ArrayAttr,
        strides: Sequence[int] | ir.ArrayAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.VectorType]: ...
    @property
    def offsets(self) -> ir.ArrayAttr: ...
    @property
    def sizes(self) -> ir.ArrayAttr: ...
    @property
    def strides(self) -> ir.ArrayAttr: ...

def extract_strided_slice(
    result: ir.Type,
    source: ir.Value,
    offsets: Sequence[int] | ir.ArrayAttr,
    sizes: Sequence[int] | ir.ArrayAttr,
    strides: Sequence[int] | ir.ArrayAttr,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class FMAOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        acc: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value[ir.VectorType]: ...
    @property
    def rhs(self) -> ir.Value[ir.VectorType]: ...
    @property
    def acc(self) -> ir.Value[ir.VectorType]: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def fma(
    lhs: ir.Value,
    rhs: ir.Value,
    acc: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class FromElementsOp(ir.OpView):
    def __init__(
        self, dest: ir.Type, elements: Sequence[ir.Value], **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def elements(self) -> ir.OpOperandList: ...
    @property
    def dest(self) -> ir.OpResult[ir.VectorType]: ...

def from_elements(
    dest: ir.Type, elements: Sequence[ir.Value], **where: Unpack[ir.Where]
) -> ir.OpResult[ir.VectorType]: ...

class GatherOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        base: ir.Value,
        offsets: Sequence[ir.Value],
        indices: ir.Value,
        mask: ir.Value,
        pass_thru: ir.Value,
        *,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def base(self) -> ir.Value: ...
    @property
    def offsets(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def indices(self) -> ir.Value[ir.VectorType]: ...
    @property
    def mask(self) -> ir.Value[ir.VectorType]: ...
    @property
    def pass_thru(self) -> ir.Value[ir.VectorType]: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def gather(
    result: ir.Type,
    base: ir.Value,
    offsets: Sequence[ir.Value],
    indices: ir.Value,
    mask: ir.Value,
    pass_thru: ir.Value,
    *,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class InsertOp(ir.OpView):
    def __init__(
        self,
        valueToStore: ir.Value,
        dest: ir.Value,
        dynamic_position: Sequence[ir.Value],
        static_position: Sequence[int] | ir.DenseI64ArrayAttr,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def valueToStore(self) -> ir.Value: ...
    @property
    def dest(self) -> ir.Value[ir.VectorType]: ...
    @property
    def dynamic_position(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def static_position(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def insert(
    value_to_store: ir.Value,
    dest: ir.Value,
    dynamic_position: Sequence[ir.Value],
    static_position: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class InsertStridedSliceOp(ir.OpView):
    def __init__(
        self,
        valueToStore: ir.Value,
        dest: ir.Value,
        offsets: Sequence[int] | ir.ArrayAttr,
        strides: Sequence[int] | ir.ArrayAttr,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def valueToStore(self) -> ir.Value[ir.VectorType]: ...
    @property
    def dest(self) -> ir.Value[ir.VectorType]: ...
    @property
    def offsets(self) -> ir.ArrayAttr: ...
    @property
    def strides(self) -> ir.ArrayAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def insert_strided_slice(
    value_to_store: ir.Value,
    dest: ir.Value,
    offsets: Sequence[int] | ir.ArrayAttr,
    strides: Sequence[int] | ir.ArrayAttr,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class InterleaveOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value[ir.VectorType]: ...
    @property
    def rhs(self) -> ir.Value[ir.VectorType]: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def interleave(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class LoadOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        base: ir.Value,
        indices: Sequence[ir.Value],
        *,
        nontemporal: bool | ir.BoolAttr | None = None,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def base(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def nontemporal(self) -> ir.BoolAttr | None: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def load(
    result: ir.Type,
    base: ir.Value,
    indices: Sequence[ir.Value],
    *,
    nontemporal: bool | ir.BoolAttr | None = None,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class MaskOp(ir.OpView):
    def __init__(
        self,
        results_: Sequence[ir.Type],
        mask: ir.Value,
        *,
        passthru: ir.Value | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def mask(self) -> ir.Value[ir.VectorType]: ...
    @property
    def passthru(self) -> ir.Value | None: ...
    @property
    def results_(self) -> ir.OpResultList: ...
    @property
    def maskRegion(self) -> ir.Region: ...

def mask(
    results_: Sequence[ir.Type],
    mask: ir.Value,
    *,
    passthru: ir.Value | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult | ir.OpResultList | MaskOp: ...

class MaskedLoadOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        base: ir.Value,
        indices: Sequence[ir.Value],
        mask: ir.Value,
        pass_thru: ir.Value,
        *,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def base(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def mask(self) -> ir.Value[ir.VectorType]: ...
    @property
    def pass_thru(self) -> ir.Value[ir.VectorType]: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def maskedload(
    result: ir.Type,
    base: ir.Value,
    indices: Sequence[ir.Value],
    mask: ir.Value,
    pass_thru: ir.Value,
    *,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class MaskedStoreOp(ir.OpView):
    def __init__(
        self,
        base: ir.Value,
        indices: Sequence[ir.Value],
        mask: ir.Value,
        valueToStore: ir.Value,
        *,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def base(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def mask(self) -> ir.Value[ir.VectorType]: ...
    @property
    def valueToStore(self) -> ir.Value[ir.VectorType]: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...

def maskedstore(
    base: ir.Value,
    indices: Sequence[ir.Value],
    mask: ir.Value,
    value_to_store: ir.Value,
    *,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> MaskedStoreOp: ...

class MultiDimReductionOp(ir.OpView):
    def __init__(
        self,
        kind: Any,
        source: ir.Value,
        acc: ir.Value,
        reduction_dims: Sequence[int] | ir.DenseI64ArrayAttr,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.VectorType]: ...
    @property
    def acc(self) -> ir.Value: ...
    @property
    def kind(self) -> ir.Attribute: ...
    @property
    def reduction_dims(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def dest(self) -> ir.OpResult: ...

def multi_reduction(
    kind: Any,
    source: ir.Value,
    acc: ir.Value,
    reduction_dims: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class OuterProductOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        acc: ir.Value | None = None,
        kind: Any = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value[ir.VectorType]: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def acc(self) -> ir.Value[ir.VectorType] | None: ...
    @property
    def kind(self) -> ir.Attribute: ...

def outerproduct(
    result: ir.Type,
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    acc: ir.Value | None = None,
    kind: Any = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class PrintOp(ir.OpView):
    def __init__(
        self,
        *,
        source: ir.Value | None = None,
        punctuation: Any = None,
        stringLiteral: Any = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value | None: ...
    @property
    def punctuation(self) -> ir.Attribute: ...
    @property
    def stringLiteral(self) -> ir.StringAttr | None: ...

def print_(
    *,
    source: ir.Value | None = None,
    punctuation: Any = None,
    string_literal: Any = None,
    **where: Unpack[ir.Where],
) -> PrintOp: ...

class ReductionOp(ir.OpView):
    def __init__(
        self,
        dest: ir.Type,
        kind: Any,
        vector: ir.Value,
        *,
        acc: ir.Value | None = None,
        fastmath: Any = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def vector(self) -> ir.Value[ir.VectorType]: ...
    @property
    def acc(self) -> ir.Value | None: ...
    @property
    def kind(self) -> ir.Attribute: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def dest(self) -> ir.OpResult: ...

def reduction(
    dest: _T,
    kind: Any,
    vector: ir.Value,
    *,
    acc: ir.Value | None = None,
    fastmath: Any = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class ScalableExtractOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        source: ir.Value,
        pos: int | ir.IntegerAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.VectorType]: ...
    @property
    def pos(self) -> ir.IntegerAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def scalable_extract(
    result: ir.Type, source: ir.Value, pos: int | ir.IntegerAttr, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.VectorType]: ...

class ScalableInsertOp(ir.OpView):
    def __init__(
        self,
        valueToStore: ir.Value,
        dest: ir.Value,
        pos: int | ir.IntegerAttr,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def valueToStore(self) -> ir.Value[ir.VectorType]: ...
    @property
    def dest(self) -> ir.Value[ir.VectorType]: ...
    @property
    def pos(self) -> ir.IntegerAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def scalable_insert(
    value_to_store: ir.Value,
    dest: ir.Value,
    pos: int | ir.IntegerAttr,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class ScanOp(ir.OpView):
    def __init__(
        self,
        kind: Any,
        source: ir.Value,
        initial_value: ir.Value,
        reduction_dim: int | ir.IntegerAttr,
        inclusive: bool | ir.BoolAttr,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.VectorType]: ...
    @property
    def initial_value(self) -> ir.Value[ir.VectorType]: ...
    @property
    def kind(self) -> ir.Attribute: ...
    @property
    def reduction_dim(self) -> ir.IntegerAttr: ...
    @property
    def inclusive(self) -> ir.BoolAttr: ...
    @property
    def dest(self) -> ir.OpResult[ir.VectorType]: ...
    @property
    def accumulated_value(self) -> ir.OpResult[ir.VectorType]: ...

def scan(
    kind: Any,
    source: ir.Value,
    initial_value: ir.Value,
    reduction_dim: int | ir.IntegerAttr,
    inclusive: bool | ir.BoolAttr,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResultList: ...

class ScatterOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type | None,
        base: ir.Value,
        offsets: Sequence[ir.Value],
        indices: ir.Value,
        mask: ir.Value,
        valueToStore: ir.Value,
        *,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def base(self) -> ir.Value: ...
    @property
    def offsets(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def indices(self) -> ir.Value[ir.VectorType]: ...
    @property
    def mask(self) -> ir.Value[ir.VectorType]: ...
    @property
    def valueToStore(self) -> ir.Value[ir.VectorType]: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType] | None: ...

def scatter(
    result: ir.Type | None,
    base: ir.Value,
    offsets: Sequence[ir.Value],
    indices: ir.Value,
    mask: ir.Value,
    value_to_store: ir.Value,
    *,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult | ir.OpResultList | ScatterOp: ...

class ShapeCastOp(ir.OpView):
    def __init__(self, result: ir.Type, source: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def source(self) -> ir.Value[ir.VectorType]: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def shape_cast(
    result: ir.Type, source: ir.Value, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.VectorType]: ...

class ShuffleOp(ir.OpView):
    def __init__(
        self,
        v1: ir.Value,
        v2: ir.Value,
        mask: Sequence[int] | ir.DenseI64ArrayAttr,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def v1(self) -> ir.Value[ir.VectorType]: ...
    @property
    def v2(self) -> ir.Value[ir.VectorType]: ...
    @property
    def mask(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def vector(self) -> ir.OpResult[ir.VectorType]: ...

def shuffle(
    v1: ir.Value,
    v2: ir.Value,
    mask: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class StepOp(ir.OpView):
    def __init__(self, result: ir.Type, **where: Unpack[ir.Where]) -> None: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def step(result: ir.Type, **where: Unpack[ir.Where]) -> ir.OpResult[ir.VectorType]: ...

class StoreOp(ir.OpView):
    def __init__(
        self,
        valueToStore: ir.Value,
        base: ir.Value,
        indices: Sequence[ir.Value],
        *,
        nontemporal: bool | ir.BoolAttr | None = None,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def valueToStore(self) -> ir.Value[ir.VectorType]: ...
    @property
    def base(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def nontemporal(self) -> ir.BoolAttr | None: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...

def store(
    value_to_store: ir.Value,
    base: ir.Value,
    indices: Sequence[ir.Value],
    *,
    nontemporal: bool | ir.BoolAttr | None = None,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> StoreOp: ...

class ToElementsOp(ir.OpView):
    def __init__(
        self,
        source: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.VectorType]: ...
    @property
    def elements(self) -> ir.OpResultList: ...

def to_elements(
    source: ir.Value, *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult | ir.OpResultList | ToElementsOp: ...

class TransferReadOp(ir.OpView):
    def __init__(
        self,
        vector: ir.Type,
        base: ir.Value,
        indices: Sequence[ir.Value],
        permutation_map: ir.AffineMap | ir.AffineMapAttr,
        padding: ir.Value,
        in_bounds: Sequence[bool] | ir.ArrayAttr,
        *,
        mask: ir.Value | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def base(self) -> ir.Value: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def padding(self) -> ir.Value: ...
    @property
    def mask(self) -> ir.Value[ir.VectorType] | None: ...
    @property
    def permutation_map(self) -> ir.AffineMapAttr: ...
    @property
    def in_bounds(self) -> ir.ArrayAttr: ...
    @property
    def vector(self) -> ir.OpResult[ir.VectorType]: ...

def transfer_read(
    vector: ir.Type,
    base: ir.Value,
    indices: Sequence[ir.Value],
    permutation_map: ir.AffineMap | ir.AffineMapAttr,
    padding: ir.Value,
    in_bounds: Sequence[bool] | ir.ArrayAttr,
    *,
    mask: ir.Value | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class TransferWriteOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type | None,
        valueToStore: ir.Value,
        base: ir.Value,
        indices: Sequence[ir.Value],
        permutation_map: ir.AffineMap | ir.AffineMapAttr,
        in_bounds: Sequence[bool] | ir.ArrayAttr,
        *,
        mask: ir.Value | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def valueToStore(self) -> ir.Value[ir.VectorType]: ...
    @property
    def base(self) -> ir.Value: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def mask(self) -> ir.Value[ir.VectorType] | None: ...
    @property
    def permutation_map(self) -> ir.AffineMapAttr: ...
    @property
    def in_bounds(self) -> ir.ArrayAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType] | None: ...

def transfer_write(
    result: ir.Type | None,
    value_to_store: ir.Value,
    base: ir.Value,
    indices: Sequence[ir.Value],
    permutation_map: ir.AffineMap | ir.AffineMapAttr,
    in_bounds: Sequence[bool] | ir.ArrayAttr,
    *,
    mask: ir.Value | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult | ir.OpResultList | TransferWriteOp: ...

class TransposeOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        vector: ir.Value,
        permutation: Sequence[int] | ir.DenseI64ArrayAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def vector(self) -> ir.Value[ir.VectorType]: ...
    @property
    def permutation(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.VectorType]: ...

def transpose(
    result: ir.Type,
    vector: ir.Value,
    permutation: Sequence[int] | ir.DenseI64ArrayAttr,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class TypeCastOp(ir.OpView):
    def __init__(self, result: ir.Type, memref: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def memref(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def result(self) -> ir.OpResult[ir.MemRefType]: ...

def type_cast(
    result: ir.Type, memref: ir.Value, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.MemRefType]: ...

class YieldOp(ir.OpView):
    def __init__(self, operands_: Sequence[ir.Value], **where: Unpack[ir.Where]) -> None: ...
    @property
    def operands_(self) -> ir.OpOperandList: ...

def yield_(operands_: Sequence[ir.Value], **where: Unpack[ir.Where]) -> YieldOp: ...

class CombiningKind(enum.IntEnum):
    ADD = 0
    MUL = 1
    MINUI = 2
    MINSI = 3
    MINNUMF = 4
    MAXUI = 5
    MAXSI = 6
    MAXNUMF = 7
    AND = 8
    OR = 9
    XOR = 10
    MAXIMUMF = 12
    MINIMUMF = 11

class PrintPunctuation(enum.IntEnum):
    NoPunctuation = 0
    NewLine = 1
    Comma = 2
    Open = 3
    Close = 4

class IteratorType(enum.IntEnum):
    parallel = 0
    reduction = 1
