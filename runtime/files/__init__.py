"""The files of compiled models."""
