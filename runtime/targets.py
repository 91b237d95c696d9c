"""The table of targets. Adding a target is adding a row.

A target is written ``name`` or ``name:variant``: ``cpu`` compiles for the processor of this
machine, ``cpu:x86-64-v3`` for any with AVX2, ``cpu:arm64`` for another architecture.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ..errors import UnknownTargetError
from .cpu_features import vector_bits


@dataclass(frozen=True)
class Target:
    """Where a module runs, and what the backend compiler must be told to make it.

    `pipeline` names the pass pipeline, `driver` the HAL driver that runs the module, `variant` the
    row of `variants` in use. The first variant is the default.
    """

    name: str
    pipeline: str
    driver: str
    backend_flags: tuple[str, ...]
    variants: Mapping[str, tuple[str, ...]] = field(repr=False, compare=False)
    variant: str
    threads_flag: str | None = None
    """The flag that tells the backend how many workers will share the work; ``None`` if none do."""

    def __str__(self) -> str:
        return self.name if self.variant == next(iter(self.variants)) else self.spelling

    @property
    def spelling(self) -> str:
        """The full spelling, ``cpu:host``."""
        return f"{self.name}:{self.variant}"

    @property
    def vector_bits(self) -> int:
        """Width of a vector register of the processor; 0 where that means nothing."""
        return vector_bits(self.variant) if self.name == "cpu" else 0

    def flags(self, *, threads: int, opt_level: int, data_tiling: bool) -> list[str]:
        """The flags of the backend compiler, in order; a later flag overrides an earlier one."""
        flags = [*self.backend_flags, *self.variants[self.variant]]
        flags.append(f"--iree-opt-level=O{opt_level}")
        flags.append(f"--iree-opt-data-tiling={'true' if data_tiling else 'false'}")
        if self.threads_flag is not None:
            flags.append(f"{self.threads_flag}={threads}")
        return flags


# fmt: off
_X86_CPUS = (
    "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4",
    "haswell", "skylake", "skylake-avx512", "cascadelake", "cooperlake", "icelake-server",
    "alderlake", "sapphirerapids", "emeraldrapids", "graniterapids", "sierraforest",
    "znver1", "znver2", "znver3", "znver4", "znver5",
)
_ARM_CPUS = (
    "cortex-a53", "cortex-a55", "cortex-a72", "cortex-a76", "cortex-a78", "apple-m1",
    "neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2",
)
# fmt: on


def _cpu_variants() -> Mapping[str, tuple[str, ...]]:
    def flags(triple: str, cpu: str) -> tuple[str, ...]:
        return (f"--iree-llvmcpu-target-triple={triple}", f"--iree-llvmcpu-target-cpu={cpu}")

    variants: dict[str, tuple[str, ...]] = {"host": ("--iree-llvmcpu-target-cpu=host",)}
    variants |= {cpu: flags("x86_64-unknown-linux-gnu", cpu) for cpu in _X86_CPUS}
    variants |= {"arm64": flags("aarch64-unknown-linux-gnu", "generic")}
    variants |= {cpu: flags("aarch64-unknown-linux-gnu", cpu) for cpu in _ARM_CPUS}
    return MappingProxyType(variants)


TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        target.name: target
        for target in (
            Target(
                name="cpu",
                pipeline="cpu",
                driver="local-task",
                backend_flags=(
                    "--iree-hal-target-device=local",
                    "--iree-hal-local-target-device-backends=llvm-cpu",
                    # A reduction that others use too, fused into another of its own result, would
                    # be summed up again for every vector of that: a mean twice as large.
                    "--iree-dispatch-creation-fuse-multi-use=false",
                    # Odd sizes end in a scalar loop, not in masked vectors: measured with AVX-512,
                    # a 197x768x768 matmul takes 2.6 ms instead of 8.6, a softmax of 2364 rows of
                    # 197 takes 0.7 ms instead of 4.5, and no op tried became slower.
                    "--iree-llvmcpu-vector-pproc-strategy=peel",
                    # Sizes that only the run knows are checked; code relies on them.
                    "--iree-opt-strip-assertions=false",
                    # float64 models stay float64.
                    "--iree-input-demote-f64-to-f32=false",
                    # The default of 32 KiB refuses attention blocks that run well.
                    "--iree-llvmcpu-stack-allocation-limit=262144",
                    # The default of 512 refuses the backend's own tiles of products of float64.
                    "--iree-llvmcpu-max-allowed-number-of-native-vectors=1024",
                    # With them, no two compilations of a model give the same bytes.
                    "--iree-llvmcpu-debug-symbols=false",
                ),
                variants=_cpu_variants(),
                variant="host",
                threads_flag="--iree-llvmcpu-number-of-threads",
            ),
        )
    }
)


def resolve_target(target: str | Target) -> Target:
    """The row that `target` names. Raises `UnknownTargetError` with the names there are."""
    if isinstance(target, Target):
        return target
    name, colon, variant = target.partition(":")
    row = TARGETS.get(name)
    if row is None:
        raise UnknownTargetError(_unknown("target", name, list(TARGETS)))
    if not colon:
        return row
    if variant not in row.variants:
        raise UnknownTargetError(_unknown(f"variant of target '{name}'", variant, [*row.variants]))
    return replace(row, variant=variant)


def _unknown(what: str, given: str, known: list[str]) -> str:
    near = difflib.get_close_matches(given.lower(), known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"no {what} is named '{given}'{hint} (known: {', '.join(known)})"
