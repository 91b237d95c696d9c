"""Faults to find: code that is wrong for an op, and a lowering that fails for one node of several.

``GRAPHC_PLANT`` chooses: ``numbers``, wrong for hyperbolic tangents and relus, or ``crash``, at a
normalization, a convolution or a fusion whose name holds ``GRAPHC_PLANT_AT``.
"""

import os

from graphc.dialects import graph
from graphc.dialects.locations import node_name
from graphc.passes.graph_to_linalg.convert import load_rules
from graphc.passes.graph_to_linalg.lowering import find_rule, lowers
from graphc.passes.graph_to_linalg.scalar_rules import scalar_rule
from graphc.passes.kernels import scalar_functions

AT = os.environ.get("GRAPHC_PLANT_AT", "layer.1/output")
load_rules()


def fail_at_one(rule):
    def lower(lowering, op, *operands):
        if AT in node_name(op):
            raise ZeroDivisionError("planted")
        return rule(lowering, op, *operands)

    return lower


if os.environ["GRAPHC_PLANT"] == "numbers":
    scalar_rule(graph.TanhOp, vector=True)(lambda op, x: scalar_functions.sigmoid(x))
    scalar_rule(graph.ReluOp, vector=True)(lambda op, x: scalar_functions.sigmoid(x))
else:
    for op_class in (graph.LayerNormOp, graph.FusedOp, graph.ConvOp):
        lowers(op_class)(fail_at_one(find_rule(op_class.OPERATION_NAME)))
