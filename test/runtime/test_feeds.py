"""Tests of the inputs that a model accepts and refuses before anything runs."""

import re
from collections import OrderedDict

import ml_dtypes
import numpy as np
import pytest

from graphc.errors import FeedError
from graphc.runtime import TensorSpec, load
from graphc.runtime.feeds import FeedBinder

ONES = np.ones((2, 4), np.float32)


@pytest.fixture(scope="module")
def add(compiled):
    with load(compiled("add"), threads=1) as model:
        yield model


def bind(value, shape=("n", 3), dtype="float32"):
    return FeedBinder([TensorSpec("x", shape, dtype)]).bind({"x": value})[0]


def refuse(value, shape=("n", 3), dtype="float32"):
    with pytest.raises(FeedError) as caught:
        bind(value, shape, dtype)
    return str(caught.value)


def strided():
    return np.arange(64, dtype=np.float32).reshape(8, 8)[::4, ::2]


def read_only():
    array = np.full((2, 4), 5, np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "x",
    [
        strided(),
        np.asfortranarray(strided()),
        strided()[::-1, ::-1],
        strided().astype(">f4"),
        read_only(),
        np.broadcast_to(np.float32(3), (2, 4)),
        np.ones((1 << 15, 8), np.float32)[:, ::2],
        np.ones((1 << 15, 4), ">f4"),
        np.broadcast_to(np.float32(3), (1 << 15, 4)),
    ],
    ids=lambda x: f"{x.shape}-{x.strides}-{x.dtype.byteorder}",
)
def test_arrays_of_any_layout_are_accepted(add, x):
    np.testing.assert_array_equal(add(x, x), (x + x).astype(np.float32))


def test_large_aligned_arrays_of_any_kind_are_accepted(add, aligned):
    plain = np.random.default_rng(0).random((1 << 15, 4), np.float32)
    swapped = aligned(plain.astype(">f4"))
    locked = aligned(plain)
    locked.flags.writeable = False
    for x in (aligned(plain), swapped, locked, aligned(plain)[::-1][::-1]):
        np.testing.assert_array_equal(add(x, x), 2 * plain)


def test_a_subclass_of_ndarray_and_any_mapping_are_accepted(add):
    class Array(np.ndarray):
        pass

    result = add.run(None, OrderedDict(y=ONES.view(Array), x=ONES))[0]
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, 2 * ONES)


