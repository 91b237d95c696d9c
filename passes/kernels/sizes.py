"""Sizes in kernels: numbers, or values if they are known only at run time."""

from ...mlir import arith, ir

Index = int | ir.Value
"""A size in a kernel: a number, or a value if it is known only at run time."""


def index(value: Index) -> ir.Value:
    """`value` at the insertion point."""
    return value if isinstance(value, ir.Value) else arith.constant(ir.IndexType.get(), value)


def product(a: Index, b: Index) -> Index:
    """``a * b``."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 1 or b == 1:
        return b if a == 1 else a
    return arith.muli(index(a), index(b))
