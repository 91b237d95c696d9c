"""Cycles of the kernels for ensembles of decision trees, as measured on a Zen 4."""

import math

import numpy as np

from ...dialects.graph.trees import NODE_WORDS
from ...dialects.graph.types import TensorType
from ..kernels.trees import WALKS
from .quickscorer_tables import QuickscorerPlan

_NODE = 1.1
"""A node that QuickScorer has in its tables; half of them are scanned."""
_SCAN = 18
"""The end of a scan: a branch that is mispredicted."""
_TREE = 4
"""A tree whose lowest leaf is found."""
_STEP = 5
"""A step of eight rows through one tree, per row."""
_UNORDERED_STEP = 2
"""The part of a step that tells NaN from other features, where nodes differ in that."""
_DOUBLE_STEP = 1
_STEP_OF_ROW = 8
"""A step of one row through eight trees, per tree, if they are cached."""
_LONG_STEP_OF_ROW = 20
"""The same if they are not."""


def cycles_of_scans(plan: QuickscorerPlan) -> float:
    """Cycles that QuickScorer takes for a row."""
    nodes, trees = len(plan.shapes.nodes), len(plan.shapes.first_leaves)
    return _NODE * nodes + _SCAN * (len(plan.offsets) - 1) + _TREE * trees


def cycles_of_walks(plan: QuickscorerPlan, x: TensorType, cache_bytes: int) -> float:
    """Cycles that walks through the trees of `plan` take for a row of `x`; if it is not known
    whether there are many, the geometric mean of both."""
    rows, bytes_of_word = x.shape[0], x.dtype.itemsize
    shapes = plan.shapes
    step: float = _STEP + _DOUBLE_STEP * (bytes_of_word == 8)
    step += _UNORDERED_STEP * bool(np.ptp(plan.unordered))
    is_cached = len(shapes.nodes) * NODE_WORDS * bytes_of_word <= cache_bytes
    step_of_row = _STEP_OF_ROW if is_cached else _LONG_STEP_OF_ROW
    steps = (shapes.expected_steps + shapes.depths.sum()) / 2  # rows wait for the longest walk
    together = step * steps
    alone = step_of_row * shapes.expected_steps
    if isinstance(rows, int):
        return alone if rows < WALKS else together
    return math.sqrt(together * alone)
