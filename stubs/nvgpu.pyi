"""Types of MLIR's `nvgpu`. Written by `make stubs`; edits here are lost."""

import enum
from collections.abc import Sequence
from typing import Any, Unpack

from typing_extensions import TypeVar

from . import ir

_T = TypeVar("_T", bound=ir.Type)

class DeviceAsyncCopyOp(ir.OpView):
    def __init__(
        self,
        dst: ir.Value,
        dstIndices: Sequence[ir.Value],
        src: ir.Value,
        srcIndices: Sequence[ir.Value],
        dstElements: int | ir.IntegerAttr,
        *,
        srcElements: ir.Value | None = None,
        bypassL1: bool | None = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def dst(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def dstIndices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def src(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def srcIndices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def srcElements(self) -> ir.Value[ir.IndexType] | None: ...
    @property
    def dstElements(self) -> ir.IntegerAttr: ...
    @property
    def bypassL1(self) -> bool: ...
    @property
    def asyncToken(self) -> ir.OpResult: ...

def device_async_copy(
    dst: ir.Value,
    dst_indices: Sequence[ir.Value],
    src: ir.Value,
    src_indices: Sequence[ir.Value],
    dst_elements: int | ir.IntegerAttr,
    *,
    src_elements: ir.Value | None = None,
    bypass_l1: bool | None = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class DeviceAsyncCreateGroupOp(ir.OpView):
    def __init__(
        self,
        inputTokens: Sequence[ir.Value],
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def inputTokens(self) -> ir.OpOperandList: ...
    @property
    def asyncToken(self) -> ir.OpResult: ...

def device_async_create_group(
    input_tokens: Sequence[ir.Value],
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class DeviceAsyncWaitOp(ir.OpView):
    def __init__(
        self,
        asyncDependencies: ir.Value,
        *,
        numGroups: int | ir.IntegerAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def asyncDependencies(self) -> ir.Value: ...
    @property
    def numGroups(self) -> ir.IntegerAttr | None: ...

def device_async_wait(
    async_dependencies: ir.Value,
    *,
    num_groups: int | ir.IntegerAttr | None = None,
    **where: Unpack[ir.Where],
) -> DeviceAsyncWaitOp: ...

class ExtfOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        rnd: Any = None,
        relu: bool | ir.BoolAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def rnd(self) -> ir.Attribute: ...
    @property
    def relu(self) -> ir.BoolAttr: ...
    @property
    def out(self) -> ir.OpResult: ...

def extf(
    out: _T,
    in_: ir.Value,
    *,
    rnd: Any = None,
    relu: bool | ir.BoolAttr | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class LdMatrixOp(ir.OpView):
    def __init__(
        self,
        res: ir.Type,
        srcMemref: ir.Value,
        indices: Sequence[ir.Value],
        transpose: bool | ir.BoolAttr,
        numTiles: int | ir.IntegerAttr,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def srcMemref(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def indices(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def transpose(self) -> ir.BoolAttr: ...
    @property
    def numTiles(self) -> ir.IntegerAttr: ...
    @property
    def res(self) -> ir.OpResult[ir.VectorType]: ...

def ldmatrix(
    res: ir.Type,
    src_memref: ir.Value,
    indices: Sequence[ir.Value],
    transpose: bool | ir.BoolAttr,
    num_tiles: int | ir.IntegerAttr,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class MBarrierArriveExpectTxOp(ir.OpView):
    def __init__(
        self,
        barriers: ir.Value,
        txcount: ir.Value,
        mbarId: ir.Value,
        *,
        predicate: ir.Value | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def barriers(self) -> ir.Value: ...
    @property
    def txcount(self) -> ir.Value[ir.IndexType]: ...
    @property
    def mbarId(self) -> ir.Value[ir.IndexType]: ...
    @property
    def predicate(self) -> ir.Value[ir.IntegerType] | None: ...

def mbarrier_arrive_expect_tx(
    barriers: ir.Value,
    txcount: ir.Value,
    mbar_id: ir.Value,
    *,
    predicate: ir.Value | None = None,
    **where: Unpack[ir.Where],
) -> MBarrierArriveExpectTxOp: ...

class MBarrierArriveNoCompleteOp(ir.OpView):
    def __init__(
        self,
        barriers: ir.Value,
        mbarId: ir.Value,
        count: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def barriers(self) -> ir.Value: ...
    @property
    def mbarId(self) -> ir.Value[ir.IndexType]: ...
    @property
    def count(self) -> ir.Value[ir.IndexType]: ...
    @property
    def token(self) -> ir.OpResult: ...

def mbarrier_arrive_nocomplete(
    barriers: ir.Value,
    mbar_id: ir.Value,
    count: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class MBarrierArriveOp(ir.OpView):
    def __init__(
        self,
        barriers: ir.Value,
        mbarId: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def barriers(self) -> ir.Value: ...
    @property
    def mbarId(self) -> ir.Value[ir.IndexType]: ...
    @property
    def token(self) -> ir.OpResult: ...

def mbarrier_arrive(
    barriers: ir.Value,
    mbar_id: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class MBarrierCreateOp(ir.OpView):
    def __init__(self, barriers: ir.Type, **where: Unpack[ir.Where]) -> None: ...
    @property
    def barriers(self) -> ir.OpResult: ...

def mbarrier_create(barriers: _T, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...

class MBarrierGetOp(ir.OpView):
    def __init__(
        self,
        mbarrierPointer: ir.Type,
        barriers: ir.Value,
        mbarId: ir.Value,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def barriers(self) -> ir.Value: ...
    @property
    def mbarId(self) -> ir.Value[ir.IndexType]: ...
    @property
    def mbarrierPointer(self) -> ir.OpResult: ...

def mbarrier_get(
    mbarrier_pointer: _T, barriers: ir.Value, mbar_id: ir.Value, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class MBarrierInitOp(ir.OpView):
    def __init__(
        self,
        barriers: ir.Value,
        count: ir.Value,
        mbarId: ir.Value,
        *,
        predicate: ir.Value | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def barriers(self) -> ir.Value: ...
    @property
    def count(self) -> ir.Value[ir.IndexType]: ...
    @property
    def mbarId(self) -> ir.Value[ir.IndexType]: ...
    @property
    def predicate(self) -> ir.Value[ir.IntegerType] | None: ...

def mbarrier_init(
    barriers: ir.Value,
    count: ir.Value,
    mbar_id: ir.Value,
    *,
    predicate: ir.Value | None = None,
    **where: Unpack[ir.Where],
) -> MBarrierInitOp: ...

class MBarrierTestWaitOp(ir.OpView):
    def __init__(
        self,
        barriers: ir.Value,
        token: ir.Value,
        mbarId: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def barriers(self) -> ir.Value: ...
    @property
    def token(self) -> ir.Value: ...
    @property
    def mbarId(self) -> ir.Value[ir.IndexType]: ...
    @property
    def waitComplete(self) -> ir.OpResult[ir.IntegerType]: ...

def mbarrier_test_wait(
    barriers: ir.Value,
    token: ir.Value,
    mbar_id: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.IntegerType]: ...

class MBarrierTryWaitParityOp(ir.OpView):
    def __init__(
        self,
        barriers: ir.Value,
        phaseParity: ir.Value,
        ticks: ir.Value,
        mbarId: ir.Value,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def barriers(self) -> ir.Value: ...
    @property
    def phaseParity(self) -> ir.Value[ir.IntegerType]: ...
    @property
    def ticks(self) -> ir.Value[ir.IndexType]: ...
    @property
    def mbarId(self) -> ir.Value[ir.IndexType]: ...

def mbarrier_try_wait_parity(
    barriers: ir.Value,
    phase_parity: ir.Value,
    ticks: ir.Value,
    mbar_id: ir.Value,
    **where: Unpack[ir.Where],
) -> MBarrierTryWaitParityOp: ...

class MmaSparseSyncOp(ir.OpView):
    def __init__(
        self,
        res: ir.Type,
        matrixA: ir.Value,
        matrixB: ir.Value,
        matrixC: ir.Value,
        sparseMetadata: ir.Value,
        mmaShape: Sequence[int] | ir.ArrayAttr,
        *,
        sparsitySelector: int | ir.IntegerAttr | None = None,
        tf32Enabled: bool | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def matrixA(self) -> ir.Value[ir.VectorType]: ...
    @property
    def matrixB(self) -> ir.Value[ir.VectorType]: ...
    @property
    def matrixC(self) -> ir.Value[ir.VectorType]: ...
    @property
    def sparseMetadata(self) -> ir.Value[ir.VectorType]: ...
    @property
    def mmaShape(self) -> ir.ArrayAttr: ...
    @property
    def sparsitySelector(self) -> ir.IntegerAttr: ...
    @property
    def tf32Enabled(self) -> bool: ...
    @property
    def res(self) -> ir.OpResult[ir.VectorType]: ...

def mma_sp_sync(
    res: ir.Type,
    matrix_a: ir.Value,
    matrix_b: ir.Value,
    matrix_c: ir.Value,
    sparse_metadata: ir.Value,
    mma_shape: Sequence[int] | ir.ArrayAttr,
    *,
    sparsity_selector: int | ir.IntegerAttr | None = None,
    tf32_enabled: bool | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class MmaSyncOp(ir.OpView):
    def __init__(
        self,
        res: ir.Type,
        matrixA: ir.Value,
        matrixB: ir.Value,
        matrixC: ir.Value,
        mmaShape: Sequence[int] | ir.ArrayAttr,
        *,
        tf32Enabled: bool | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def matrixA(self) -> ir.Value[ir.VectorType]: ...
    @property
    def matrixB(self) -> ir.Value[ir.VectorType]: ...
    @property
    def matrixC(self) -> ir.Value[ir.VectorType]: ...
    @property
    def mmaShape(self) -> ir.ArrayAttr: ...
    @property
    def tf32Enabled(self) -> bool: ...
    @property
    def res(self) -> ir.OpResult[ir.VectorType]: ...

def mma_sync(
    res: ir.Type,
    matrix_a: ir.Value,
    matrix_b: ir.Value,
    matrix_c: ir.Value,
    mma_shape: Sequence[int] | ir.ArrayAttr,
    *,
    tf32_enabled: bool | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class RcpOp(ir.OpView):
    def __init__(
        self,
        in_: ir.Value,
        *,
        rounding: Any = None,
        approx: bool | ir.BoolAttr | None = None,
        ftz: bool | ir.BoolAttr | None = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def in_(self) -> ir.Value[ir.VectorType]: ...
    @property
    def rounding(self) -> ir.Attribute: ...
    @property
    def approx(self) -> ir.BoolAttr: ...
    @property
    def ftz(self) -> ir.BoolAttr: ...
    @property
    def out(self) -> ir.OpResult[ir.VectorType]: ...

def rcp(
    in_: ir.Value,
    *,
    rounding: Any = None,
    approx: bool | ir.BoolAttr | None = None,
    ftz: bool | ir.BoolAttr | None = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.VectorType]: ...

class TmaAsyncLoadOp(ir.OpView):
    def __init__(
        self,
        dst: ir.Value,
        barriers: ir.Value,
        tensorMapDescriptor: ir.Value,
        coordinates: Sequence[ir.Value],
        mbarId: ir.Value,
        *,
        multicastMask: ir.Value | None = None,
        predicate: ir.Value | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def dst(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def barriers(self) -> ir.Value: ...
    @property
    def tensorMapDescriptor(self) -> ir.Value: ...
    @property
    def coordinates(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def mbarId(self) -> ir.Value[ir.IndexType]: ...
    @property
    def multicastMask(self) -> ir.Value[ir.IntegerType] | None: ...
    @property
    def predicate(self) -> ir.Value[ir.IntegerType] | None: ...

def tma_async_load(
    dst: ir.Value,
    barriers: ir.Value,
    tensor_map_descriptor: ir.Value,
    coordinates: Sequence[ir.Value],
    mbar_id: ir.Value,
    *,
    multicast_mask: ir.Value | None = None,
    predicate: ir.Value | None = None,
    **where: Unpack[ir.Where],
) -> TmaAsyncLoadOp: ...

class TmaAsyncStoreOp(ir.OpView):
    def __init__(
        self,
        src: ir.Value,
        tensorMapDescriptor: ir.Value,
        coordinates: Sequence[ir.Value],
        *,
        predicate: ir.Value | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def src(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def tensorMapDescriptor(self) -> ir.Value: ...
    @property
    def coordinates(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def predicate(self) -> ir.Value[ir.IntegerType] | None: ...

def tma_async_store(
    src: ir.Value,
    tensor_map_descriptor: ir.Value,
    coordinates: Sequence[ir.Value],
    *,
    predicate: ir.Value | None = None,
    **where: Unpack[ir.Where],
) -> TmaAsyncStoreOp: ...

class TmaCreateDescriptorOp(ir.OpView):
    def __init__(
        self,
        tensorMap: ir.Type,
        tensor: ir.Value,
        boxDimensions: Sequence[ir.Value],
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def tensor(self) -> ir.Value[ir.UnrankedMemRefType]: ...
    @property
    def boxDimensions(self) -> ir.OpOperandList[ir.IndexType]: ...
    @property
    def tensorMap(self) -> ir.OpResult: ...

def tma_create_descriptor(
    tensor_map: _T, tensor: ir.Value, box_dimensions: Sequence[ir.Value], **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class TmaFenceOp(ir.OpView):
    def __init__(self, tensorMapDescriptor: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def tensorMapDescriptor(self) -> ir.Value: ...

def tma_fence_descriptor(
    tensor_map_descriptor: ir.Value, **where: Unpack[ir.Where]
) -> TmaFenceOp: ...

class TmaPrefetchOp(ir.OpView):
    def __init__(
        self,
        tensorMapDescriptor: ir.Value,
        *,
        predicate: ir.Value | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def tensorMapDescriptor(self) -> ir.Value: ...
    @property
    def predicate(self) -> ir.Value[ir.IntegerType] | None: ...

def tma_prefetch_descriptor(
    tensor_map_descriptor: ir.Value, *, predicate: ir.Value | None = None, **where: Unpack[ir.Where]
) -> TmaPrefetchOp: ...

class TruncfOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        rnd: Any = None,
        sat: Any = None,
        relu: bool | ir.BoolAttr | None = None,
        random_bits: ir.Value | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def random_bits(self) -> ir.Value[ir.IntegerType] | None: ...
    @property
    def rnd(self) -> ir.Attribute: ...
    @property
    def sat(self) -> ir.Attribute: ...
    @property
    def relu(self) -> ir.BoolAttr: ...
    @property
    def out(self) -> ir.OpResult: ...

def truncf(
    out: _T,
    in_: ir.Value,
    *,
    rnd: Any = None,
    sat: Any = None,
    relu: bool | ir.BoolAttr | None = None,
    random_bits: ir.Value | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class WarpgroupGenerateDescriptorOp(ir.OpView):
    def __init__(
        self, descriptor: ir.Type, tensor: ir.Value, tensorMap: ir.Value, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def tensor(self) -> ir.Value[ir.MemRefType]: ...
    @property
    def tensorMap(self) -> ir.Value: ...
    @property
    def descriptor(self) -> ir.OpResult: ...

def warpgroup_generate_descriptor(
    descriptor: _T, tensor: ir.Value, tensor_map: ir.Value, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class WarpgroupMmaInitAccumulatorOp(ir.OpView):
    def __init__(self, matrixC: ir.Type, **where: Unpack[ir.Where]) -> None: ...
    @property
    def matrixC(self) -> ir.OpResult: ...

def warpgroup_mma_init_accumulator(matrix_c: _T, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...

class WarpgroupMmaOp(ir.OpView):
    def __init__(
        self,
        matrixD: ir.Type,
        descriptorA: ir.Value,
        descriptorB: ir.Value,
        matrixC: ir.Value,
        *,
        waitGroup: int | ir.IntegerAttr | None = None,
        transposeA: bool | None = None,
        transposeB: bool | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def descriptorA(self) -> ir.Value: ...
    @property
    def descriptorB(self) -> ir.Value: ...
    @property
    def matrixC(self) -> ir.Value: ...
    @property
    def waitGroup(self) -> ir.IntegerAttr | None: ...
    @property
    def transposeA(self) -> bool: ...
    @property
    def transposeB(self) -> bool: ...
    @property
    def matrixD(self) -> ir.OpResult: ...

def warpgroup_mma(
    matrix_d: _T,
    descriptor_a: ir.Value,
    descriptor_b: ir.Value,
    matrix_c: ir.Value,
    *,
    wait_group: int | ir.IntegerAttr | None = None,
    transpose_a: bool | None = None,
    transpose_b: bool | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class WarpgroupMmaStoreOp(ir.OpView):
    def __init__(
        self, matrixD: ir.Value, dstMemref: ir.Value, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def matrixD(self) -> ir.Value: ...
    @property
    def dstMemref(self) -> ir.Value[ir.MemRefType]: ...

def warpgroup_mma_store(
    matrix_d: ir.Value, dst_memref: ir.Value, **where: Unpack[ir.Where]
) -> WarpgroupMmaStoreOp: ...

class FPRoundingMode(enum.IntEnum):
    NONE = 0
    RN = 1
    RM = 2
    RP = 3
    RZ = 4
    RNA = 5
    RS = 6

class RcpRoundingMode(enum.IntEnum):
    APPROX = 0
    RN = 1
    RZ = 2
    RM = 3
    RP = 4

class SaturationMode(enum.IntEnum):
    NONE = 0
    SATFINITE = 1
    SAT = 2

class TensorMapInterleaveKind(enum.IntEnum):
    INTERLEAVE_NONE = 0
    INTERLEAVE_16B = 1
    INTERLEAVE_32B = 2

class TensorMapL2PromoKind(enum.IntEnum):
    L2PROMO_NONE = 0
    L2PROMO_64B = 1
    L2PROMO_128B = 2
    L2PROMO_256B = 3

class TensorMapOOBKind(enum.IntEnum):
    OOB_ZERO = 0
    OOB_NAN = 1

class TensorMapSwizzleKind(enum.IntEnum):
    SWIZZLE_NONE = 0
    SWIZZLE_32B = 1
    SWIZZLE_64B = 2
    SWIZZLE_128B = 3
