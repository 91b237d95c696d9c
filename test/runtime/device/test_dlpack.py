"""Tensors of other libraries, on the host and on a device that stands for one of CUDA's.

Behind that device is a CPU, whose memory the runtime takes in by the same calls.
"""

import ctypes

import ml_dtypes
import numpy as np
import pytest

from graphc.errors import DLPackError
from graphc.runtime import load
from graphc.runtime.device import dlpack_import, producer_stream
from graphc.runtime.device.device import Device, open_device
from graphc.runtime.device.device_tensor import DeviceTensor, send
from graphc.runtime.device.dlpack import host_array, read_layout
from graphc.runtime.device.dlpack_import import read_tensor
from graphc.runtime.feeds import FeedBinder
from graphc.runtime.metadata import TensorSpec


class LegacyDlpackTensor:
    """A tensor of another library: nothing but DLPack, of the version without one."""

    def __init__(self, array, device=(1, 0)):
        self._array = array
        self._device = device
        self.streams = []

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return self._array.__dlpack__()

    def __dlpack_device__(self):
        return self._device


ARRAYS = {
    "plain": np.arange(6.0).reshape(2, 3),
    "transposed": np.arange(6).reshape(2, 3).T,
    "backwards": np.arange(10, dtype=np.int8)[::-2],
    "rank zero": np.array(3.5),
    "empty": np.zeros((0, 3), np.float32),
    "one row": np.ones((1, 3), np.bool_),
    "columns": np.arange(12, dtype=np.complex64).reshape(3, 4)[:, ::2],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_tensors_on_the_host_are_read_where_they_lie(name):
    array = ARRAYS[name]
    read = host_array(LegacyDlpackTensor(array))
    assert (read.dtype, read.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(read, array)
    assert array.size == 0 or np.shares_memory(read, array)


def test_memory_that_is_read_only_needs_a_flag():
    array = np.arange(3.0)
    array.flags.writeable = False
    np.testing.assert_array_equal(host_array(array), array)


def test_a_capsule_lives_as_long_as_the_array():
    class Counted(np.ndarray):
        freed = 0

        def __del__(self):
            Counted.freed += 1

    read = host_array(LegacyDlpackTensor(np.arange(4.0).view(Counted)))
    freed = Counted.freed
    np.testing.assert_array_equal(read, np.arange(4.0))
    assert Counted.freed == freed
    del read
    assert Counted.freed > freed


def test_elements_that_numpy_lacks_are_refused():
    capsule = np.arange(3.0).__dlpack__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    pointer = get_pointer(capsule, b"dltensor")
    ctypes.c_uint8.from_address(pointer + 20).value = 17  # the code of a type of four bits
    with pytest.raises(TypeError, match=r"type code 17 with 64 bits and 1 lane\(s\)"):
        read_layout(capsule)
    ctypes.c_uint8.from_address(pointer + 20).value = 2


def test_a_large_aligned_tensor_is_used_where_it_lies(compiled, aligned):
    x = aligned(np.ones((1 << 14, 4), np.float32))
    with load(compiled("add"), threads=1) as add:
        np.testing.assert_array_equal(add(LegacyDlpackTensor(x), LegacyDlpackTensor(x)), 2 * x)
        assert all(slot.staging is None for slot in add._session._contexts[0].slots)


class CudaLibrary:
    """Notes what is called."""

    def __init__(self, calls, status=0):
        self._calls = calls
        self._status = status

    def __getattr__(self, name):
        def call(*arguments):
            self._calls.append(name)
            return self._status if "Synchronize" in name else 0

        return call


@pytest.fixture
def cuda():
    return Device(open_device("local-sync").hal, 1, "cuda", 0)


@pytest.fixture
def calls(monkeypatch):
    called = []
    monkeypatch.setattr(producer_stream, "load_library", lambda _: CudaLibrary(called))
    return called


CUDA = (2, 0)


def test_a_tensor_on_the_device_is_taken_where_it_lies(cuda, calls, aligned):
    array = aligned(np.arange(6, dtype=np.float32).reshape(2, 3))
    given = LegacyDlpackTensor(array, CUDA)
    binder = FeedBinder([TensorSpec("x", ("n", 3), "float32")], lambda: cuda)
    (tensor,) = binder.bind({"x": given})
    assert isinstance(tensor, DeviceTensor)
    assert (tensor.device, tensor.shape, tensor.dtype) == ("cuda:0", (2, 3), np.float32)
    array[0, 0] = 42
    np.testing.assert_array_equal(tensor, array)
    assert given.streams == [1]
    assert calls == [
        "cuDevicePrimaryCtxRetain",
        "cuCtxPushCurrent_v2",
        "cuStreamSynchronize",
        "cuCtxPopCurrent_v2",
        "cuDevicePrimaryCtxRelease_v2",
    ]


def test_a_tensor_that_begins_anywhere_is_copied_on_the_device(cuda, calls, aligned, monkeypatch):
    array = aligned(np.arange(8, dtype=np.float32))
    monkeypatch.setattr(dlpack_import, "ALIGNMENT", 1 << 62)  # memory of a CPU must be aligned
    tensor = read_tensor(LegacyDlpackTensor(array, CUDA), cuda)
    array[0] = 42
    np.testing.assert_array_equal(tensor, np.arange(8))


def test_an_empty_tensor_on_the_device(cuda, calls):
    tensor = read_tensor(LegacyDlpackTensor(np.empty((0, 3), np.int16), CUDA), cuda)
    assert (tensor.shape, tensor.dtype, tensor.device) == ((0, 3), np.int16, "cuda:0")


@pytest.mark.parametrize(
    ("array", "device", "problem"),
    [
        (np.zeros((3, 3), np.float32).T[:2], CUDA, "do not lie in C order: pass it contiguous"),
        (np.zeros((2, 3), np.float32), (2, 1), "it is on CUDA device 1, the model takes it from "),
        (np.zeros((2, 3), np.float32), (7, 0), "it is on VULKAN device 0, the model takes it "),
        (np.zeros((2, 3), np.float32), (99, 0), "it is on DLPack's type 99 device 0, the model "),
        (np.zeros((2, 3), np.float16), CUDA, r"given float16\[2, 3\]"),
    ],
)
def test_tensors_that_cannot_be_taken(cuda, calls, aligned, array, device, problem):
    binder = FeedBinder([TensorSpec("x", (2, 3), "float32")], lambda: cuda)
    with pytest.raises(Exception, match=rf"input 'x' .*{problem}") as caught:
        binder.bind(
            {"x": LegacyDlpackTensor(array if array.base is not None else aligned(array), device)}
        )
    assert caught.type.__name__ == "FeedError"


def test_a_producer_that_fails_is_named(cuda, monkeypatch):
    monkeypatch.setattr(producer_stream, "load_library", lambda _: CudaLibrary([], 700))
    with pytest.raises(RuntimeError, match="cuStreamSynchronize failed with CUDA's error 700"):
        read_tensor(LegacyDlpackTensor(np.zeros(16, np.float32), CUDA), cuda)


def test_a_missing_library_is_named():
    if any(_loads(name) for name in producer_stream._LIBRARIES["hip"]):
        pytest.skip("HIP is here")
    with pytest.raises(RuntimeError, match="libamdhip64"):
        producer_stream.load_library("hip")


def _loads(name):
    try:
        return bool(ctypes.CDLL(name))
    except OSError:
        return False


def test_the_thread_gets_its_device_of_hip_back(monkeypatch):
    called = []
    monkeypatch.setattr(producer_stream, "load_library", lambda _: CudaLibrary(called))
    producer_stream.wait_for_producer(Device(None, 1, "hip", 1))
    assert called == ["hipGetDevice", "hipSetDevice", "hipStreamSynchronize", "hipSetDevice"]


class Reluctant:
    """A device of which memory is given away only if it was allocated so, and not by a pool."""

    def __init__(self, hal, refusals):
        self._hal = hal
        self._refusals = refusals

    def __getattr__(self, name):
        return getattr(self._hal, name)

    def create_dlpack_capsule(self, *arguments):
        if self._refusals:
            self._refusals.pop()
            raise RuntimeError("UNAVAILABLE; CUDA buffer type is not supported for export")
        return self._hal.create_dlpack_capsule(*arguments)


@pytest.mark.parametrize("refusals", [0, 1, 2])
def test_memory_of_a_pool_is_copied_once_to_be_given_away(cuda, refusals):
    cuda.hal = Reluctant(cuda.hal, [None] * refusals)
    cuda.pin = lambda: None
    tensor = send(cuda, np.arange(3, dtype=np.uint16))
    if refusals == 2:
        with pytest.raises(DLPackError, match=r"the driver of cuda:0 gives no memory"):
            tensor.__dlpack__()
        return
    first, second = (read_layout(tensor.__dlpack__(stream=1)) for _ in range(2))
    assert first == second
    assert (first.dtype, first.shape) == (np.uint16, (3,))
    np.testing.assert_array_equal(tensor, [0, 1, 2])


def test_bfloat16_comes_and_goes(compiled):
    values = np.arange(4).astype(ml_dtypes.bfloat16)
    with load(compiled("add"), threads=1) as add:
        tensor = add.to_device(values)
        read = host_array(LegacyDlpackTensor(Bfloat16(tensor)))
        assert read.dtype == ml_dtypes.bfloat16
        np.testing.assert_array_equal(read, values)


class Bfloat16:
    def __init__(self, tensor):
        self.__dlpack__ = tensor.__dlpack__
