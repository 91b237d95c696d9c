"""Settings of the tests of placement."""

import pytest


@pytest.fixture(autouse=True)
def brief(measure_briefly):
    """No test depends on how exact a time is."""
