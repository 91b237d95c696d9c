"""Matmuls and convolutions by the kernel for tensor cores (`kernels.mma_matmul`), with the
elementwise ops that follow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...dialects import graph, iree
from ...mlir import arith, ir, vector
from ..infra.query import constant_array, producer, splat_of
from ..kernels.epilogue import steps_key
from ..kernels.mma_matmul import F32, MmaMatmulEmitter, MmaShape
from ..kernels.mma_tiles import conv_shape, matmul_shape
from ..kernels.thread_emitter import Number
from .elementwise import evaluate_scalars, values_from_outside
from .generic import generic, projection
from .generic_contraction import Factor, converted, untransposed
from .kernel_calls import define, flat
from .lowering import Lowering, plain_element, plain_type, scalar_constant
from .movement import reshape_tensor
from .operands import Operand, known, operand
from .padding import padded_axes, with_channels
from .scalar import convert_scalar

Steps = Sequence[graph.GraphOp]


def multiply_on_tensor_cores(ctx: Lowering, op: graph.GraphOp, steps: Steps) -> ir.Value | None:
    """Build a matmul or convolution and the elementwise `steps` on its result.

    None if the kernel does not compute it, or a step reads what is neither of the result's size nor
    one value for each column.
    """
    if not ctx.mma_sync or not isinstance(op, graph.MatmulOp | graph.ConvOp):
        return None
    shape = conv_shape(op) if isinstance(op, graph.ConvOp) else matmul_shape(op)
    if shape is None:
        return None
    total = op.operation.results[0]
    if shape.parts > 1:
        return None if steps else _in_parts(ctx, op, shape)
    result = steps[-1].operation.results[0] if steps else total
    epilogue = _Epilogue.of(total, steps, graph.type_of(result))
    return None if epilogue is None else _run(ctx, op, shape, epilogue)


@dataclass(frozen=True)
class _Epilogue:
    """Elementwise `steps` on `root`, the result of a product; all values of the result's shape."""

    root: ir.Value
    steps: Steps
    result: graph.TensorType
    whole: Sequence[ir.Value]
    """Values with one element for each of the result."""
    by_column: Sequence[ir.Value]
    """Values with one element for each column."""

    @staticmethod
    def of(root: ir.Value, steps: Steps, result: graph.TensorType) -> "_Epilogue | None":
        """None if a value is read in another way."""
        whole: list[ir.Value] = []
        by_column: list[ir.Value] = []
        for value in values_from_outside(steps):
            type_ = graph.type_of(value)
            if value == root or splat_of(value) is not None:
                continue
            if type_.shape == result.shape:
                whole.append(value)
            elif type_.rank and graph.element_count(type_.shape) == type_.shape[-1]:
                if type_.shape[-1] != result.shape[-1]:
                    return None
                by_column.append(value)
            else:
                return None
        return _Epilogue(root, steps, result, whole, by_column)

    @property
    def memory(self) -> list[ir.Value]:
        """The values that the kernel reads from memory."""
        return [*self.whole, *self.by_column]

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for epilogues that compute the same."""
        types = [str(graph.type_of(value)) for value in (self.root, *self.memory)]
        splats = [(number, str(graph.type_of(v)), str(splat_of(v))) for number, v in self._splats()]
        values = [self.root, *self.memory, *(v for _, v in self._splats())]
        read = (len(self.whole), *types, *splats, str(self.result.dtype))
        return (*read, *steps_key(self.steps, values))

    def _splats(self) -> list[tuple[int, ir.Value]]:
        values = values_from_outside(self.steps)
        return [(n, v) for n, v in enumerate(values) if v != self.root and v not in self.memory]

    def apply(
        self,
        emitter: MmaMatmulEmitter,
        buffers: Sequence[ir.Value],
        at: Number,
        column: Number,
        accumulators: ir.Value,
    ) -> ir.Value:
        """The vector of the result from index `at` on; `buffers` hold `memory`."""
        (lanes,) = ir.VectorType(accumulators.type).shape
        found = {self.root: accumulators}
        for value, buffer in zip(self.memory, buffers, strict=True):
            found[value] = emitter.load(buffer, at if value in self.whole else column, lanes)
        splats = {
            v: scalar_constant(splat_of(v), graph.type_of(v).dtype) for _, v in self._splats()
        }
        elements: list[ir.Value] = []
        for lane in range(lanes):
            known: dict[ir.Value, ir.Value] = {**splats}
            known |= {value: vector.extract(v, [], [lane]) for value, v in found.items()}
            known[self.root] = convert_scalar(known[self.root], F32, graph.type_of(self.root).dtype)
            evaluated = evaluate_scalars(self.steps, known)
            last = self.steps[-1].operation.results[0] if self.steps else self.root
            elements.append(evaluated[last])
        type_ = ir.VectorType.get([lanes], plain_element(self.result.dtype))
        return vector.from_elements(type_, elements)


def _run(ctx: Lowering, op: Any, shape: MmaShape, epilogue: _Epilogue) -> ir.Value:
    """Run the kernel and its epilogue."""
    others = [ctx.values[value] for value in epilogue.memory]

    def store(emitter: MmaMatmulEmitter, buffers: Sequence[ir.Value]) -> Callable[..., None]:
        *read, result = buffers

        def store_vector(at: Number, column: Number, accumulators: ir.Value) -> None:
            emitter.store(epilogue.apply(emitter, read, at, column, accumulators), result, at)

        return store_vector

    return _call(ctx, op, shape, epilogue.key, others, plain_type(epilogue.result), store)


def _call(
    ctx: Lowering,
    op: Any,
    shape: MmaShape,
    key: object,
    others: Sequence[ir.Value],
    result: ir.RankedTensorType,
    store: Callable[[MmaMatmulEmitter, Sequence[ir.Value]], Callable[..., None]],
) -> ir.Value:
    """Call the kernel on the operands of `op` and `others`. `store` receives its emitter and the
    buffers of `others` and the result."""
    left, right, k_innermost = _operands(ctx, op, shape)
    shape = replace(shape, k_innermost=k_innermost)
    operands = [left, right, *others]

    def kernel(number: ir.Value, *buffers: ir.Value) -> None:
        left, right, *others = buffers
        emitter = MmaMatmulEmitter(shape, left, right)
        emitter.workgroup(number, store(emitter, others))

    memory = [flat(each) for each in (*(operand.type for operand in operands), result)]
    threads = shape.tile.threads
    name = define(ctx, "mma", (shape, key), memory, kernel, shape.flops, threads=threads)
    return iree.run_kernel(name, shape.workgroups, operands, [result])[0]


def _operands(ctx: Lowering, op: Any, shape: MmaShape) -> tuple[ir.Value, ir.Value, bool]:
    """The operands in memory, and whether K is innermost in the right one."""
    if isinstance(op, graph.MatmulOp):
        return ctx.values[op.a], *_right(ctx, op.b)
    assert shape.windows is not None
    added = shape.windows.channels - graph.static_size(graph.type_of(op.x).shape[-1])
    if not added:
        return ctx.values[op.x], *_right(ctx, op.w)
    image = with_channels(ctx, op.x, shape.windows.channels)
    *kernel, _, filters = range(graph.type_of(op.w).rank)
    weights = _constant(ctx, op.w) or operand(ctx, op.w, ctx.values[op.w])
    weights = weights.transposed([filters, *kernel, filters - 1])
    zeros = [0] * (filters + 1)
    if weights.array is not None:
        pads = [*[(0, 0)] * filters, (0, added)]
        return image, known(ctx, np.pad(weights.array, pads)).value, True
    return image, padded_axes(weights, zeros, [*zeros[:-1], added], 0).value, True


def _constant(ctx: Lowering, value: ir.Value) -> Operand | None:
    """The data of a constant, possibly transposed; None for others."""
    transpose = producer(value, graph.TransposeOp)
    array = constant_array(value if transpose is None else transpose.x)
    if array is None:
        return None
    return known(ctx, array if transpose is None else array.transpose(transpose.attrs["perm"]))


def _right(ctx: Lowering, value: ir.Value) -> tuple[ir.Value, bool]:
    """The right operand ``[..., N]`` in memory, and whether all other axes are innermost."""
    type_ = graph.type_of(value)
    plain = Factor(ctx.values[value], type_, list(range(type_.rank)))
    stored = untransposed(plain)
    last = type_.rank - 1
    axes = [axis for axis in stored.axes if type_.shape[axis or 0] != 1 or axis == last]
    others = [axis for axis in range(last) if type_.shape[axis] != 1]
    if axes == [last, *others] and others:
        return stored.value, True
    return plain.value, False


def _in_parts(ctx: Lowering, op: Any, shape: MmaShape) -> ir.Value:
    """Build a split-K product: the products of the parts of K, then their sum."""
    result = graph.type_of(op.operation.results[0])
    wide = graph.TensorType((shape.m, shape.n), F32)
    parts = wide.with_shape((shape.parts, *wide.shape))

    def store(emitter: MmaMatmulEmitter, buffers: Sequence[ir.Value]) -> Callable[..., None]:
        return lambda at, column, accumulators: emitter.store(accumulators, buffers[0], at)

    y = _call(ctx, op, shape, "parts", [], plain_type(parts), store)
    (total,) = generic(
        [y],
        [projection(3, [2, 0, 1])],
        [ctx.filled(wide, 0)],
        [projection(3, [0, 1])],
        ["parallel", "parallel", "reduction"],
        lambda part, total: arith.addf(total, part),
    )
    narrow = wide.with_dtype(result.dtype)
    return reshape_tensor(ctx, converted(ctx, total, wide, narrow), narrow, result)
