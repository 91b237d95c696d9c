"""CPU features: the check that this CPU has the instructions that a module uses.

A module that was compiled for a newer CPU ends the process with an illegal instruction. IREE
compares architectures but not features, so features are compared here.
"""

import ctypes
import platform
import re
import sys
from collections.abc import Set
from pathlib import Path

# The compiler's record in a module for each target, such as "+avx,+avx2,-avx512f".
_RECORDED = re.compile(rb'cpu_features = "([^"]*)"')

# The features that code generation uses, by LLVM's name, with Linux's name for each.
_LINUX_NAMES = {
    "sse3": "pni",
    "ssse3": "ssse3",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "popcnt": "popcnt",
    "movbe": "movbe",
    "lzcnt": "abm",
    "bmi": "bmi1",
    "bmi2": "bmi2",
    "avx": "avx",
    "avx2": "avx2",
    "f16c": "f16c",
    "fma": "fma",
    "gfni": "gfni",
    "vaes": "vaes",
    "avxvnni": "avx_vnni",
    "avx512f": "avx512f",
    "avx512bw": "avx512bw",
    "avx512cd": "avx512cd",
    "avx512dq": "avx512dq",
    "avx512vl": "avx512vl",
    "avx512ifma": "avx512ifma",
    "avx512vbmi": "avx512vbmi",
    "avx512vbmi2": "avx512_vbmi2",
    "avx512vnni": "avx512_vnni",
    "avx512bitalg": "avx512_bitalg",
    "avx512vpopcntdq": "avx512_vpopcntdq",
    "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16",
    "amx-tile": "amx_tile",
    "amx-int8": "amx_int8",
    "amx-bf16": "amx_bf16",
}


def missing_features(code: bytes | memoryview, cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """The features that `code` was compiled for and this CPU lacks, by LLVM's names.

    Empty if either side is unknown: on other systems and other architectures.
    """
    available = _available(cpuinfo)
    if not available:
        return []
    return [name for name in _required(code) if _LINUX_NAMES[name] not in available]


def host_features(cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """The features of this CPU as named by Linux, sorted; empty on other systems."""
    return sorted(_available(cpuinfo))


def _required(code: bytes | memoryview) -> list[str]:
    enabled: dict[str, bool] = {}
    for recorded in _RECORDED.findall(code):
        for feature in recorded.decode("ascii", "replace").split(","):
            enabled[feature[1:]] = feature[:1] == "+"  # the last mention wins
    return [name for name in _LINUX_NAMES if enabled.get(name)]


def _available(cpuinfo: Path) -> Set[str]:
    try:
        text = cpuinfo.read_text()
    except OSError:  # not Linux
        return set()
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return set(flags[1].split()) if flags else set()


_TILE_CPUS = ("sapphirerapids", "emeraldrapids", "graniterapids")
_BF16_UNIT_OF = {
    "znver4": "avx512bf16", "znver5": "avx512bf16", **dict.fromkeys(_TILE_CPUS, "amx")
}  # fmt: skip


def bf16_unit(variant: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The unit that multiplies bf16 on the CPU of a variant of the target ``cpu``.

    ``amx`` is Intel's tile unit, ``avx512bf16`` AMD's vectors; ``none`` if no unit is faster than
    products of f32. Intel's bf16 vectors are not faster.
    """
    if variant != "host":
        return _BF16_UNIT_OF.get(variant, "none")
    features = _available(cpuinfo)
    if {"amx_tile", "amx_bf16"} <= features and request_tiles():
        return "amx"
    vectors = "avx512_bf16" in features and "AuthenticAMD" in cpuinfo.read_text()
    return "avx512bf16" if vectors else "none"


_INT8_VECTORS = {
    **dict.fromkeys(
        ("cascadelake", "cooperlake", "icelake-server", "znver4", "znver5"), "avx512vnni"
    ),
    **dict.fromkeys(("alderlake", "sierraforest"), "avxvnni"),
    **dict.fromkeys(("x86-64-v3", "haswell", "skylake", "znver1", "znver2", "znver3"), "avx2"),
}


def int8_unit(variant: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The unit that multiplies 8-bit integers on the CPU of a variant of the target ``cpu``.

    ``amx`` is Intel's tile unit (TDPBUSD), ``avx512vnni`` and ``avxvnni`` are vectors of 512 and
    256 bits (VPDPBUSD), ``avx2`` vectors that multiply i16 (VPMADDWD); ``none`` if f32 is as fast,
    as it is with AVX-512 without VNNI.
    """
    if variant != "host":
        return "amx" if variant in _TILE_CPUS else _INT8_VECTORS.get(variant, "none")
    features = _available(cpuinfo)
    if {"amx_tile", "amx_int8", "avx512_vnni"} <= features and request_tiles():
        return "amx"
    if "avx512f" in features:
        return "avx512vnni" if "avx512_vnni" in features else "none"
    return "avxvnni" if "avx_vnni" in features else "avx2" if "avx2" in features else "none"


def has_tiles(code: bytes | memoryview) -> bool:
    """Return whether `code` was compiled without AMX tiles, or this process may use them."""
    return "amx-tile" not in _required(code) or request_tiles()


def request_tiles() -> bool:
    """Request permission from Linux to use AMX tiles; return whether it is granted.

    See ``Documentation/arch/x86/xstate.rst``.
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0


_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18


def host_vector_bits(cpuinfo: Path = Path("/proc/cpuinfo")) -> int:
    """The width in bits of the vector registers of this CPU; 128 if Linux reports no wider ones, as
    on Arm, and on other systems."""
    features = _available(cpuinfo)
    return 512 if "avx512f" in features else 256 if "avx2" in features else 128


def host_splits_vectors(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether two units of this CPU take a vector of 512 bits together: that of Zen 4."""
    if "avx512f" not in _available(cpuinfo):
        return False
    return re.search(r"^cpu family\s*: 25$", cpuinfo.read_text(), re.MULTILINE) is not None
