"""Kernels of our own, written in `scf`, `vector` and `arith`."""
