"""Passes over the lowered program."""