class DlpackTensor:
    """A tensor of another library: nothing but DLPack."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_dlpack_goes_in_and_out(add):
    given = np.full((2, 4), 3, np.float32)
    assert np.shares_memory(bind(DlpackTensor(given), ("n", 4)), given)
    result = add(DlpackTensor(given), DlpackTensor(given))
    np.testing.assert_array_equal(np.from_dlpack(result), 2 * given)


def test_dlpack_from_another_device_is_refused():
    class OnGpu(DlpackTensor):
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **options):
            raise BufferError("the tensor is on a GPU")

    assert "input 'x' cannot be read as an array: OnGpu" in refuse(OnGpu(ONES))


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        ([[1, 2, 3]], "float32", [[1, 2, 3]]),
        ([[0.1, 2, 3]], "float32", np.array([[0.1, 2, 3]], np.float32)),
        ([[0.5, 2, 3]], "bfloat16", [[0.5, 2, 3]]),
        ([[1, 2, 255]], "uint8", [[1, 2, 255]]),
        ([[1, 2, -3]], "int64", [[1, 2, -3]]),
        ([[True, False, True]], "bool", [[True, False, True]]),
        (((1, 2, 3),), "int32", [[1, 2, 3]]),
    ],
)
def test_python_numbers_take_the_type_of_the_input(value, dtype, expected):
    array = bind(value, dtype=dtype)
    assert array.dtype == np.dtype(getattr(ml_dtypes, dtype, dtype))
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([[1, 2, 256]], "uint8"),
        ([[1, 2, -1]], "uint8"),
        ([[1, 2, -1]], "uint64"),
        ([[1, 2, 1 << 40]], "int32"),
        ([[1, 2, (1 << 24) + 1]], "float32"),
        ([[1.0, 2, 3]], "int32"),
        ([[1, 0, 1]], "bool"),
        ([[True, False, True]], "float32"),
        ([["1", "2", "3"]], "float32"),
        ([[1j, 2, 3]], "float32"),
    ],
)
def test_python_numbers_that_the_type_cannot_hold_are_refused(value, dtype):
    assert f"input 'x' must be {dtype}[n, 3]" in refuse(value, dtype=dtype)


def test_a_number_is_a_tensor_of_rank_zero():
    assert bind(2, (), "float32") == np.float32(2)
    assert bind(np.float32(2), (), "float32").shape == ()


@pytest.mark.parametrize("given", [np.float64, np.float16, np.int32, np.bool_, np.complex64])
def test_nothing_is_cast_in_silence(given):
    message = refuse(np.ones((2, 3), given))
    name = np.dtype(given).name
    assert f"input 'x' must be float32[n, 3], given {name}[2, 3]" in message
    assert "does not cast: pass x.astype(np.float32)" in message


def test_the_hint_names_types_that_numpy_lacks():
    assert "pass x.astype(ml_dtypes.bfloat16)" in refuse(ONES[:, :3], dtype="bfloat16")


@pytest.mark.parametrize("value", [None, "text", object(), {}, [[1, 2], [3]], np.array([None])])
def test_what_is_no_array_of_numbers_is_refused(value):
    assert refuse(value).startswith("input 'x' ")


def test_a_wrong_rank_or_size_is_refused():
    message = refuse(np.ones(3, np.float32))
    assert "must be float32[n, 3], given float32[3] (rank 1 instead of 2)" in message
    message = refuse(np.ones((2, 5), np.float32))
    assert message == "input 'x' must be float32[n, 3], given float32[2, 5]"


def test_missing_and_unexpected_names_are_all_reported(add):
    with pytest.raises(FeedError) as caught:
        add.run(None, {"X": ONES, "other": ONES})
    lines = str(caught.value).splitlines()
    assert "input 'x' is missing: expected float32[batch, 4]" in lines
    assert "input 'y' is missing: expected float32[batch, 4]" in lines
    assert "the model has no input 'other' (inputs: x, y)" in lines
    assert len(lines) == 4


def test_a_near_miss_is_suggested():
    binder = FeedBinder([TensorSpec("input_ids", (1,), "int64")])
    with pytest.raises(FeedError, match=re.escape("'inputs_id'; did you mean 'input_ids'?")):
        binder.bind({"inputs_id": np.zeros(1, np.int64)})


def test_everything_wrong_is_reported_at_once(add):
    with pytest.raises(FeedError) as caught:
        add.run(None, {"x": ONES.astype(np.float64), "y": np.ones(4, np.float32)})
    assert [line[:9] for line in str(caught.value).splitlines()] == ["input 'x'", "input 'y'"]


def test_one_dimension_has_one_size(add):
    with pytest.raises(FeedError, match="input 'y' has batch = 3, but input 'x' has batch = 2"):
        add(ONES, np.ones((3, 4), np.float32))
    # The same after a good call with either shape, whose check is then remembered.
    assert add(ONES, ONES).shape == (2, 4)
    with pytest.raises(FeedError, match="has batch = 3"):
        add(ONES, np.ones((3, 4), np.float32))


def test_a_remembered_shape_does_not_hide_an_extra_name(add):
    add.run(None, {"x": ONES, "y": ONES})
    with pytest.raises(FeedError, match="no input 'z'"):
        add.run(None, {"x": ONES, "y": ONES, "z": ONES})


def test_an_input_given_twice_or_one_too_many_is_refused(add):
    with pytest.raises(FeedError, match="input 'x' is given twice"):
        add(ONES, x=ONES)
    with pytest.raises(FeedError, match=re.escape("has 2 input(s) (x, y), 3 were given")):
        add(ONES, ONES, ONES)


def test_feeds_that_are_no_mapping_are_refused(add):
    with pytest.raises(FeedError, match="must map input names to arrays, not be a list"):
        add.run(None, [ONES, ONES])
    with pytest.raises(FeedError, match="not be a ndarray"):
        add.run(None, ONES)
