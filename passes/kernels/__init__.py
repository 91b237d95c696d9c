"""The compiler's own kernels, written in `scf`, `vector` and `arith`."""
