"""Passes over the `graph` dialect, for every target."""
