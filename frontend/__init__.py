"""Frontends: one folder for each model format."""
