"""Devices, their memory, and the tensors in it."""
