"""Compiled modules and kernels on disk, keyed by a digest of everything that determines them."""
