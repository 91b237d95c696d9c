"""Tests of the matmul kernel for tensor cores: interpreted, and compiled for CUDA."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from mma_kernels import convolved, run

from graphc.benchmarks.measure import largest_difference
from graphc.passes.kernels.mma_matmul import MmaShape, MmaTile
from graphc.passes.kernels.mma_operands import ImageWindows
from graphc.passes.kernels.mma_tiles import COSTS, F32_COSTS, TF32_COSTS
from harness.marks import long

F16, BF16, F32 = (np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16, np.float32))


def products_of(dtype):
    return 3 if dtype == F32 else 1


@pytest.mark.parametrize(
    ("m", "n", "k", "tile", "options"),
    [
        (32, 64, 128, MmaTile(32, 64, 64, (2, 2), 3), {}),
        (50, 72, 200, MmaTile(32, 64, 64, (2, 2), 4), {}),  # borders along M, N and K
        (50, 72, 200, MmaTile(32, 64, 32, (1, 2), 4), {"k_innermost": False}),
        (128, 128, 192, MmaTile(128, 128, 64, (2, 4), 3), {}),
        (5, 36, 66, MmaTile(16, 32, 64, (1, 2), 2), {}),  # copies of four bytes, stores of eight
        (64, 64, 256, MmaTile(64, 64, 64, (2, 2), 3), {"parts": 2}),
        (40, 32, 64, MmaTile(32, 32, 32, (2, 2), 3), {"batch": 3, "k_innermost": False}),
        (16, 32, 2048, MmaTile(16, 32, 64, (1, 2), 4), {}),  # a long sum
    ],
)
@pytest.mark.parametrize("dtype", [F16, long(BF16), F32])
def test_products(context, m, n, k, tile, options, dtype):
    shape = MmaShape(m, n, k, dtype, tile, products=products_of(dtype), **options)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((shape.batch, *s)).astype(dtype) for s in ((m, k), (k, n)))
    stored = np.ascontiguousarray(b.swapaxes(1, 2) if shape.k_innermost else b)
    y = run(context, shape, a, stored).astype(np.float32)
    y = y.sum(0, keepdims=True) if shape.parts > 1 else y
    bound = {F16: 1e-3, BF16: 8e-3, F32: 5e-7}[dtype]
    assert largest_difference(y, a.astype(np.float64) @ b.astype(np.float64)) <= bound


@pytest.mark.parametrize(
    ("windows", "filters"),
    [
        (ImageWindows((2, 9, 7, 64), (3, 3), (5, 4), (2, 2), (1, 1), (1, 1)), 48),
        (
            ImageWindows((1, 9, 7, 24), (3, 2), (9, 4), (1, 2), (1, 1), (1, 1)),
            48,
        ),
        (ImageWindows((1, 12, 12, 4), (7, 7), (6, 6), (2, 2), (1, 1), (3, 3)), 32),
        (ImageWindows((1, 12, 64), (3,), (12,), (1,), (2,), (2,)), 64),
        (ImageWindows((1, 4, 5, 6, 8), (2, 3, 1), (3, 3, 6), (1, 1, 1), (1, 1, 1), (0, 0, 0)), 16),
    ],
)
@pytest.mark.parametrize("dtype", [F16, long(F32)])
def test_windows(context, windows, filters, dtype):
    rng = np.random.default_rng(0)
    windows = replace(windows, vector=16 // dtype.itemsize)
    x = rng.standard_normal(windows.image).astype(dtype)
    w = rng.standard_normal((filters, *windows.kernel, windows.channels)).astype(dtype)
    tile = MmaTile(32, 32, 64, (2, 2), 3)
    sizes = windows.rows, filters, windows.columns
    shape = MmaShape(*sizes, dtype, tile, windows=windows, products=products_of(dtype))
    y = run(context, shape, x, w)
    expected = convolved(x.astype(np.float64), w.astype(np.float64), windows)
    bound = {F16: 1e-3, F32: 5e-7}[dtype]
    assert largest_difference(y.reshape(expected.shape), expected) <= bound


@pytest.mark.parametrize(
    ("tile", "dtype", "products"),
    [
        *[(t, F16, 1) for t in COSTS],
        *[(t, F32, 3) for t in F32_COSTS],
        (next(iter(TF32_COSTS)), F32, 1),
    ],
    ids=str,
)
def test_tiles_fit(context, tile, dtype, products):
    """Every tile computes a border, with fewer stages too, and fits into shared memory."""
    assert tile.shared_bytes(dtype.itemsize) <= 99 * 1024
    rng = np.random.default_rng(0)
    m, n, k = tile.rows - 7, tile.columns - 8, 2 * tile.k + 8
    a, b = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (n, k)))
    y = run(context, MmaShape(m, n, k, dtype, tile, products=products), a, b)
    bound = 5e-7 if products == 3 else 1e-3
    assert largest_difference(y[0], a.astype(np.float64) @ b.astype(np.float64).T) <= bound
