"""The shape of bf16 matmuls on vectors (VDPBF16PS)."""

from dataclasses import dataclass

from .group_dot import DOT_BF16, GroupDot
from .vnni_matmul import VnniMatmulShape

L2_WEIGHTS_SHARE = 3 / 32
"""Share of the L2 for the weights. The L2 is fast enough, and with a single K block the epilogue
finds the accumulators in registers and may round them."""


@dataclass(frozen=True)
class PairsMatmulShape(VnniMatmulShape):
    """A matmul whose K is counted in pairs."""

    dot: GroupDot = DOT_BF16

    @property
    def weights_bytes(self) -> int:
        """See `MatmulShape`."""
        return int(self.cpu.l2_bytes * L2_WEIGHTS_SHARE)
