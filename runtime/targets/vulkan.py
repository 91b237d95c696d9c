"""GPUs through Vulkan 1.3.

``vulkan`` compiles for the device of this machine if its name identifies the family, and otherwise
for any device, as ``vulkan:portable`` does. Code for a family assumes its subgroup size and its
arithmetic types: on a device of another family it may compute wrong results. ``vulkan:llvmpipe`` is
Mesa's software device.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from .base import SPIRV_FLAGS, SPIRV_NARROW_FLOATS, Flags, Target, without_plugins

_PORTABLE = "vp_android_baseline_2022"
"""The backend's profile of features that all devices have: 32-bit types, no subgroups."""

# fmt: off
_FAMILIES: Mapping[str, str] = MappingProxyType({
    "llvmpipe": r"llvmpipe",
    "turing": r"NVIDIA.*(RTX 20|GTX 16|Quadro RTX|\bT4\b)",
    "ampere": r"NVIDIA.*(RTX 30|RTX A\d|\bA\d+\b)",
    "ada": r"NVIDIA.*(RTX 40|\bL4\b|\bL40|\bAda\b)",
    "hopper": r"NVIDIA.*\bG?H\d00\b",
    "blackwell": r"NVIDIA.*(RTX 50|RTX PRO|\bG?B\d00\b)",
    "rdna1": r"AMD.*(NAVI1\d|RX 5\d\d\d)",
    "rdna2": r"AMD.*(NAVI2\d|RX 6\d\d\d)",
    "rdna3": r"AMD.*(NAVI3\d|GFX11\d\d|RX 7\d\d\d|W7\d00)",
    "rdna4": r"AMD.*(NAVI4\d|GFX12\d\d|RX 9\d\d\d)",
    "cdna2": r"AMD.*(GFX90A|MI2\d\d)",
    "cdna3": r"AMD.*(GFX942|MI3\d\d)",
    "valhall1": r"Mali-G[57]7\b",
    "valhall2": r"Mali-G78\b",
    "valhall3": r"Mali-G[5-7]10\b",
    "valhall4": r"Mali-G[67]15\b",
    "adreno": r"Adreno",
    "videocore_vii": r"V3D 7",
})
"""Patterns of the device names of each family."""
# fmt: on
_PROFILE_OF = {"hopper": "ada", "blackwell": "ada"}
"""Families that the backend does not know, and the one with the same subgroups, types and
cooperative matrices."""


def family_of(device: str) -> str | None:
    """The variant for the device with that name, None if the family is unknown."""
    found = [name for name, own in _FAMILIES.items() if re.search(own, device, re.IGNORECASE)]
    return found[0] if found else None


_OF_NO_FAMILY = ("host", "portable", "intel", "moltenvk")
"""Variants with code for any device: the backend has no profiles of Intel's or Apple's devices."""


def _vulkan_variants() -> Mapping[str, Flags]:
    profiles = dict.fromkeys(_OF_NO_FAMILY, _PORTABLE)
    profiles |= {name: _PROFILE_OF.get(name, name) for name in _FAMILIES}
    return MappingProxyType(
        {name: (f"--iree-vulkan-target={profile}",) for name, profile in profiles.items()}
    )


VULKAN = Target(
    name="vulkan",
    pipeline="vulkan",
    driver="vulkan",
    backend_flags=(
        *without_plugins("vulkan_spirv"),
        *SPIRV_FLAGS,
        "--iree-hal-target-device=vulkan",
        "--iree-hal-memoization=false",  # copies would be those of the first call
    ),
    variants=_vulkan_variants(),
    variant="host",
    narrow_floats=SPIRV_NARROW_FLOATS,
    family_of=family_of,
    of_family=frozenset(_FAMILIES),
)
