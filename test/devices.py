"""Tests that need a device.

Where it is missing they are skipped, unless ``GRAPHC_REQUIRE_DEVICES`` (``vulkan``) says that it
must be there.
"""

import dataclasses
import os

import pytest

from graphc.errors import DeviceError
from graphc.runtime import find_devices, resolve_target


def _is_missing(driver: str) -> bool:
    if driver in os.environ.get("GRAPHC_REQUIRE_DEVICES", "").split(","):
        return False
    try:
        return not find_devices(driver)
    except DeviceError:
        return True


needs_vulkan = pytest.mark.skipif(_is_missing("vulkan"), reason="no device for Vulkan is here")


def processor_like_cuda():
    """A processor, which computes what CUDA gets."""
    return dataclasses.replace(resolve_target("cpu"), pipeline="gpu")
