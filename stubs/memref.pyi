"""Types of MLIR's `memref`. Written by `make stubs`; edits here are lost."""

from collections.abc import Sequence
from typing import Any, Unpack

from typing_extensions import TypeVar

from . import ir

_T = TypeVar("_T", bound=ir.Type)

class AssumeAlignmentOp(ir.OpView):
    def __init__(
        self,
        memref: ir.Value,
        alignment: int | ir.IntegerAttr,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def memref(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def alignment(self) -> ir.IntegerAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.MemRefType]: ...

def assume_alignment(
    memref: ir.Value,
    alignment: int | ir.IntegerAttr,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.MemRefType]: ...

class AtomicRMWOp(ir.OpView):
    def __init__(
        self,
        kind: Any,
        value: ir.Value,
        memref: ir.Value,
        indices: Sequence[ir.Value],
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def value(self) -> ir.Value: ...
    @property
    def memref(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def kind(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def atomic_rmw(
    kind: Any,
    value: ir.Value,
    memref: ir.Value,
    indices: Sequence[ir.Value],
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class AtomicYieldOp(ir.OpView):
    def __init__(self, result: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def result(self) -> ir.Value: ...

def atomic_yield(result: ir.Value, **where: Unpack[ir.Where]) -> AtomicYieldOp: ...

class CopyOp(ir.OpView):
    def __init__(self, source: ir.Value, target: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def target(self) -> ir.Value: ...

def copy(source: ir.Value, target: ir.Value, **where: Unpack[ir.Where]) -> CopyOp: ...

class DistinctObjectsOp(ir.OpView):
    def __init__(
        self,
        operands_: Sequence[ir.Value],
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def operands_(self) -> ir.OpOperandList[ir.MemRefType]: ...
    @property
    def results_(self) -> ir.OpResultList[ir.MemRefType]: ...

def distinct_objects(
    operands_: Sequence[ir.Value],
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult | ir.OpResultList | DistinctObjectsOp: ...

class GenericAtomicRMWOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        memref: ir.Value,
        indices: Sequence[ir.Value],
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def memref(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def result(self) -> ir.OpResult: ...
    @property
    def atomic_body(self) -> ir.Region: ...

def generic_atomic_rmw(
    result: _T, memref: ir.Value, indices: Sequence[ir.Value], **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class LoadOp(ir.OpView):
    def __init__(
        self,
        memref: ir.Value,
        indices: Sequence[ir.Value],
        *,
        nontemporal: bool | ir.BoolAttr | None = None,
        alignment: int | ir.IntegerAttr | None = None,
        invariant: bool | ir.BoolAttr | None = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def memref(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def nontemporal(self) -> ir.BoolAttr | None: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...
    @property
    def invariant(self) -> ir.BoolAttr | None: ...
    @property
    def result(self) -> ir.OpResult: ...

def load(
    memref: ir.Value,
    indices: Sequence[ir.Value],
    *,
    nontemporal: bool | ir.BoolAttr | None = None,
    alignment: int | ir.IntegerAttr | None = None,
    invariant: bool | ir.BoolAttr | None = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class AllocOp(ir.OpView):
    def __init__(
        self,
        memref: ir.Type,
        dynamicSizes: Sequence[ir.Value],
        symbolOperands: Sequence[ir.Value],
        *,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def dynamicSizes(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def symbolOperands(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...
    @property
    def memref(self) -> ir.OpResult[ir.MemRefType]: ...

def alloc(
    memref: ir.Type,
    dynamic_sizes: Sequence[ir.Value],
    symbol_operands: Sequence[ir.Value],
    *,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.MemRefType]: ...

class AllocaOp(ir.OpView):
    def __init__(
        self,
        memref: ir.Type,
        dynamicSizes: Sequence[ir.Value],
        symbolOperands: Sequence[ir.Value],
        *,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def dynamicSizes(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def symbolOperands(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...
    @property
    def memref(self) -> ir.OpResult[ir.MemRefType]: ...

def alloca(
    memref: ir.Type,
    dynamic_sizes: Sequence[ir.Value],
    symbol_operands: Sequence[ir.Value],
    *,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.MemRefType]: ...

class AllocaScopeOp(ir.OpView):
    def __init__(self, results_: Sequence[ir.Type], **where: Unpack[ir.Where]) -> None: ...
    @property
    def results_(self) -> ir.OpResultList: ...
    @property
    def bodyRegion(self) -> ir.Region: ...

def alloca_scope(
    results_: Sequence[ir.Type], **where: Unpack[ir.Where]
) -> ir.OpResult | ir.OpResultList | AllocaScopeOp: ...

class AllocaScopeReturnOp(ir.OpView):
    def __init__(self, results_: Sequence[ir.Value], **where: Unpack[ir.Where]) -> None: ...
    @property
    def results_(self) -> ir.OpOperandList: ...

def alloca_scope_return(
    results_: Sequence[ir.Value], **where: Unpack[ir.Where]
) -> AllocaScopeReturnOp: ...

class CastOp(ir.OpView):
    def __init__(self, dest: ir.Type, source: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def dest(self) -> ir.OpResult: ...

def cast(dest: _T, source: ir.Value, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...

class CollapseShapeOp(ir.OpView):
    def __init__(
        self, result: ir.Type, src: ir.Value, reassociation: Any, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def src(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def reassociation(self) -> ir.ArrayAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.MemRefType]: ...

def collapse_shape(
    result: ir.Type, src: ir.Value, reassociation: Any, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.MemRefType]: ...

class DeallocOp(ir.OpView):
    def __init__(self, memref: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def memref(self) -> ir.Value: ...

def dealloc(memref: ir.Value, **where: Unpack[ir.Where]) -> DeallocOp: ...

class DimOp(ir.OpView):
    def __init__(
        self,
        source: ir.Value,
        index: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def index(self) -> ir.Value[ir.IndexType]: ...
    @property
    def result(self) -> ir.OpResult[ir.IndexType]: ...

def dim(
    source: ir.Value,
    index: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.IndexType]: ...

class DmaStartOp(ir.OpView):
    def __init__(self, operands_: Sequence[ir.Value], **where: Unpack[ir.Where]) -> None: ...
    @property
    def operands_(self) -> ir.OpOperandList: ...

def dma_start(operands_: Sequence[ir.Value], **where: Unpack[ir.Where]) -> DmaStartOp: ...

class DmaWaitOp(ir.OpView):
    def __init__(
        self,
        tagMemRef: ir.Value,
        tagIndices: Sequence[ir.Value],
        numElements: ir.Value,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def tagMemRef(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def tagIndices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def numElements(self) -> ir.Value[ir.IndexType]: ...

def dma_wait(
    tag_mem_ref: ir.Value,
    tag_indices: Sequence[ir.Value],
    num_elements: ir.Value,
    **where: Unpack[ir.Where],
) -> DmaWaitOp: ...

class ExpandShapeOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        src: ir.Value,
        reassociation: Any,
        output_shape: Sequence[ir.Value],
        static_output_shape: Sequence[int] | ir.DenseI64ArrayAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def src(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def output_shape(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def reassociation(self) -> ir.ArrayAttr: ...
    @property
    def static_output_shape(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.MemRefType]: ...

def expand_shape(
    result: ir.Type,
    src: ir.Value,
    reassociation: Any,
    output_shape: Sequence[ir.Value],
    static_output_shape: Sequence[int] | ir.DenseI64ArrayAttr,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.MemRefType]: ...

class ExtractAlignedPointerAsIndexOp(ir.OpView):
    def __init__(
        self,
        source: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def aligned_pointer(self) -> ir.OpResult[ir.IndexType]: ...

def extract_aligned_pointer_as_index(
    source: ir.Value, *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.IndexType]: ...

class ExtractStridedMetadataOp(ir.OpView):
    def __init__(
        self,
        source: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def base_buffer(self) -> ir.OpResult: ...
    @property
    def offset(self) -> ir.OpResult[ir.IndexType]: ...
    @property
    def sizes(self) -> ir.OpResultList[ir.IndexType]: ...
    @property
    def strides(self) -> ir.OpResultList[ir.IndexType]: ...

def extract_strided_metadata(
    source: ir.Value, *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult | ir.OpResultList | ExtractStridedMetadataOp: ...

class GetGlobalOp(ir.OpView):
    def __init__(
        self, result: ir.Type, name: str | ir.FlatSymbolRefAttr, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def name(self) -> ir.FlatSymbolRefAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.MemRefType]: ...

def get_global(
    result: ir.Type, name: str | ir.FlatSymbolRefAttr, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.MemRefType]: ...

class GlobalOp(ir.OpView):
    def __init__(
        self,
        sym_name: str | ir.StringAttr,
        type_: Any,
        *,
        sym_visibility: str | ir.StringAttr | None = None,
        initial_value: Any = None,
        constant: bool | None = None,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def sym_name(self) -> ir.StringAttr: ...
    @property
    def sym_visibility(self) -> ir.StringAttr | None: ...
    @property
    def type_(self) -> ir.TypeAttr: ...
    @property
    def initial_value(self) -> ir.Attribute | None: ...
    @property
    def constant(self) -> bool: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...

def global_(
    sym_name: str | ir.StringAttr,
    type_: Any,
    *,
    sym_visibility: str | ir.StringAttr | None = None,
    initial_value: Any = None,
    constant: bool | None = None,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> GlobalOp: ...

class MemorySpaceCastOp(ir.OpView):
    def __init__(self, dest: ir.Type, source: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def dest(self) -> ir.OpResult: ...

def memory_space_cast(dest: _T, source: ir.Value, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...

class PrefetchOp(ir.OpView):
    def __init__(
        self,
        memref: ir.Value,
        indices: Sequence[ir.Value],
        isWrite: bool | ir.BoolAttr,
        localityHint: int | ir.IntegerAttr,
        isDataCache: bool | ir.BoolAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def memref(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def isWrite(self) -> ir.BoolAttr: ...
    @property
    def localityHint(self) -> ir.IntegerAttr: ...
    @property
    def isDataCache(self) -> ir.BoolAttr: ...

def prefetch(
    memref: ir.Value,
    indices: Sequence[ir.Value],
    is_write: bool | ir.BoolAttr,
    locality_hint: int | ir.IntegerAttr,
    is_data_cache: bool | ir.BoolAttr,
    **where: Unpack[ir.Where],
) -> PrefetchOp: ...

class RankOp(ir.OpView):
    def __init__(
        self,
        memref: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def memref(self) -> ir.Value: ...

def rank(
    memref: ir.Value, *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.IndexType]: ...

class ReallocOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        source: ir.Value,
        *,
        dynamicResultSize: ir.Value | None = None,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def dynamicResultSize(self) -> ir.Value[ir.IndexType] | None: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...

def realloc(
    result: ir.Type,
    source: ir.Value,
    *,
    dynamic_result_size: ir.Value | None = None,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.MemRefType]: ...

class ReinterpretCastOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        source: ir.Value,
        offsets: Sequence[ir.Value],
        sizes: Sequence[ir.Value],
        strides: Sequence[ir.Value],
        static_offsets: Sequence[int] | ir.DenseI64ArrayAttr,
        static_sizes: Sequence[int] | ir.DenseI64ArrayAttr,
        static_strides: Sequence[int] | ir.DenseI64ArrayAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def offsets(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def sizes(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def strides(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def static_offsets(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def static_sizes(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def static_strides(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.MemRefType]: ...

def reinterpret_cast(
    result: ir.Type,
    source: ir.Value,
    offsets: Sequence[ir.Value],
    sizes: Sequence[ir.Value],
    strides: Sequence[ir.Value],
    static_offsets: Sequence[int] | ir.DenseI64ArrayAttr,
    static_sizes: Sequence[int] | ir.DenseI64ArrayAttr,
    static_strides: Sequence[int] | ir.DenseI64ArrayAttr,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.MemRefType]: ...

class ReshapeOp(ir.OpView):
    def __init__(
        self, result: ir.Type, source: ir.Value, shape: ir.Value, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def shape(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def result(self) -> ir.OpResult: ...

def reshape(
    result: _T, source: ir.Value, shape: ir.Value, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class StoreOp(ir.OpView):
    def __init__(
        self,
        value: ir.Value,
        memref: ir.Value,
        indices: Sequence[ir.Value],
        *,
        nontemporal: bool | ir.BoolAttr | None = None,
        alignment: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def value(self) -> ir.Value: ...
    @property
    def memref(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def nontemporal(self) -> ir.BoolAttr | None: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...

def store(
    value: ir.Value,
    memref: ir.Value,
    indices: Sequence[ir.Value],
    *,
    nontemporal: bool | ir.BoolAttr | None = None,
    alignment: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> StoreOp: ...

class TransposeOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        in_: ir.Value,
        permutation: ir.AffineMap | ir.AffineMapAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def in_(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def permutation(self) -> ir.AffineMapAttr: ...

def transpose(
    result: ir.Type,
    in_: ir.Value,
    permutation: ir.AffineMap | ir.AffineMapAttr,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.MemRefType]: ...

class ViewOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        source: ir.Value,
        byte_shift: ir.Value,
        sizes: Sequence[ir.Value],
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def byte_shift(self) -> ir.Value[ir.IndexType]: ...
    @property
    def sizes(self) -> ir.OpOperandList[ir.IndexType]: ...

def view(
    result: ir.Type,
    source: ir.Value,
    byte_shift: ir.Value,
    sizes: Sequence[ir.Value],
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.MemRefType]: ...

class SubViewOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        source: ir.Value,
        offsets: Sequence[ir.Value],
        sizes: Sequence[ir.Value],
        strides: Sequence[ir.Value],
        static_offsets: Sequence[int] | ir.DenseI64ArrayAttr,
        static_sizes: Sequence[int] | ir.DenseI64ArrayAttr,
        static_strides: Sequence[int] | ir.DenseI64ArrayAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def offsets(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def sizes(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def strides(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def static_offsets(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def static_sizes(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def static_strides(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.MemRefType]: ...

def subview(
    source: ir.Value,
    offsets: Sequence[ir.Value | int],
    sizes: Sequence[ir.Value | int],
    strides: Sequence[ir.Value | int],
    *,
    result_type: ir.MemRefType | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.MemRefType]: ...
