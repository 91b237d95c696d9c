"""Types of MLIR's `linalg`, in so far as graphc uses it: the rest is made when it is imported."""

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from . import ir

class GenericOp(ir.OpView):
    def __init__(
        self,
        result_tensors: Sequence[ir.Type],
        inputs: Sequence[ir.Value],
        outputs: Sequence[ir.Value],
        indexing_maps: ir.ArrayAttr,
        iterator_types: ir.ArrayAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def inputs(self) -> ir.OpOperandList: ...
    @property
    def outputs(self) -> ir.OpOperandList: ...
    @property
    def indexing_maps(self) -> ir.ArrayAttr: ...
    @property
    def iterator_types(self) -> ir.ArrayAttr: ...
    @property
    def region(self) -> ir.Region: ...

class IndexOp(ir.OpView):
    def __init__(
        self,
        dim: int | ir.IntegerAttr,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def result(self) -> ir.OpResult[ir.IndexType]: ...

class YieldOp(ir.OpView):
    def __init__(self, values: Sequence[ir.Value], **where: Unpack[ir.Where]) -> None: ...

class TransposeOp(ir.OpView):
    @property
    def result(self) -> ir.OpResult: ...

def transpose(
    input: ir.Value, *, outs: list[ir.Value], permutation: ir.DenseI64ArrayAttr | Sequence[int]
) -> TransposeOp: ...
def fill(*ins: ir.Value, outs: Sequence[ir.Value]) -> ir.OpResult: ...
def get_indexing_maps(op: ir.Operation | ir.OpView, /) -> ir.ArrayAttr | None: ...
def __getattr__(name: str) -> Callable[..., Any]: ...  # the named ops, `matmul` and so on
