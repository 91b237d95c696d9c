"""Shared parts of the long-running test programs, and single-file test programs."""
