"""Tests of device discovery, and of the choice of code for a device."""

import pytest

from graphc.errors import DeviceError
from graphc.runtime import find_devices, resolve_target
from graphc.runtime.device import discovery
from graphc.runtime.device.discovery import (
    DeviceInfo,
    on_this_machine,
    require_family,
    target_here,
)
from graphc.runtime.targets.vulkan import family_of

VULKAN = resolve_target("vulkan")


@pytest.fixture
def devices(monkeypatch):
    """Lets Vulkan find devices of these names."""

    def pretend(*names):
        found = [DeviceInfo("vulkan", name, "") for name in names]
        monkeypatch.setattr(discovery, "find_devices", lambda driver: found)

    return pretend


@pytest.mark.parametrize(
    ("device", "family"),
    [
        ("llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe"),
        ("NVIDIA GeForce RTX 2080 Ti", "turing"),
        ("NVIDIA GeForce RTX 3060", "ampere"),
        ("NVIDIA A100-SXM4-80GB", "ampere"),
        ("NVIDIA H200", "hopper"),
        ("NVIDIA H100 80GB HBM3", "hopper"),
        ("NVIDIA GH200 480GB", "hopper"),
        ("NVIDIA B200", "blackwell"),
        ("NVIDIA GeForce RTX 5090", "blackwell"),
        ("NVIDIA RTX 4000 SFF Ada Generation", "ada"),
        ("NVIDIA GeForce RTX 4090", "ada"),
        ("AMD Radeon RX 6800 (RADV NAVI21)", "rdna2"),
        ("AMD Radeon PRO W7900 Dual Slot  (RADV GFX1100)", "rdna3"),
        ("AMD Instinct MI210 (RADV GFX90A)", "cdna2"),
        ("Mali-G710 MC10", "valhall3"),
        ("Adreno (TM) 740", "adreno"),
        ("V3D 7.1.7.0", "videocore_vii"),
        ("Intel(R) Arc(tm) A770 Graphics (DG2)", None),
        ("Apple M2 Pro", None),
    ],
)
def test_devices_are_known_by_name(device, family):
    assert family_of(device) == family


def test_the_host_is_the_first_device(devices):
    devices("NVIDIA GeForce RTX 3060", "llvmpipe")
    assert on_this_machine(VULKAN).spelling == "vulkan:ampere"
    assert on_this_machine(resolve_target("vulkan:rdna3")).spelling == "vulkan:rdna3"
    assert on_this_machine(resolve_target("cpu")).spelling == "cpu:host"


def test_unknown_and_missing_devices_get_what_any_runs(devices, monkeypatch):
    devices("Intel(R) Arc(tm) A770 Graphics (DG2)")
    assert on_this_machine(VULKAN).spelling == "vulkan:portable"
    devices()
    assert on_this_machine(VULKAN).spelling == "vulkan:portable"

    def fail(driver):
        raise DeviceError(driver)

    monkeypatch.setattr(discovery, "find_devices", fail)
    assert on_this_machine(VULKAN).spelling == "vulkan:portable"


def test_the_target_of_this_machine(devices):
    cpu = resolve_target("cpu")
    devices("NVIDIA GeForce RTX 3060")
    assert target_here([cpu, VULKAN]) is VULKAN
    devices("llvmpipe (LLVM 15.0.6, 256 bits)")
    assert target_here([VULKAN, cpu]) is cpu
    devices()
    assert target_here([VULKAN, cpu]) is cpu
    with pytest.raises(DeviceError, match="'vulkan' finds no device"):
        target_here([VULKAN])


def test_code_for_another_family_is_refused(devices):
    devices("NVIDIA GeForce RTX 3060")
    require_family(resolve_target("vulkan:ampere"), "model.vmfb")
    require_family(resolve_target("vulkan:portable"), "model.vmfb")
    with pytest.raises(
        DeviceError, match=r"model\.vmfb: .*vulkan:rdna3.*'NVIDIA GeForce RTX 3060'"
    ):
        require_family(resolve_target("vulkan:rdna3"), "model.vmfb")
    devices("Intel(R) Arc(tm) A770 Graphics (DG2)")
    require_family(resolve_target("vulkan:rdna3"), "model.vmfb")  # which nobody can tell
    devices("NVIDIA GeForce RTX 3060")
    require_family(resolve_target("vulkan:intel"), "model.vmfb")  # the code is for any device


def test_code_for_one_compute_capability_is_refused_on_others(devices, monkeypatch):
    devices("NVIDIA L4")
    told = ["- gpu-compute-capability: 8.9", "- gpu-arch-name: sm_89"]
    monkeypatch.setattr(discovery, "device_details", lambda driver: told)
    require_family(resolve_target("cuda:sm_120"), "model.vmfb")  # the driver tells
    with pytest.raises(DeviceError, match=r"sm_90a.*'NVIDIA L4': compile it for cuda:sm_80$"):
        require_family(resolve_target("cuda:sm_90a"), "model.vmfb")
    told[0] = "- gpu-compute-capability: 9.0"
    require_family(resolve_target("cuda:sm_90a"), "model.vmfb")
    assert on_this_machine(resolve_target("cuda")).variant == "sm_80"


def test_a_missing_driver_is_named():
    assert find_devices("local-task")
    with pytest.raises(DeviceError, match="no driver for 'metalhammer'"):
        find_devices("metalhammer")
