import numpy as np
import pytest

import graphc
from graphc.runtime import load
from graphc.runtime.device.memory import address


@pytest.mark.parametrize("shape", [(), (0, 3), (3, 5), (1000, 7)])
@pytest.mark.parametrize("dtype", ["float32", np.int8, np.dtype(np.float64)])
def test_aligned_arrays(shape, dtype):
    array = graphc.aligned_empty(shape, dtype)
    assert array.shape == shape
    assert array.dtype == np.dtype(dtype)
    assert array.flags.c_contiguous
    assert array.size == 0 or address(array) % 64 == 0


def test_a_model_takes_an_aligned_array_where_it_lies(compiled):
    x = graphc.aligned_empty((4000, 4), np.float32)
    x[:] = 1
    with load(compiled("add"), threads=1) as model:
        np.testing.assert_array_equal(model(x, x), 2)
        assert all(slot.staging is None for slot in model._session._contexts[0].slots)
        assert model(x[1:], x[1:]).shape == (3999, 4)
        assert all(slot.staging is not None for slot in model._session._contexts[0].slots)
