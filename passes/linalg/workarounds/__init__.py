"""Passes that work around faults of IREE."""
