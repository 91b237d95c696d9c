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


def cpu_like(pipeline):
    """A CPU, which computes what another pipeline makes, ``gpu`` or ``cuda`` (then without
    its tiles: `gpu_lowering_config`)."""
    return dataclasses.replace(resolve_target("cpu"), pipeline=pipeline)
