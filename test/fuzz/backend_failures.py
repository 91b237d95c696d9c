"""Failures of the backend as findings."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from graphc.compiler.lowered_module import LoweredProgram


@contextmanager
def kept_failures() -> Iterator[None]:
    """No program is compiled again with each op in a dispatch of its own, which would hide that
    the backend failed."""
    with mock.patch.object(LoweredProgram, "separate", return_value=None):
        yield
