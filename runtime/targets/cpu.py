"""The target ``cpu``.

``cpu`` compiles for the CPU of this machine, ``cpu:x86-64-v3`` for any with AVX2, ``cpu:arm64`` for
another architecture.
"""

import platform
from collections.abc import Mapping
from types import MappingProxyType

from .base import Flags, Target, without_plugins
from .cpu_features import bf16_unit, int8_unit
from .cpu_models import cpu_model

# fmt: off
_X86_CPUS = (
    "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4",
    "haswell", "skylake", "skylake-avx512", "cascadelake", "cooperlake", "icelake-server",
    "alderlake", "sapphirerapids", "emeraldrapids", "graniterapids", "sierraforest",
    "znver1", "znver2", "znver3", "znver4", "znver5",
)
_X86_64 = ("x86_64", "AMD64")
"""Names of the architecture on different systems."""
_ARM_CPUS = (
    "cortex-a53", "cortex-a55", "cortex-a72", "cortex-a76", "cortex-a78", "apple-m1",
    "neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2",
)
# fmt: on


def _cpu_variants() -> Mapping[str, Flags]:
    def flags(triple: str, cpu: str) -> Flags:
        return (f"--iree-llvmcpu-target-triple={triple}", f"--iree-llvmcpu-target-cpu={cpu}")

    variants: dict[str, Flags] = {"host": ("--iree-llvmcpu-target-cpu=host",)}
    variants |= {cpu: flags("x86_64-unknown-linux-gnu", cpu) for cpu in _X86_CPUS}
    variants |= {"arm64": flags("aarch64-unknown-linux-gnu", "generic")}
    variants |= {cpu: flags("aarch64-unknown-linux-gnu", cpu) for cpu in _ARM_CPUS}
    return MappingProxyType(variants)


def _is_x86(variant: str) -> bool:
    """Return whether a variant is x86-64, whose ``rdtscp`` returns the number of the CPU."""
    return variant in _X86_CPUS or (variant == "host" and platform.machine() in _X86_64)


CPU = Target(
    name="cpu",
    pipeline="cpu",
    driver="local-task",
    backend_flags=(
        *without_plugins(),
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        # A reduction with several uses, fused into a reduction of its own result, would be
        # accumulated again for every vector of that: a mean twice as large.
        "--iree-dispatch-creation-fuse-multi-use=false",
        # Odd sizes end in a scalar loop, not in masked vectors: measured with AVX-512,
        # a 197x768x768 matmul takes 2.6 ms instead of 8.6, a softmax of 2364 rows of
        # 197 takes 0.7 ms instead of 4.5, and no op tried became slower.
        "--iree-llvmcpu-vector-pproc-strategy=peel",
        # The default of 32 KiB rejects attention blocks that run well.
        "--iree-llvmcpu-stack-allocation-limit=262144",
        # The default of 512 rejects the backend's own tiles for products of float64.
        "--iree-llvmcpu-max-allowed-number-of-native-vectors=1024",
        # With debug symbols, compilation is not reproducible byte for byte.
        "--iree-llvmcpu-debug-symbols=false",
    ),
    variants=_cpu_variants(),
    variant="host",
    threads_flag="--iree-llvmcpu-number-of-threads",
    find_cpu_model=cpu_model,
    find_bf16_unit=bf16_unit,
    find_int8_unit=int8_unit,
    asks_core=_is_x86,
    shares_kernels=True,
)
