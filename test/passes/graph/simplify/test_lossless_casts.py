"""Casts that lose nothing, as the simplification of casts of casts judges them."""

import ml_dtypes
import numpy as np
import pytest

from graphc.dialects import graph
from graphc.passes.graph.simplify.casts import holds

DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.uint32, np.int64, ml_dtypes.int4]
DTYPES += [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, ml_dtypes.float8_e4m3fn]


@pytest.mark.parametrize("wide", DTYPES)
@pytest.mark.parametrize("narrow", DTYPES)
def test_lossless_casts_are_lossless(narrow, wide):
    narrow, wide = np.dtype(narrow), np.dtype(wide)
    if not holds(wide, narrow):
        return
    values = edge_values(narrow)
    back = values.astype(wide).astype(narrow)
    assert np.array_equal(np.isnan(values.astype(np.float64)), np.isnan(back.astype(np.float64)))
    real = ~np.isnan(values.astype(np.float64))
    assert np.array_equal(values[real], back[real])


def edge_values(dtype: np.dtype) -> np.ndarray:
    if dtype == np.bool_:
        return np.array([False, True])
    if graph.types.is_integer(dtype):
        info = ml_dtypes.iinfo(dtype)
        return np.array([info.min, int(info.max) - 1, info.max, 1], dtype=object).astype(dtype)
    info = ml_dtypes.finfo(dtype)
    edges = [info.max, info.smallest_subnormal, info.smallest_normal, info.eps]
    values = np.array([float(e) for e in edges] + [0.1, np.inf, np.nan])
    return values.astype(dtype)


def test_lossless_casts_that_matter():
    lossless = [
        (np.float32, np.float16),
        (np.float32, ml_dtypes.bfloat16),
        (np.float32, np.int16),
        (np.float64, np.int32),
        (np.int64, np.uint32),
        (np.float16, np.bool_),
    ]
    lossy = [
        (np.float16, ml_dtypes.bfloat16),
        (ml_dtypes.bfloat16, np.float16),
        (np.float32, np.int32),
        (np.int32, np.uint32),
        (np.uint32, np.int32),
        (np.int32, np.float32),
        (np.bool_, np.int8),
    ]
    assert all(holds(np.dtype(wide), np.dtype(narrow)) for wide, narrow in lossless)
    assert not any(holds(np.dtype(wide), np.dtype(narrow)) for wide, narrow in lossy)
