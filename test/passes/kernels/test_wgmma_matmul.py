"""Tests of the matmul kernel for warpgroups: interpreted."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from graphc.benchmarks.measure import largest_difference
from graphc.dialects import graph, iree
from graphc.mlir import arith, ir
from graphc.passes.kernels import wgmma_matmul
from graphc.passes.kernels.mma_matmul import MmaShape
from graphc.passes.kernels.wgmma_matmul import WgmmaMatmulEmitter, WgmmaTile
from harness import simt

F16, BF16, F32 = (np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16, np.float32))


def run(context, shape, left, right):
    """The results of the kernel, ``[batch or parts, m, n]``."""
    context.allow_unregistered_dialects = True
    module = ir.Module.create()
    dtype = F32 if shape.parts > 1 else shape.dtype
    outer = shape.batch * shape.parts
    result = np.full(outer * shape.m * shape.n, np.nan, dtype)
    buffers = [left.reshape(-1), right.reshape(-1), result]
    types = [iree.Buffer(graph.element_type(each.dtype), each.size) for each in buffers]
    if any(shape.tile.bulk):
        buffers.append(np.zeros(shape.tile.scratch_bytes(shape.workgroups), np.int8))
        types.append(iree.Buffer(ir.IntegerType.get_signless(8), buffers[-1].size))

    def kernel(number, a, b, c, *scratch):
        def prepare(at, column, lanes):
            del column
            type_ = ir.VectorType.get([lanes], types[2].element)

            def finish(accumulators):
                narrow = accumulators if dtype == F32 else arith.truncf(type_, accumulators)
                emitter.store(narrow, c, at)

            return finish

        emitter = WgmmaMatmulEmitter(shape, a, b, *scratch)
        emitter.workgroup(number, prepare)

    with ir.InsertionPoint(module.body):
        executable = iree.define_kernel("k", types, kernel, threads=shape.tile.threads)
    module.operation.verify()
    (function,) = simt.find_all(executable, "func.func")
    simt.run_kernel(function, shape.tile.threads, shape.workgroups, buffers)
    return result.reshape(outer, shape.m, shape.n)


@pytest.mark.parametrize(
    ("m", "n", "k", "tile", "options"),
    [
        (64, 64, 320, WgmmaTile(64, 64, 64, (4, 1), 4), {}),
        (150, 72, 200, WgmmaTile(128, 64, 64, (8, 1), 4), {}),  # borders along M, N and K
        (64, 128, 64, WgmmaTile(64, 128, 64, (4, 2), 3), {}),  # two warpgroups along N
        (5, 40, 128, WgmmaTile(64, 32, 64, (4, 1), 3), {"batch": 2}),
        (64, 32, 256, WgmmaTile(64, 32, 64, (4, 1), 3), {"parts": 2}),
    ],
)
@pytest.mark.parametrize("bulk", [(False, False), (False, True), (True, True)])
def test_products(context, m, n, k, tile, options, bulk):
    dtype = BF16 if m == 150 else F16
    shape = MmaShape(m, n, k, dtype, replace(tile, bulk=bulk), **options)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((shape.batch, *s)).astype(dtype) for s in ((m, k), (n, k)))
    y = run(context, shape, a, b).astype(np.float32)
    y = y.sum(0, keepdims=True) if shape.parts > 1 else y
    bound = {F16: 1e-3, BF16: 8e-3}[dtype]
    assert (
        largest_difference(y, a.astype(np.float64) @ b.astype(np.float64).swapaxes(1, 2)) <= bound
    )


@pytest.mark.parametrize(
    ("name", "change", "bulk", "message"),
    [
        ("fence_proxy", lambda: None, (False, False), "without a fence"),
        ("_IN_FLIGHT", 0, (False, False), ""),
        ("_IN_FLIGHT", 0, (True, True), ""),
        ("wait_for_products", lambda registers: registers, (True, True), "in flight"),
    ],
)
def test_what_is_missing_is_found(context, monkeypatch, name, change, bulk, message):
    """The interpreter finds kernels without a fence or a wait."""
    if name == "_IN_FLIGHT":  # of the copies alone: they come a step too early
        monkeypatch.setattr(WgmmaMatmulEmitter, "_ahead", 2)
        message = "may still be read" if bulk == (False, False) else "without an end|still be read"
    else:
        monkeypatch.setattr(wgmma_matmul, name, change)
    shape = MmaShape(64, 32, 512, F16, WgmmaTile(64, 32, 64, (4, 1), 3, bulk))
    a, b = (np.ones((rows, 512), F16) for rows in (64, 32))
    with pytest.raises(simt.UndefinedBehaviour, match=message):
        run(context, shape, a, b)
