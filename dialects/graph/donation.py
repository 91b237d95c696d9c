"""Arguments that are donated: a program may write its results to their memory."""

from ...mlir import ir

DONATED = "graph.donated"
"""The attribute that marks a donated argument."""


def is_donated(x: ir.Value) -> bool:
    """Return whether `x` is an argument whose memory the caller gives away."""
    block = x.owner
    if not isinstance(block, ir.Block) or "arg_attrs" not in block.owner.attributes:
        return False
    attributes = ir.ArrayAttr(block.owner.attributes["arg_attrs"])
    return DONATED in ir.DictAttr(attributes[ir.BlockArgument(x).arg_number])
