"""Calls of compiled modules."""
