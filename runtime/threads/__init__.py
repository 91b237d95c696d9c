"""Threads that run a model, and the CPUs that they run on."""
