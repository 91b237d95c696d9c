"""The table of CPU models, by the variants of the target ``cpu``."""

from pathlib import Path

from ...cpu_model import CpuModel
from .cpu_features import host_splits_vectors, host_vector_bits

_VECTOR_BITS = {
    "x86-64": 128, "x86-64-v2": 128, "x86-64-v3": 256, "x86-64-v4": 512,
    "haswell": 256, "alderlake": 256, "sierraforest": 256,
    "znver1": 256, "znver2": 256, "znver3": 256, "znver4": 512, "znver5": 512,
    "skylake": 256, "skylake-avx512": 512, "cascadelake": 512, "cooperlake": 512,
    "icelake-server": 512, "sapphirerapids": 512, "emeraldrapids": 512, "graniterapids": 512,
}  # fmt: skip
"""Vector widths in bits; 128 for variants that are not listed (Arm's)."""
_HALF_AT_A_TIME = ("znver4",)
"""Variants whose two units of 256 bits take a vector of 512 bits together."""


def cpu_model(variant: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> CpuModel:
    """The model of the CPU of a variant of the target ``cpu``.

    All have the caches of the default model: no kernel has been measured with others.
    """
    if variant == "host":
        bits, units = host_vector_bits(cpuinfo), 1 if host_splits_vectors(cpuinfo) else 2
    else:
        bits, units = _VECTOR_BITS.get(variant, 128), 1 if variant in _HALF_AT_A_TIME else 2
    return CpuModel(vector_bits=bits, fma_units=units)
