"""Compiled modules and kernels on disk, by a digest of all that decides them."""
