"""Faults to find: code that is wrong for one op, and a lowering that fails for one node of several.

``GRAPHC_PLANT`` chooses: ``numbers`` or ``crash``.
"""

import os

from graphc.dialects import graph
from graphc.dialects.locations import node_name
from graphc.passes.graph_to_linalg import functions
from graphc.passes.graph_to_linalg.convert import load_rules
from graphc.passes.graph_to_linalg.lowering import find_rule, lowers
from graphc.passes.graph_to_linalg.scalar import scalar_rule

load_rules()
RULE = find_rule("graph.layer_norm")


def fail_at_second(lowering, op, *operands):
    if "layer.1/output" in node_name(op):
        raise ZeroDivisionError("planted")
    return RULE(lowering, op, *operands)


if os.environ["GRAPHC_PLANT"] == "numbers":
    scalar_rule(graph.TanhOp)(lambda op, x: functions.sigmoid(x))
else:
    lowers(graph.LayerNormOp)(fail_at_second)
