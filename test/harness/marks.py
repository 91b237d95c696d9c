"""Marks of tests."""

from typing import Any

import pytest


def long(*values: Any) -> Any:
    """A parameter set whose tests have the mark `long`: they are variants of others, which
    `make pytest` leaves out and `make pytest-long` runs."""
    return pytest.param(*values, marks=pytest.mark.long)
