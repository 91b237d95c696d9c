"""Tests of errors for devices that have no memory, are lost, or do not match the module."""

import threading

import numpy as np
import pytest

from graphc.errors import (
    DeviceError,
    DeviceLostError,
    ExecutionError,
    FeedError,
    ModuleFileError,
    OutOfMemoryError,
)
from graphc.runtime.device import device as devices
from graphc.runtime.device.device import Device, open_device
from graphc.runtime.device.status_errors import call_error, setup_error

HUGE = np.broadcast_to(np.zeros((1, 4), np.float32), (1 << 50, 4))  # 16 PiB
SMALL = np.ones((2, 4), np.float32)


def test_what_a_model_computes_does_not_fit(model):
    allocate = model("allocate")
    with pytest.raises(OutOfMemoryError) as caught:
        allocate(np.int64(1 << 50))
    text = str(caught.value)
    assert text.startswith(
        f"model 'allocate' failed: there is no memory for it on {allocate.device}"
    )
    assert "use smaller inputs, or close models and drop tensors" in text
    np.testing.assert_array_equal(allocate(np.int64(5)), np.zeros(5, np.float32))


def test_an_input_does_not_fit(model):
    add = model("add")
    for _ in range(2):
        with pytest.raises(OutOfMemoryError, match="model 'add' failed: there is no memory"):
            add(HUGE, HUGE)
        np.testing.assert_array_equal(add(SMALL, SMALL), 2 * SMALL)


def test_a_tensor_does_not_fit(model):
    add = model("add")
    with pytest.raises(OutOfMemoryError, match=r"bringing float32\[\d+, 4\] to .* failed: there"):
        add.to_device(HUGE)
    np.testing.assert_array_equal(add.to_device(SMALL), SMALL)


def test_a_module_does_not_fit():
    error = setup_error("m.vmfb", Device(None, 1, "cuda"), RuntimeError("RESOURCE_EXHAUSTED; x"))
    assert isinstance(error, OutOfMemoryError)
    assert str(error).startswith("m.vmfb: there is no memory for it on cuda:0: use smaller")


LOST = [
    ("vulkan", "vulkan/queue.c:10: DATA_LOSS; vkQueueSubmit2 failed: VK_ERROR_DEVICE_LOST"),
    ("vulkan", "DATA_LOSS; while invoking native function hal.fence.await; while calling"),
    ("cuda", "ABORTED; CUDA error 'CUDA_ERROR_ILLEGAL_ADDRESS' (700): an illegal memory access"),
    ("cuda", "DEADLINE_EXCEEDED; CUDA error 'CUDA_ERROR_LAUNCH_TIMEOUT' (702): the launch timed"),
    ("hip", "INTERNAL; HIP error 'hipErrorLaunchFailure' (719): unspecified launch failure"),
]


@pytest.mark.parametrize(("driver", "text"), LOST)
def test_a_lost_device_is_known_by_what_its_driver_says(driver, text):
    device = Device(None, 1, driver, 1)
    error = call_error("model 'm' failed", device, RuntimeError(text))
    assert isinstance(error, DeviceLostError)
    assert isinstance(error, (ExecutionError, DeviceError))
    name = "rocm" if driver == "hip" else driver
    assert str(error).startswith(f"model 'm' failed: {name}:1 was lost in mid-run, by a fault")
    assert "bring tensors there again, in a new process if that fails" in str(error)
    with pytest.raises(DeviceLostError, match=f"{name}:1 was lost in an earlier call"):
        device.require_working()


@pytest.mark.parametrize(("driver", "text"), LOST)
def test_a_device_that_is_lost_while_a_module_is_set_up(driver, text):
    device = Device(None, 1, driver)
    error = setup_error("m.vmfb", device, RuntimeError(text))
    assert isinstance(error, DeviceLostError)
    assert str(error).startswith("m.vmfb: ")
    with pytest.raises(DeviceLostError, match="was lost in an earlier call"):
        device.require_working()


def test_what_a_model_says_itself_is_no_lost_device():
    device = Device(None, 1, "vulkan")
    error = call_error("model 'm' failed", device, RuntimeError("DATA_LOSS; as asked; while"))
    assert type(error) is ExecutionError
    device.require_working()


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("INCOMPATIBLE; executable format", DeviceError, "compiled for another device or arch"),
        ("CUDA error 'CUDA_ERROR_NO_BINARY_FOR_GPU' (209)", DeviceError, "for another device"),
        ("CUDA error 'CUDA_ERROR_INVALID_PTX' (218)", DeviceError, "gc-run --list-devices"),
        ("CUDA error 'CUDA_ERROR_UNSUPPORTED_PTX_VERSION' (222)", DeviceError, "is too old for"),
        ("HIP error 'hipErrorNoBinaryForGpu' (209)", DeviceError, "for another device"),
        ("INVALID_ARGUMENT; bytecode", ModuleFileError, "the module cannot be set up"),
    ],
)
def test_a_module_that_cannot_be_set_up(text, kind, problem):
    error = setup_error("m.vmfb", Device(None, 1, "cuda"), RuntimeError(text))
    assert type(error) is kind
    assert str(error).startswith("m.vmfb: ")
    assert problem in str(error)
    assert text in str(error)


@pytest.mark.parametrize(
    ("driver", "help_"),
    [
        ("cuda", "install NVIDIA's driver"),
        ("hip", "install AMD's driver and the HIP runtime"),
        ("vulkan", "install a driver for Vulkan 1.3"),
        ("metal", "the runtime's package for this system has no such driver"),
    ],
)
@pytest.mark.parametrize("found", [None, []])
def test_a_missing_driver_or_device(monkeypatch, driver, help_, found):
    class Driver:
        def query_available_devices(self):
            return found

    def create(name):
        if found is None:
            raise RuntimeError("c/runtime/src/iree/x.c:1: UNAVAILABLE; its library is not here")
        return Driver()

    monkeypatch.setattr(devices, "_devices", {})
    monkeypatch.setattr(devices.import_runtime()._binding, "create_hal_driver", create)
    what = "UNAVAILABLE; its library is not here" if found is None else "the driver finds no device"
    with pytest.raises(DeviceError, match=f"^cannot open device '{driver}': {what}; {help_}"):
        open_device(driver)


def test_threads_and_models_share_one_device(model):
    add, append = model("add"), model("append")
    wrong = []

    def work(number):
        x = np.full((number, 4), number, np.float32)
        for _ in range(5):
            try:
                if number % 3 == 0:
                    add(x, np.ones((number + 1, 4), np.float32))
                    wrong.append("no error")
            except FeedError:
                pass
            total, _ = append.run(None, {"past": x, "row": x[:1]}, on_device=["present"])
            if not (np.array_equal(add(x, x), 2 * x) and (total == number * (number + 1)).all()):
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
