"""Shared parts of the long-running test programs, and those that are one file."""
