"""Constants in and out of MLIR, whatever their memory looks like."""

import ml_dtypes
import numpy as np
import pytest
from graphc.dialects import graph
from graphc.mlir import ir


@pytest.fixture(autouse=True)
def context():
    with ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        yield


def same_after_writing(array: np.ndarray) -> bool:
    back = graph.attributes.Elements.read(graph.write_elements(array))
    return back.dtype == array.dtype and np.array_equal(back, array)


ARRAYS = {
    "scalar": np.array(2.5, np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "small": np.arange(6, dtype=np.int64).reshape(2, 3),
    "large": np.arange(6000, dtype=np.float32).reshape(60, 100),
    "bool": np.array([True, False, True]),
    "large bool": np.arange(6000) % 3 == 0,
    "bfloat16": np.array([1, -2.5, 3], ml_dtypes.bfloat16),
    "large float16": np.arange(2000, dtype=np.float16),
    "unsigned": np.array([255, 0], np.uint8),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_values_survive(array):
    assert same_after_writing(array)


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4), (60, 100)])
@pytest.mark.parametrize("dtype", [np.float32, np.bool_, ml_dtypes.bfloat16])
def test_views_are_written_as_they_read(shape, dtype):
    array = (np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype)
    assert same_after_writing(array.T)
    assert same_after_writing(array[::-1])
    assert same_after_writing(np.broadcast_to(array[:1], shape))
    assert same_after_writing(np.broadcast_to(array.ravel()[3], shape))
    assert same_after_writing(np.broadcast_to(array.ravel()[3], (1, *shape, 1)).T)
