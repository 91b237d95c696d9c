"""Vector registers, by the width of a target's vectors in bits."""

LANES = {128: 4, 256: 8, 512: 16}
"""Elements of f32 in a vector."""
REGISTERS = {128: 32, 256: 16, 512: 32}
"""Vector registers: of Neon, AVX2 and AVX-512."""
