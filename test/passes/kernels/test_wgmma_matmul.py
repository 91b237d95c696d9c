"""Tests of the matmul kernel for warpgroups: interpreted."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from mma_kernels import convolved, run

from graphc.benchmarks.measure import largest_difference
from graphc.passes.kernels import bulk_copy, wgmma_matmul
from graphc.passes.kernels.bulk_copy import BulkCopies
from graphc.passes.kernels.mma_matmul import MmaShape
from graphc.passes.kernels.mma_operands import ImageWindows
from graphc.passes.kernels.mma_tiles import WGMMA_COSTS
from graphc.passes.kernels.wgmma_matmul import WgmmaMatmulEmitter, WgmmaTile
from harness import simt
from harness.marks import long

COPIED, BULK = (False, False), (True, True)
F16, BF16 = (np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16))


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
@pytest.mark.parametrize("bulk", [long((False, False)), (False, True), (True, True)])
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


@pytest.mark.parametrize("bulk", [(False, False), (False, True)])
@pytest.mark.parametrize(
    "windows",
    [
        ImageWindows((2, 9, 7, 64), (3, 3), (5, 4), (2, 2), (1, 1), (1, 1)),
        ImageWindows((1, 9, 8, 8), (3, 2), (9, 4), (1, 2), (1, 1), (1, 1)),
    ],
)
def test_windows(context, windows, bulk):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(windows.image).astype(F16)
    w = rng.standard_normal((48, *windows.kernel, windows.channels)).astype(F16)
    tile = WgmmaTile(64, 64, 64, (4, 1), 4, bulk)
    y = run(context, MmaShape(windows.rows, 48, windows.columns, F16, tile, windows=windows), x, w)
    expected = convolved(x.astype(np.float64), w.astype(np.float64), windows)
    assert largest_difference(y.reshape(expected.shape), expected) <= 1e-3


@pytest.mark.parametrize("tile", WGMMA_COSTS, ids=str)
def test_tiles_fit(context, tile):
    """Every tile computes a border, and fits into the shared memory of a multiprocessor."""
    assert tile.shared_bytes(2) <= 227 * 1024
    rng = np.random.default_rng(0)
    m, n, k = tile.rows - 8, tile.columns - 8, 72
    a, b = (rng.standard_normal(s).astype(F16) for s in ((m, k), (n, k)))
    y = run(context, MmaShape(m, n, k, F16, tile), a, b)
    assert largest_difference(y[0], a.astype(np.float64) @ b.astype(np.float64).T) <= 1e-3


def without(name):
    """A change that leaves out what `name` of the emitter does."""
    return WgmmaMatmulEmitter, name, lambda self, *_: None


@pytest.mark.parametrize(
    ("where", "name", "change", "bulk", "message"),
    [
        (wgmma_matmul, "fence_proxy", lambda: None, COPIED, "without a fence"),
        (wgmma_matmul, "wait_for_products", lambda y: y, BULK, "products are in flight"),
        (*without("barrier"), COPIED, "no barrier between"),
        (*without("wait_for_copies"), COPIED, "not there yet"),
        (WgmmaMatmulEmitter, "_ahead", 2, COPIED, "may still be read"),
        (WgmmaMatmulEmitter, "_ahead", 2, BULK, "without an end"),
        (BulkCopies, "wait", lambda self, step: self.emitter.divide(step, 3)[1], BULK, "not there"),
        (BulkCopies, "wait_until_free", lambda *_: None, BULK, "may still be read"),
        (bulk_copy, "publish_map", lambda *_: None, BULK, "not in memory"),
        (bulk_copy, "expect_bytes", lambda *_: None, BULK, "nobody has arrived"),
    ],
)
def test_what_is_missing_is_found(context, monkeypatch, where, name, change, bulk, message):
    """The interpreter finds kernels without a fence, a wait or a barrier."""
    monkeypatch.setattr(where, name, change)
    shape = MmaShape(64, 32, 512, F16, WgmmaTile(64, 32, 64, (4, 1), 3, bulk))
    a, b = (np.ones((rows, 512), F16) for rows in (64, 32))
    with pytest.raises(simt.UndefinedBehaviour, match=message):
        run(context, shape, a, b)
