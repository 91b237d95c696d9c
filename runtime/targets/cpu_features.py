"""Does this processor have the instructions that a module uses?

Running a module on a lesser processor than it was compiled for ends the process with an illegal
instruction. IREE compares architectures but not features, so features are compared here.
"""

import ctypes
import platform
import re
import sys
from collections.abc import Set
from pathlib import Path

# What the compiler records in a module for each target, such as "+avx,+avx2,-avx512f".
_RECORDED = re.compile(rb'cpu_features = "([^"]*)"')

# The features that code generation makes use of, by LLVM's name, with Linux's name for each.
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
    """The features that `code` was compiled for and this processor lacks, by LLVM's names.

    None where either side does not say: on other systems and other architectures.
    """
    available = _available(cpuinfo)
    if not available:
        return []
    return [name for name in _required(code) if _LINUX_NAMES[name] not in available]


def host_features(cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """The features of this processor that Linux names, in order; none on other systems."""
    return sorted(_available(cpuinfo))


def _required(code: bytes | memoryview) -> list[str]:
    enabled: dict[str, bool] = {}
    for recorded in _RECORDED.findall(code):
        for feature in recorded.decode("ascii", "replace").split(","):
            enabled[feature[1:]] = feature[:1] == "+"  # the last mention counts
    return [name for name in _LINUX_NAMES if enabled.get(name)]


def _available(cpuinfo: Path) -> Set[str]:
    try:
        text = cpuinfo.read_text()
    except OSError:  # not Linux
        return set()
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return set(flags[1].split()) if flags else set()


_BF16_UNIT_OF = {
    "znver4": "avx512bf16", "znver5": "avx512bf16",
    "sapphirerapids": "amx", "emeraldrapids": "amx", "graniterapids": "amx",
}  # fmt: skip


def bf16_unit(variant: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """What multiplies bf16 on the processor that a variant of the target ``cpu`` names.

    ``amx`` are Intel's tiles, ``avx512bf16`` AMD's vectors; ``none`` where nothing is faster than
    products of f32, which Intel's vectors of bf16 are not.
    """
    if variant != "host":
        return _BF16_UNIT_OF.get(variant, "none")
    features = _available(cpuinfo)
    if {"amx_tile", "amx_bf16"} <= features and request_tiles():
        return "amx"
    vectors = "avx512_bf16" in features and "AuthenticAMD" in cpuinfo.read_text()
    return "avx512bf16" if vectors else "none"


def has_tiles(code: bytes | memoryview) -> bool:
    """Whether what `code` was compiled for has no tiles, or this process may use them."""
    return "amx-tile" not in _required(code) or request_tiles()


def request_tiles() -> bool:
    """Whether Linux lets this process use the tiles of AMX: it must be asked
    (``Documentation/arch/x86/xstate.rst``)."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0


_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18


def host_vector_bits(cpuinfo: Path = Path("/proc/cpuinfo")) -> int:
    """The width of the vector registers of this machine's CPU; 128 where Linux names none that are
    wider, as on Arm and on other systems."""
    features = _available(cpuinfo)
    return 512 if "avx512f" in features else 256 if "avx2" in features else 128
