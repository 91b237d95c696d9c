"""Vector registers, by the width of a target's vectors in bits."""

from dataclasses import dataclass

LANES = {128: 4, 256: 8, 512: 16}
"""Elements of f32 in a vector."""
REGISTERS = {128: 32, 256: 16, 512: 32}
"""Vector registers: of Neon, AVX2 and AVX-512."""


@dataclass(frozen=True)
class RegisterTile:
    """A tile of a product in registers: `rows` by `vectors`."""

    rows: int
    vectors: int


PRODUCT_TILES = {128: RegisterTile(6, 4), 256: RegisterTile(6, 2), 512: RegisterTile(6, 4)}
"""As many sums as there are registers for, beside a vector of each column and one of the rows."""
