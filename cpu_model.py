"""Model of a CPU core for kernels and cost models: vector registers, units, caches."""

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
    """Width of a vector register in bits; 0 disables vector kernels."""
    vector_registers: int = 0
    """Number of vector registers; 0 for that of the instruction set with this vector width."""
    fma_units: int = 2
    """Vector multiply-adds issued per cycle."""
    l1_bytes: int = 32 << 10
    """Size of the L1 data cache."""
    l2_bytes: int = 1 << 20
    """Size of the core's L2 cache."""
    l3_bytes: int = 8 << 20
    """The core's share of the last-level cache."""
    memory_bytes_per_cycle: int = 4
    """Read bandwidth of one core beyond its L2, in bytes per cycle: that with which the tiles of
    Winograd convolutions that are estimated to be the fastest are so in ResNet-50."""

    @property
    def has_vectors(self) -> bool:
        """True if there are vector kernels for this width."""
        return self.vector_bits in _REGISTERS

    @property
    def lanes(self) -> int:
        """Number of f32 elements in a vector."""
        return self.vector_bits // 32

    @property
    def registers(self) -> int:
        """Number of vector registers."""
        return self.vector_registers or _REGISTERS[self.vector_bits]


GENERIC_CPU = CpuModel()
"""CPU model without vector kernels and with typical caches, for targets that name no CPU."""
