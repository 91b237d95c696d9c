"""A context for each test."""

import pytest
from graph_programs import ALIVE

from graphc.dialects import graph
from graphc.mlir import create_context, ir


@pytest.fixture
def context():
    """A context with the graph dialect, current for the test."""
    with create_context() as context, ir.Location.unknown():
        graph.Graph.load()
        yield context
        ALIVE.clear()
