"""Execution of compiled modules."""
