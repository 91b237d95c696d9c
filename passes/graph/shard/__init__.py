"""Tensor parallelism: programs whose weights are divided among ranks."""
