import ml_dtypes
import numpy as np
import pytest
from numerics import build_model
from onnx import helper

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


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.bool_])
def test_addresses(dtype):
    array = np.zeros((4, 6), dtype)
    fixed = array[1:]
    fixed.flags.writeable = False
    for each in (array, array[:, 2:], array[2:0], fixed, array.T):
        assert address(each) == each.__array_interface__["data"][0]


def test_a_model_takes_an_aligned_array_where_it_lies(compiled):
    x = graphc.aligned_empty((10_000, 4), np.float32)
    x[:] = 1
    with load(compiled("add"), threads=1) as model:
        np.testing.assert_array_equal(model(x, x), 2)
        assert all(slot.staging is None for slot in model._session._contexts[0].slots)
        assert model(x[1:], x[1:]).shape == (9999, 4)
        assert all(slot.staging is not None for slot in model._session._contexts[0].slots)


def _placed(array, start):
    """`array` at an address `start` bytes behind a multiple of 64."""
    raw = np.empty(array.nbytes + 128, np.uint8)
    at = -address(raw) % 64 + start
    found = raw[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def test_compiled_code_takes_arrays_as_numpy_aligns_them():
    """Kernels do, and what the backend makes of other ops, whose vectors are of 64 bytes."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("ReduceSum", ["x"], ["b"]),
        helper.make_node("Transpose", ["x"], ["c"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "v"], ["d"]),
        helper.make_node("MatMul", ["c", "x"], ["e"]),
        helper.make_node("Softmax", ["x"], ["f"]),
        helper.make_node("Cast", ["x"], ["g"], to=6),
    ]
    constants = {"v": rng.standard_normal((256, 64), np.float32)}
    model = build_model(nodes, {"x": (np.float32, ["n", 256])}, list("abcdefg"), constants)
    x = rng.standard_normal((200, 256), np.float32)
    with graphc.compile(model, threads=1, cache=False) as compiled:
        expected = compiled.run(None, {"x": _placed(x, 0)})
        for start in (16, 32, 48, 4):
            found = compiled.run(None, {"x": _placed(x, start)})
            in_place = [slot.staging is None for slot in compiled._session._contexts[0].slots]
            assert in_place == [start != 4]
            for have, want in zip(found, expected, strict=True):
                np.testing.assert_array_equal(have, want)
