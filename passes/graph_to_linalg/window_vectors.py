"""Pools and depthwise convolutions by the kernel for vectors of channels
(`kernels.window_vectors`)."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects import graph, iree
from ...dialects.locations import location_names
from ...mlir import arith, ir
from ..kernels.gpu_tiles import VECTOR_BYTES
from ..kernels.mma_operands import ImageWindows
from ..kernels.mma_tiles import MMA_TYPES, UNKNOWN_SIZES, can_index
from ..kernels.thread_emitter import Prepare
from ..kernels.window_vectors import MAX_TAPS, THREADS, WindowEmitter, WindowShape
from .kernel_calls import define, flat
from .lowering import Lowering, plain_element, plain_type
from .operands import Operand
from .thread_epilogue import F32, Steps, ThreadEpilogue

DTYPES = (*MMA_TYPES, F32)
"""Element types of the kernel."""


def max_pool_by_vectors(
    x: Operand, result: graph.TensorType, attrs: dict[str, Any]
) -> Operand | None:
    """Build a pool on ``[N, spatial..., C]``; None if the kernel does not compute it: other
    targets and types, unknown sizes, many taps."""
    ctx, shape = x.ctx, _shape(x.ctx, x.type, result, tuple(attrs["kernel"]), attrs)
    if shape is None:
        return None
    lowest = graph.lowest(result.dtype)

    def kernel(number: ir.Value, image: ir.Value, y: ir.Value) -> None:
        emitter = WindowEmitter(shape, image)

        def prepare(at: Any, *_: Any) -> Callable[[ir.Value], None]:
            return lambda vector: emitter.store(vector, y, at)

        emitter.workgroup(
            number,
            prepare,
            _splat(lowest, result.dtype, shape.lanes),
            lambda found, _, loaded, valid: emitter.largest(found, loaded, valid),
        )

    y = _call(ctx, "max_pool", shape, str(result.dtype), [x.value], plain_type(result), kernel)
    return Operand(ctx, result, y)


def depthwise_by_vectors(ctx: Lowering, op: graph.ConvOp, steps: Steps) -> ir.Value | None:
    """Build a convolution with one filter for each channel, and the elementwise `steps` on its
    result. None if the kernel does not compute it, or a step reads what is neither of the result's
    size nor one value for each channel."""
    x, w, result = (graph.type_of(v) for v in (op.x, op.w, op.result))
    if op.attrs["layout"] != "channels_last" or not w.is_static:
        return None
    if not x.shape[-1] == w.shape[-1] == op.attrs["groups"] or w.shape[-2] != 1:
        return None
    shape = _shape(ctx, x, result, w.static_shape[:-2], op.attrs)
    root = op.operation.results[0]
    last = graph.type_of(steps[-1].operation.results[0]) if steps else result
    epilogue = ThreadEpilogue.of(root, steps, last)
    if shape is None or epilogue is None or w.dtype != x.dtype:
        return None

    def kernel(number: ir.Value, image: ir.Value, weights: ir.Value, *others: ir.Value) -> None:
        emitter = WindowEmitter(shape, image)

        def step(total: ir.Value, at: Any, loaded: ir.Value, valid: ir.Value | None) -> ir.Value:
            weight = emitter.load(weights, at, shape.lanes)
            return emitter.multiplied(total, loaded, weight, valid)

        prepare: Prepare = epilogue.preparation(emitter, others)
        emitter.workgroup(number, prepare, _splat(0, F32, shape.lanes), step)

    operands = [ctx.values[v] for v in (op.x, op.w, *epilogue.memory)]
    return _call(ctx, "depthwise", shape, epilogue.key, operands, plain_type(last), kernel)


def _shape(
    ctx: Lowering,
    x: graph.TensorType,
    result: graph.TensorType,
    kernel: tuple[int, ...],
    attrs: dict[str, Any],
) -> WindowShape | None:
    """The kernel for windows of an image, None if there is none."""
    if not ctx.mma_sync:
        return None
    reason = None
    if x.dtype not in DTYPES:
        reason = "its elements are no floats of 16 or 32 bits"
    elif not can_index(x, result):
        reason = UNKNOWN_SIZES
    elif math.prod(kernel) > MAX_TAPS:
        reason = f"its kernel has more than {MAX_TAPS} taps, which are unrolled"
    if reason is not None:
        ctx.statistics("window-vectors").record_declined(_node(), reason)
        return None
    windows = ImageWindows(
        x.static_shape,
        kernel,
        result.static_shape[1:-1],
        *(tuple(attrs[name]) for name in ("strides", "dilations", "low")),
    )
    return WindowShape(windows, math.gcd(VECTOR_BYTES // x.dtype.itemsize, windows.channels))


def _node() -> str:
    return "+".join(location_names(ir.Location.current))


def _splat(value: float, dtype: np.dtype, lanes: int) -> ir.Value:
    type_ = ir.VectorType.get([lanes], plain_element(dtype))
    element = ir.FloatAttr.get(type_.element_type, float(value))
    return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, element))


def _call(
    ctx: Lowering,
    family: str,
    shape: WindowShape,
    key: object,
    operands: list[ir.Value],
    result: ir.RankedTensorType,
    kernel: Callable[..., None],
) -> ir.Value:
    ctx.statistics("window-vectors").record_fired(_node())
    types = [*(operand.type for operand in operands), result]
    memory = [flat(each) for each in types]
    whole_key = (shape, key, *map(str, types))
    name = define(ctx, family, whole_key, memory, kernel, threads=THREADS)
    return iree.run_kernel(name, shape.workgroups, operands, [result])[0]
