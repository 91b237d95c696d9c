"""Passes that choose kernels for the registers and caches of a CPU."""
