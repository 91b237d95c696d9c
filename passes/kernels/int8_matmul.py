"""The shape of matmuls of 8-bit integers on vectors."""

from dataclasses import dataclass

from .group_dot import INT8_DOTS, GroupDot
from .vnni_matmul import VnniMatmulShape


@dataclass(frozen=True)
class QuadsMatmulShape(VnniMatmulShape):
    """A matmul whose K is counted in groups of four."""

    dot: GroupDot = INT8_DOTS["avx512vnni"]

    @property
    def k_blocks(self) -> int:
        """One, so that the epilogue finds the accumulators in registers: a panel's weights are a
        quarter of those of f32, and the L2 is fast enough for them."""
        return 1
