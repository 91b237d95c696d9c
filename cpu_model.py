"""A CPU core as kernels and cost models plan with it: vector registers, units, caches."""

from dataclasses import dataclass

CACHE_LINE_BYTES = 64
"""Size of a cache line on x86 and Arm, and of one prefetch."""

_REGISTERS = {128: 32, 256: 16, 512: 32}
"""Vector registers of Neon, AVX2 and AVX-512, by their width in bits."""


@dataclass(frozen=True)
class CpuModel:
    """A core of the CPU that a program is compiled for.

    The defaults are those of the machines that the kernels were tuned on. A target overrides them
    where they were measured on others (`runtime.targets.cpu_models`).
    """

    vector_bits: int = 0
    """Width of a vector register; 0 where no kernels for vectors are wanted."""
    vector_registers: int = 0
    """Number of them; 0 for that of the instruction set with vectors of this width."""
    fma_units: int = 2
    """Multiply-adds of vectors that start in a cycle."""
    l1_bytes: int = 32 << 10
    """L1 data cache."""
    l2_bytes: int = 1 << 20
    """L2 cache of the core."""
    l3_bytes: int = 8 << 20
    """Share of the core in the last-level cache."""
    memory_bytes_per_cycle: int = 2
    """Read bandwidth of one core beyond its L2, measured in the middle of ResNet-50."""

    @property
    def has_vectors(self) -> bool:
        """True if there are kernels for vectors of this width."""
        return self.vector_bits in _REGISTERS

    @property
    def lanes(self) -> int:
        """Elements of f32 in a vector."""
        return self.vector_bits // 32

    @property
    def registers(self) -> int:
        """Vector registers."""
        return self.vector_registers or _REGISTERS[self.vector_bits]


GENERIC_CPU = CpuModel()
"""The CPU where none is named: no kernels for vectors, caches as they usually are."""
