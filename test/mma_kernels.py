"""Interpreted kernels for tensor cores, and convolutions to compare them with."""

import numpy as np

from graphc.dialects import graph, iree
from graphc.mlir import arith, ir
from graphc.passes.kernels.mma_matmul import MmaMatmulEmitter
from graphc.passes.kernels.wgmma_matmul import WgmmaMatmulEmitter, WgmmaTile
from harness import simt

F32 = np.dtype(np.float32)


def run(context, shape, left, right):
    """The results of the kernel, ``[batch or parts, m, n]``."""
    context.allow_unregistered_dialects = True
    module = ir.Module.create()
    dtype = F32 if shape.parts > 1 else shape.dtype
    outer = shape.batch * shape.parts
    result = np.full(outer * shape.m * shape.n, np.nan, dtype)
    buffers = [left.reshape(-1), right.reshape(-1), result]
    emitter_class = MmaMatmulEmitter
    if isinstance(shape.tile, WgmmaTile):
        emitter_class = WgmmaMatmulEmitter
        if any(shape.tile.bulk):
            buffers.append(np.zeros(shape.tile.scratch_bytes(shape.workgroups), np.int8))
    types = [iree.Buffer(graph.element_type(each.dtype), each.size) for each in buffers]

    def kernel(number, a, b, c, *scratch):
        def prepare(at, column, lanes):
            del column
            type_ = ir.VectorType.get([lanes], types[2].element)

            def finish(accumulators):
                narrow = accumulators if dtype == F32 else arith.truncf(type_, accumulators)
                emitter.store(narrow, c, at)

            return finish

        emitter = emitter_class(shape, a, b, *scratch)
        emitter.workgroup(number, prepare)

    with ir.InsertionPoint(module.body):
        executable = iree.define_kernel("k", types, kernel, threads=shape.tile.threads)
    module.operation.verify()
    (function,) = simt.find_all(executable, "func.func")
    simt.run_kernel(function, shape.tile.threads, shape.workgroups, buffers)
    return result.reshape(outer, shape.m, shape.n)


def convolved(x, w, windows):
    result = np.zeros((len(x), *windows.positions, len(w)))
    for tap in np.ndindex(*windows.kernel):
        for position in np.ndindex(*windows.positions):
            steps = zip(position, windows.strides, windows.low, tap, windows.dilations, strict=True)
            at = tuple(p * stride - low + t * dilation for p, stride, low, t, dilation in steps)
            if all(0 <= i < size for i, size in zip(at, windows.image[1:], strict=False)):
                every = slice(None)
                result[(every, *position)] += x[(every, *at)] @ w[(every, *tap)].T
    return result
