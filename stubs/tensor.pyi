"""Types of MLIR's `tensor`. Written by `make stubs`; edits here are lost."""

from collections.abc import Sequence
from typing import Any, Unpack

from typing_extensions import TypeVar

from . import ir

_T = TypeVar("_T", bound=ir.Type)

class BitcastOp(ir.OpView):
    def __init__(self, dest: ir.Type, source: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def dest(self) -> ir.OpResult: ...

def bitcast(dest: _T, source: ir.Value, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...

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
    def src(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def reassociation(self) -> ir.ArrayAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...

def collapse_shape(
    result: ir.Type, src: ir.Value, reassociation: Any, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.RankedTensorType]: ...

class ConcatOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        dim: int | ir.IntegerAttr,
        inputs: Sequence[ir.Value],
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def inputs(self) -> ir.OpOperandList[ir.RankedTensorType]: ...
    @property
    def dim(self) -> ir.IntegerAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...

def concat(
    result: ir.Type,
    dim: int | ir.IntegerAttr,
    inputs: Sequence[ir.Value],
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.RankedTensorType]: ...

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

class EmptyOp(ir.OpView):
    def __init__(
        self,
        sizes: Sequence[int | ir.Value],
        element_type: ir.Type,
        *,
        encoding: ir.Attribute | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def dynamicSizes(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...

def empty(
    sizes: Sequence[int | ir.Value],
    element_type: ir.Type,
    *,
    encoding: ir.Attribute | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.RankedTensorType]: ...

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
    def src(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def output_shape(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def reassociation(self) -> ir.ArrayAttr: ...
    @property
    def static_output_shape(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...

def expand_shape(
    result: ir.Type,
    src: ir.Value,
    reassociation: Any,
    output_shape: Sequence[ir.Value],
    static_output_shape: Sequence[int] | ir.DenseI64ArrayAttr,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.RankedTensorType]: ...

class ExtractOp(ir.OpView):
    def __init__(
        self,
        tensor: ir.Value,
        indices: Sequence[ir.Value],
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def tensor(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def result(self) -> ir.OpResult: ...

def extract(
    tensor: ir.Value,
    indices: Sequence[ir.Value],
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class ExtractSliceOp(ir.OpView):
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
    def source(self) -> ir.Value[ir.RankedTensorType]: ...
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
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...

def extract_slice(
    result: ir.Type,
    source: ir.Value,
    offsets: Sequence[ir.Value],
    sizes: Sequence[ir.Value],
    strides: Sequence[ir.Value],
    static_offsets: Sequence[int] | ir.DenseI64ArrayAttr,
    static_sizes: Sequence[int] | ir.DenseI64ArrayAttr,
    static_strides: Sequence[int] | ir.DenseI64ArrayAttr,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.RankedTensorType]: ...

class FromElementsOp(ir.OpView):
    def __init__(
        self, result: ir.Type, elements: Sequence[ir.Value], **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def elements(self) -> ir.OpOperandList: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...

def from_elements(
    result: ir.Type, elements: Sequence[ir.Value], **where: Unpack[ir.Where]
) -> ir.OpResult[ir.RankedTensorType]: ...

class GatherOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        source: ir.Value,
        indices: ir.Value,
        gather_dims: Sequence[int] | ir.DenseI64ArrayAttr,
        *,
        unique: bool | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def indices(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def gather_dims(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def unique(self) -> bool: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...

def gather(
    result: ir.Type,
    source: ir.Value,
    indices: ir.Value,
    gather_dims: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    unique: bool | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.RankedTensorType]: ...

class GenerateOp(ir.OpView):
    def __init__(
        self, result: ir.Type, dynamicExtents: Sequence[ir.Value], **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def dynamicExtents(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...
    @property
    def body(self) -> ir.Region: ...

class InsertOp(ir.OpView):
    def __init__(
        self,
        scalar: ir.Value,
        dest: ir.Value,
        indices: Sequence[ir.Value],
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def scalar(self) -> ir.Value: ...
    @property
    def dest(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...

def insert(
    scalar: ir.Value,
    dest: ir.Value,
    indices: Sequence[ir.Value],
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.RankedTensorType]: ...

class InsertSliceOp(ir.OpView):
    def __init__(
        self,
        source: ir.Value,
        dest: ir.Value,
        offsets: Sequence[ir.Value],
        sizes: Sequence[ir.Value],
        strides: Sequence[ir.Value],
        static_offsets: Sequence[int] | ir.DenseI64ArrayAttr,
        static_sizes: Sequence[int] | ir.DenseI64ArrayAttr,
        static_strides: Sequence[int] | ir.DenseI64ArrayAttr,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def dest(self) -> ir.Value[ir.RankedTensorType]: ...
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
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...

def insert_slice(
    source: ir.Value,
    dest: ir.Value,
    offsets: Sequence[ir.Value],
    sizes: Sequence[ir.Value],
    strides: Sequence[ir.Value],
    static_offsets: Sequence[int] | ir.DenseI64ArrayAttr,
    static_sizes: Sequence[int] | ir.DenseI64ArrayAttr,
    static_strides: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.RankedTensorType]: ...

class PadOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        source: ir.Value,
        low: Sequence[ir.Value],
        high: Sequence[ir.Value],
        static_low: Sequence[int] | ir.DenseI64ArrayAttr,
        static_high: Sequence[int] | ir.DenseI64ArrayAttr,
        *,
        nofold: bool | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def low(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def high(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def static_low(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def static_high(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def nofold(self) -> bool: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...
    @property
    def region(self) -> ir.Region: ...

def pad(
    result: ir.Type,
    source: ir.Value,
    low: Sequence[ir.Value],
    high: Sequence[ir.Value],
    static_low: Sequence[int] | ir.DenseI64ArrayAttr,
    static_high: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    nofold: bool | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.RankedTensorType]: ...

class ParallelInsertSliceOp(ir.OpView):
    def __init__(
        self,
        source: ir.Value,
        dest: ir.Value,
        offsets: Sequence[ir.Value],
        sizes: Sequence[ir.Value],
        strides: Sequence[ir.Value],
        static_offsets: Sequence[int] | ir.DenseI64ArrayAttr,
        static_sizes: Sequence[int] | ir.DenseI64ArrayAttr,
        static_strides: Sequence[int] | ir.DenseI64ArrayAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def dest(self) -> ir.Value[ir.RankedTensorType]: ...
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

def parallel_insert_slice(
    source: ir.Value,
    dest: ir.Value,
    offsets: Sequence[ir.Value],
    sizes: Sequence[ir.Value],
    strides: Sequence[ir.Value],
    static_offsets: Sequence[int] | ir.DenseI64ArrayAttr,
    static_sizes: Sequence[int] | ir.DenseI64ArrayAttr,
    static_strides: Sequence[int] | ir.DenseI64ArrayAttr,
    **where: Unpack[ir.Where],
) -> ParallelInsertSliceOp: ...

class RankOp(ir.OpView):
    def __init__(
        self,
        tensor: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def tensor(self) -> ir.Value: ...

def rank(
    tensor: ir.Value, *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[ir.IndexType]: ...

class ReshapeOp(ir.OpView):
    def __init__(
        self, result: ir.Type, source: ir.Value, shape: ir.Value, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def shape(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def result(self) -> ir.OpResult: ...

def reshape(
    result: _T, source: ir.Value, shape: ir.Value, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class ScatterOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        source: ir.Value,
        dest: ir.Value,
        indices: ir.Value,
        scatter_dims: Sequence[int] | ir.DenseI64ArrayAttr,
        *,
        unique: bool | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def source(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def dest(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def indices(self) -> ir.Value[ir.RankedTensorType]: ...
    @property
    def scatter_dims(self) -> ir.DenseI64ArrayAttr: ...
    @property
    def unique(self) -> bool: ...
    @property
    def result(self) -> ir.OpResult[ir.RankedTensorType]: ...

def scatter(
    result: ir.Type,
    source: ir.Value,
    dest: ir.Value,
    indices: ir.Value,
    scatter_dims: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    unique: bool | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.RankedTensorType]: ...

class SplatOp(ir.OpView):
    def __init__(
        self,
        aggregate: ir.Type,
        input: ir.Value,
        dynamicSizes: Sequence[ir.Value],
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def input(self) -> ir.Value: ...
    @property
    def dynamicSizes(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def aggregate(self) -> ir.OpResult[ir.RankedTensorType]: ...

def splat(
    aggregate: ir.Type,
    input: ir.Value,
    dynamic_sizes: Sequence[ir.Value],
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.RankedTensorType]: ...

class YieldOp(ir.OpView):
    def __init__(self, value: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def value(self) -> ir.Value: ...

def yield_(value: ir.Value, **where: Unpack[ir.Where]) -> YieldOp: ...
