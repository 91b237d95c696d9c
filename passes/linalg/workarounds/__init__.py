"""Workarounds for IREE bugs."""
