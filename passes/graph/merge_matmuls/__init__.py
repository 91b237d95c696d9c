"""Matmuls that share a left operand merged to one matmul, and attention heads sliced from it."""
